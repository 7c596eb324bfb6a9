//! The libraries beside the engine. `openssl.c` and `ipsec_mb.c` open OpenSSL and libipsec-mb at run time. The feature
//! `crates` links AWS-LC and ring.
#![allow(unsafe_code)]

#[cfg(feature = "crates")]
mod crates;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr::{NonNull, null};
use std::sync::OnceLock;

use wlan_ciphers::{Method, Suite};
use wlan_speed::frames::Frames;

use crate::packet::{Packet, fill_icvs, packets};

/// A library that can be compared with the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// OpenSSL 3.
    OpenSsl,
    /// Intel's Multi-Buffer Crypto for IPsec, libipsec-mb 1 or 2.
    IpsecMb,
    /// AWS-LC, Amazon's fork of BoringSSL, from the crate `aws-lc-sys`.
    #[cfg(feature = "crates")]
    AwsLc,
    /// The crate `ring`, with code of BoringSSL.
    #[cfg(feature = "crates")]
    Ring,
}

/// An interface of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// OpenSSL's EVP.
    Evp,
    /// OpenSSL's `RC4_set_key` and `RC4`.
    Rc4,
    /// libipsec-mb's job manager: jobs are submitted one at a time and processed many at a time.
    Job,
    /// libipsec-mb's job manager with an array of jobs.
    Burst,
    /// libipsec-mb's functions for a single frame.
    Direct,
    /// AWS-LC's `EVP_AEAD`.
    #[cfg(feature = "crates")]
    Aead,
    /// ring's `LessSafeKey`.
    #[cfg(feature = "crates")]
    LessSafeKey,
}

/// Why a library is unavailable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Absent {
    /// The library's header was missing at build time.
    #[error("not built in; a checkout builds it in after: apt-get install {0}")]
    NotBuiltIn(&'static str),
    /// The library cannot be used on this machine.
    #[error("{0}")]
    Unusable(String),
}

impl Library {
    /// All that are built in or can be opened.
    pub const ALL: &[Library] = &[
        Library::OpenSsl,
        Library::IpsecMb,
        #[cfg(feature = "crates")]
        Library::AwsLc,
        #[cfg(feature = "crates")]
        Library::Ring,
    ];

    /// A short name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Library::OpenSsl => "openssl",
            Library::IpsecMb => "ipsec-mb",
            #[cfg(feature = "crates")]
            Library::AwsLc => "AWS-LC",
            #[cfg(feature = "crates")]
            Library::Ring => "ring",
        }
    }

    /// The library's version string. The first call opens the library.
    ///
    /// # Errors
    /// Each kind of [`Absent`].
    pub fn version(self) -> Result<&'static str, Absent> {
        static OPENED: [OnceLock<Result<String, Absent>>; Library::ALL.len()] =
            [const { OnceLock::new() }; Library::ALL.len()];
        let opened = OPENED[self as usize].get_or_init(|| {
            let shim = self.shim()?;
            let mut text = null();
            // SAFETY: `load` stores a pointer to a string that lives until the program ends.
            let (failed, text) = unsafe {
                let failed = (shim.load)(&mut text);
                (failed, CStr::from_ptr(text).to_string_lossy().into_owned())
            };
            if failed == 0 {
                Ok(text)
            } else {
                Err(Absent::Unusable(text))
            }
        });
        opened.as_deref().map_err(Clone::clone)
    }

    /// The library's interfaces for the suite. Empty if the library is unavailable or does not support the suite.
    #[must_use]
    pub fn interfaces(self, suite: Suite) -> &'static [Interface] {
        use Interface::{Burst, Direct, Evp, Job, Rc4};
        if self.version().is_err() {
            return &[];
        }
        match (self, suite.method()) {
            (Library::OpenSsl, Method::Wep) if has_rc4() => &[Rc4],
            (Library::OpenSsl, Method::Ccm | Method::Gcm) => &[Evp],
            (Library::IpsecMb, Method::Ccm) => &[Job, Burst],
            (Library::IpsecMb, Method::Gcm) => &[Job, Burst, Direct],
            // AWS-LC's `EVP_AEAD` supports CCM with AES-128 only.
            #[cfg(feature = "crates")]
            (Library::AwsLc, Method::Ccm) if suite.key_len() == 16 && suite.mic_len() == 8 => {
                &[Interface::Aead]
            }
            #[cfg(feature = "crates")]
            (Library::AwsLc, Method::Gcm) => &[Interface::Aead],
            #[cfg(feature = "crates")]
            (Library::Ring, Method::Gcm) => &[Interface::LessSafeKey],
            _ => &[],
        }
    }

    fn shim(self) -> Result<&'static Shim, Absent> {
        match self {
            #[cfg(openssl)]
            Library::OpenSsl => Ok(&shims::OPENSSL),
            #[cfg(not(openssl))]
            Library::OpenSsl => Err(Absent::NotBuiltIn("libssl-dev")),
            #[cfg(ipsec_mb)]
            Library::IpsecMb => Ok(&shims::IPSEC_MB),
            #[cfg(not(ipsec_mb))]
            Library::IpsecMb => Err(Absent::NotBuiltIn("libipsec-mb-dev")),
            #[cfg(feature = "crates")]
            Library::AwsLc => Ok(&crates::AWS_LC),
            #[cfg(feature = "crates")]
            Library::Ring => Ok(&crates::RING),
        }
    }
}

impl Interface {
    /// The interface's library.
    #[must_use]
    pub const fn library(self) -> Library {
        match self {
            Interface::Evp | Interface::Rc4 => Library::OpenSsl,
            Interface::Job | Interface::Burst | Interface::Direct => Library::IpsecMb,
            #[cfg(feature = "crates")]
            Interface::Aead => Library::AwsLc,
            #[cfg(feature = "crates")]
            Interface::LessSafeKey => Library::Ring,
        }
    }

