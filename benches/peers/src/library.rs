//! The libraries behind `peers.c`.

use std::ffi::{CStr, c_char, c_int, c_void};

use wlan_ciphers::Suite;

use crate::frames::{Frames, START};

#[repr(C)]
struct Packet {
    nonce: *const u8,
    aad: *const u8,
    text: *mut u8,
    mic: *mut u8,
    aad_b: u32,
    text_b: u32,
    key: u32,
}

unsafe extern "C" {
    fn openssl_version() -> *const c_char;
    fn ipsec_mb_version() -> *const c_char;
    fn openssl_new(
        mode: c_int,
        keys: *const u8,
        key_b: c_int,
        count: c_int,
        mic_b: c_int,
        open: c_int,
    ) -> *mut c_void;
    fn openssl_run(this: *mut c_void, packets: *mut Packet, count: c_int) -> c_int;
    fn ipsec_mb_new(
        mode: c_int,
        interface: c_int,
        keys: *const u8,
        key_b: c_int,
        count: c_int,
        mic_b: c_int,
        open: c_int,
    ) -> *mut c_void;
    fn ipsec_mb_run(this: *mut c_void, packets: *mut Packet, count: c_int) -> c_int;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    OpenSsl,
    IpsecMbJob,
    IpsecMbBurst,
    IpsecMbDirect,
}

impl Library {
    /// The libraries, with those of their interfaces that do the suite.
    pub fn of(suite: Suite) -> &'static [Library] {
        match suite {
            Suite::Ccmp128 | Suite::Ccmp256 => {
                &[Library::OpenSsl, Library::IpsecMbJob, Library::IpsecMbBurst]
            }
            Suite::Enhanced(_) => &[],
            _ => &[
                Library::OpenSsl,
                Library::IpsecMbJob,
                Library::IpsecMbBurst,
                Library::IpsecMbDirect,
            ],
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Library::OpenSsl => "openssl",
            Library::IpsecMbJob => "ipsec-mb job",
            Library::IpsecMbBurst => "ipsec-mb burst",
            Library::IpsecMbDirect => "ipsec-mb direct",
        }
    }
}

pub fn versions() -> String {
    // SAFETY: both return a string that lives as long as the library.
    let text = |version: *const c_char| unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned();
    // SAFETY: they take nothing.
    unsafe {
        format!(
            "{}, ipsec-mb {}",
            text(openssl_version()),
            text(ipsec_mb_version())
        )
    }
}

/// A library set up for the packets of a batch.
pub struct Run {
    library: Library,
    this: *mut c_void,
    packets: Vec<Packet>,
    // What the packets point to.
    _fields: Vec<([u8; 16], [u8; 32])>,
    frames: Box<Frames>,
}

impl Run {
    pub fn new(library: Library, suite: Suite, mut frames: Box<Frames>, keys: &[Vec<u8>], open: bool) -> Run {
        let ccm = matches!(suite, Suite::Ccmp128 | Suite::Ccmp256);
        let count = frames.places.len();
        let fields: Vec<_> = (0..count).map(|i| frames.nonce_and_aad(i, ccm)).collect();
        let packets = (0..count)
            .map(|i| {
                let text_b = frames.payload_b(i);
                let text = frames.mpdu(i)[START..].as_mut_ptr();
                Packet {
                    nonce: fields[i].0.as_ptr(),
                    aad: fields[i].1.as_ptr(),
                    text,
                    mic: text.wrapping_add(text_b),
                    aad_b: Frames::aad_len() as u32,
                    text_b: text_b as u32,
                    key: (i % keys.len()) as u32,
                }
            })
            .collect();
        let (mode, octets) = (c_int::from(!ccm), keys.concat());
        let (key_b, key_count) = (suite.key_len() as c_int, keys.len() as c_int);
        let (mic_b, open) = (suite.mic_len() as c_int, c_int::from(open));
        let interface = match library {
            Library::OpenSsl | Library::IpsecMbJob => 0,
            Library::IpsecMbBurst => 1,
            Library::IpsecMbDirect => 2,
        };
        // SAFETY: `octets` holds as many keys of that length.
        let this = unsafe {
            match library {
                Library::OpenSsl => openssl_new(mode, octets.as_ptr(), key_b, key_count, mic_b, open),
                _ => ipsec_mb_new(mode, interface, octets.as_ptr(), key_b, key_count, mic_b, open),
            }
        };
        assert!(!this.is_null(), "{} could not be set up", library.name());
        Run {
            library,
            this,
            packets,
            _fields: fields,
            frames,
        }
    }

    /// The frames, after or before a run.
    pub fn frames(&mut self) -> &mut Frames {
        &mut self.frames
    }

    /// Runs packets `from..from + count`.
    pub fn run(&mut self, from: usize, count: usize) {
        let packets = self.packets[from..][..count].as_mut_ptr();
        // SAFETY: the packets point into the frames and fields that this value holds.
        let failed = unsafe {
            match self.library {
                Library::OpenSsl => openssl_run(self.this, packets, count as c_int),
                _ => ipsec_mb_run(self.this, packets, count as c_int),
            }
        };
        assert_eq!(
            failed,
            0,
            "{} failed at line {failed} of peers.c",
            self.library.name()
        );
    }
}