    /// A short name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Interface::Evp => "EVP",
            Interface::Rc4 => "RC4",
            Interface::Job => "job",
            Interface::Burst => "burst",
            Interface::Direct => "direct",
            #[cfg(feature = "crates")]
            Interface::Aead => "EVP_AEAD",
            #[cfg(feature = "crates")]
            Interface::LessSafeKey => "LessSafeKey",
        }
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.library().name(), self.name())
    }
}

#[cfg(openssl)]
fn has_rc4() -> bool {
    // SAFETY: called only after the library has been opened.
    unsafe { shims::openssl_has_rc4() != 0 }
}

#[cfg(not(openssl))]
fn has_rc4() -> bool {
    false
}

/// `MODE_CCM` and `MODE_GCM` of `peers.h`.
const MODE_CCM: c_int = 0;
const MODE_GCM: c_int = 1;

/// `struct setup` of `peers.h`.
#[repr(C)]
struct Setup {
    mode: c_int,
    interface: c_int,
    open: c_int,
    keys: *const u8,
    key_b: c_int,
    key_count: c_int,
    mic_b: c_int,
}

/// The functions of a shim, as described in `peers.h`.
struct Shim {
    load: unsafe extern "C" fn(*mut *const c_char) -> c_int,
    new: unsafe extern "C" fn(*const Setup) -> *mut c_void,
    run: unsafe extern "C" fn(*mut c_void, *mut u8, *const Packet, c_int) -> c_int,
    free: unsafe extern "C" fn(*mut c_void),
}

#[cfg(any(openssl, ipsec_mb))]
mod shims {
    use super::{Packet, Setup, Shim, c_char, c_int, c_void};

    #[cfg(openssl)]
    unsafe extern "C" {
        fn openssl_load(text: *mut *const c_char) -> c_int;
        fn openssl_new(setup: *const Setup) -> *mut c_void;
        fn openssl_run(this: *mut c_void, buffer: *mut u8, packets: *const Packet, count: c_int) -> c_int;
        fn openssl_free(this: *mut c_void);
        pub(super) fn openssl_has_rc4() -> c_int;
    }

    #[cfg(openssl)]
    pub(super) const OPENSSL: Shim = Shim {
        load: openssl_load,
        new: openssl_new,
        run: openssl_run,
        free: openssl_free,
    };

    #[cfg(ipsec_mb)]
    unsafe extern "C" {
        fn ipsec_mb_load(text: *mut *const c_char) -> c_int;
        fn ipsec_mb_new(setup: *const Setup) -> *mut c_void;
        fn ipsec_mb_run(this: *mut c_void, buffer: *mut u8, packets: *const Packet, count: c_int) -> c_int;
        fn ipsec_mb_free(this: *mut c_void);
    }

    #[cfg(ipsec_mb)]
    pub(super) const IPSEC_MB: Shim = Shim {
        load: ipsec_mb_load,
        new: ipsec_mb_new,
        run: ipsec_mb_run,
        free: ipsec_mb_free,
    };
}

/// A library that is set up for the packets of a batch.
pub(crate) struct Run {
    shim: &'static Shim,
    this: NonNull<c_void>,
    packets: Vec<Packet>,
    frames: Frames,
}

impl Run {
    /// Prepares frames for sealing or opening in place. `keys` have the suite's length, and the frames use them in
    /// turn. `None` if the library cannot be set up.
    pub(crate) fn new(interface: Interface, mut frames: Frames, keys: &[Vec<u8>], open: bool) -> Option<Run> {
        interface.library().version().ok()?;
        let shim = interface.library().shim().ok()?;
        let suite = frames.suite;
        let (mode, is_rc4) = match suite.method() {
            Method::Ccm => (MODE_CCM, false),
            Method::Gcm => (MODE_GCM, false),
            Method::Wep => (2, true),
            _ => return None,
        };
        if keys.is_empty() || keys.iter().any(|key| key.len() != suite.key_len()) {
            return None;
        }
        let packets = packets(&mut frames, keys.len());
        if is_rc4 && !open {
            fill_icvs(&mut frames);
        }
        let octets = keys.concat();
        let number = |n: usize| c_int::try_from(n).ok();
        let setup = Setup {
            mode,
            interface: match interface {
                Interface::Burst => 1,
                Interface::Direct => 2,
                _ => 0,
            },
            open: c_int::from(open),
            keys: octets.as_ptr(),
            key_b: number(suite.key_len())?,
            key_count: number(keys.len())?,
            mic_b: number(suite.mic_len())?,
        };
        // SAFETY: `octets` holds `key_count` keys of length `key_b` and is not used after the call; the library is
        // open.
        let this = NonNull::new(unsafe { (shim.new)(&raw const setup) })?;
        Some(Run {
            shim,
            this,
            packets,
            frames,
        })
    }

    /// The frames, before or after a run.
    pub(crate) fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }

    /// Processes packets `from..from + count`. The error is the line of the shim that failed.
    pub(crate) fn run(&mut self, from: usize, count: usize) -> Result<(), i32> {
        let packets = &self.packets[from..][..count];
        let count = c_int::try_from(count).expect("a batch is small");
        let buffer = self.frames.buffer.as_mut_ptr();
        // SAFETY: the packets hold offsets of frames in the buffer, and the setup's lengths keep accesses inside these
        // frames.
        let failed = unsafe { (self.shim.run)(self.this.as_ptr(), buffer, packets.as_ptr(), count) };
        if failed == 0 { Ok(()) } else { Err(failed) }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `new` of the same shim and is freed only here.
        unsafe { (self.shim.free)(self.this.as_ptr()) }
    }
}
