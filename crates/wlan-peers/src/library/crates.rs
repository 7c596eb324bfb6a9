//! Libraries from crates.io, one packet at a time: AWS-LC and ring.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{NonNull, null, null_mut};
use std::slice;
use std::sync::OnceLock;

use aws_lc_sys::{
    AWSLC_VERSION_NUMBER_STRING, EVP_AEAD_CTX, EVP_AEAD_CTX_free, EVP_AEAD_CTX_new, EVP_AEAD_CTX_open_gather,
    EVP_AEAD_CTX_seal_scatter, EVP_aead_aes_128_ccm_bluetooth_8, EVP_aead_aes_128_gcm, EVP_aead_aes_256_gcm,
};
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use super::{MODE_CCM, MODE_GCM, Packet, Setup, Shim};

/// A key of a library.
trait Key: Sized {
    /// The key for `mode`, [`MODE_CCM`] or [`MODE_GCM`], with a MIC of `mic_b` octets. `None` if the library lacks it.
    fn new(mode: c_int, key: &[u8], mic_b: usize) -> Option<Self>;
    /// Encrypts `text` in place and writes the MIC. Returns whether it succeeded.
    fn seal(&self, nonce: &[u8; 16], aad: &[u8], text: &mut [u8], mic: &mut [u8]) -> bool;
    /// Decrypts the first `text_b` octets in place. The MIC follows them. Returns whether the MIC is correct.
    fn open(&self, nonce: &[u8; 16], aad: &[u8], text_and_mic: &mut [u8], text_b: usize) -> bool;
}

/// The keys of a batch.
struct Keys<K> {
    open: bool,
    mic_b: usize,
    keys: Vec<K>,
}

const fn shim<K: Key>(load: unsafe extern "C" fn(*mut *const c_char) -> c_int) -> Shim {
    Shim {
        load,
        new: new::<K>,
        run: run::<K>,
        free: free::<K>,
    }
}

unsafe extern "C" fn new<K: Key>(setup: *const Setup) -> *mut c_void {
    let octets = |n: c_int| n.unsigned_abs() as usize;
    // SAFETY: the caller passes a valid setup, whose `keys` points to `key_count` keys of `key_b` octets.
    let (setup, keys) = unsafe {
        let setup = &*setup;
        let keys_b = octets(setup.key_b) * octets(setup.key_count);
        (setup, slice::from_raw_parts(setup.keys, keys_b))
    };
    let mic_b = octets(setup.mic_b);
    let keys = keys.chunks(octets(setup.key_b));
    let Some(keys) = keys.map(|key| K::new(setup.mode, key, mic_b)).collect() else {
        return null_mut();
    };
    let open = setup.open != 0;
    Box::into_raw(Box::new(Keys::<K> { open, mic_b, keys })).cast()
}

unsafe extern "C" fn run<K: Key>(
    this: *mut c_void,
    buffer: *mut u8,
    packets: *const Packet,
    count: c_int,
) -> c_int {
    // SAFETY: the caller passes the pointer that `new` returned, and `count` packets.
    let (this, packets) = unsafe {
        let packets = slice::from_raw_parts(packets, count.unsigned_abs() as usize);
        (&*this.cast::<Keys<K>>(), packets)
    };
    for packet in packets {
        let key = &this.keys[packet.key as usize];
        let aad = &packet.aad[..packet.aad_b as usize];
        let text_b = packet.text_b as usize;
        // SAFETY: the text, which the MIC follows, is inside the buffer, and nothing else refers to it.
        let text =
            unsafe { slice::from_raw_parts_mut(buffer.add(packet.text as usize), text_b + this.mic_b) };
        let done = if this.open {
            key.open(&packet.nonce, aad, text, text_b)
        } else {
            let (text, mic) = text.split_at_mut(text_b);
            key.seal(&packet.nonce, aad, text, mic)
        };
        if !done {
            return line!().cast_signed();
        }
    }
    0
}

unsafe extern "C" fn free<K: Key>(this: *mut c_void) {
    // SAFETY: the caller passes the pointer that `new` returned, and frees it only once.
    drop(unsafe { Box::from_raw(this.cast::<Keys<K>>()) });
}

pub(super) const AWS_LC: Shim = shim::<AwsLc>(load_aws_lc);

unsafe extern "C" fn load_aws_lc(text: *mut *const c_char) -> c_int {
    // SAFETY: the caller passes a valid address for the pointer. The text is a constant that ends with zero.
    unsafe { text.write(AWSLC_VERSION_NUMBER_STRING.as_ptr().cast()) };
    0
}

struct AwsLc {
    context: NonNull<EVP_AEAD_CTX>,
    nonce_b: usize,
}

impl Key for AwsLc {
    fn new(mode: c_int, key: &[u8], mic_b: usize) -> Option<Self> {
        // SAFETY: these functions have no requirements. AWS-LC copies the key.
        unsafe {
            let (aead, nonce_b) = match (mode, key.len()) {
                // L = 2 and M = 8, as in CCMP-128.
                (MODE_CCM, 16) => (EVP_aead_aes_128_ccm_bluetooth_8(), 13),
                (MODE_GCM, 16) => (EVP_aead_aes_128_gcm(), 12),
                (MODE_GCM, 32) => (EVP_aead_aes_256_gcm(), 12),
                _ => return None,
            };
            let context = NonNull::new(EVP_AEAD_CTX_new(aead, key.as_ptr(), key.len(), mic_b))?;
            Some(AwsLc { context, nonce_b })
        }
    }

    fn seal(&self, nonce: &[u8; 16], aad: &[u8], text: &mut [u8], mic: &mut [u8]) -> bool {
        let (at, mut written_b) = (text.as_mut_ptr(), 0);
        // SAFETY: the context is valid, and each address has the length after it.
        let done = unsafe {
            EVP_AEAD_CTX_seal_scatter(
                self.context.as_ptr(),
                at,
                mic.as_mut_ptr(),
                &raw mut written_b,
                mic.len(),
                nonce.as_ptr(),
                self.nonce_b,
                at,
                text.len(),
                null(),
                0,
                aad.as_ptr(),
                aad.len(),
            )
        };
        done == 1
    }

    fn open(&self, nonce: &[u8; 16], aad: &[u8], text_and_mic: &mut [u8], text_b: usize) -> bool {
        let (text, mic) = text_and_mic.split_at_mut(text_b);
        let at = text.as_mut_ptr();
        // SAFETY: the context is valid, and each address has the length after it.
        let done = unsafe {
            EVP_AEAD_CTX_open_gather(
                self.context.as_ptr(),
                at,
                nonce.as_ptr(),
                self.nonce_b,
                at,
                text_b,
                mic.as_ptr(),
                mic.len(),
                aad.as_ptr(),
                aad.len(),
            )
        };
        done == 1
    }
}

impl Drop for AwsLc {
    fn drop(&mut self) {
        // SAFETY: the context came from `EVP_AEAD_CTX_new` and is freed only here.
        unsafe { EVP_AEAD_CTX_free(self.context.as_ptr()) };
    }
}

pub(super) const RING: Shim = shim::<LessSafeKey>(load_ring);

unsafe extern "C" fn load_ring(text: *mut *const c_char) -> c_int {
    static VERSION: OnceLock<CString> = OnceLock::new();
    let version = VERSION.get_or_init(|| CString::new(version_of_ring()).unwrap_or_default());
    // SAFETY: the caller passes a valid address for the pointer.
    unsafe { text.write(version.as_ptr()) };
    0
}

/// The version in the lock file, because ring does not export its version.
fn version_of_ring() -> &'static str {
    let lock = include_str!("../../../../Cargo.lock");
    let entry = lock.split_once("name = \"ring\"\nversion = \"");
    entry
        .and_then(|(_, entry)| entry.split('"').next())
        .unwrap_or("unknown")
}

impl Key for LessSafeKey {
    fn new(mode: c_int, key: &[u8], _: usize) -> Option<Self> {
        let algorithm = match (mode, key.len()) {
            (MODE_GCM, 16) => &AES_128_GCM,
            (MODE_GCM, 32) => &AES_256_GCM,
            _ => return None,
        };
        UnboundKey::new(algorithm, key).map(LessSafeKey::new).ok()
    }

    fn seal(&self, nonce: &[u8; 16], aad: &[u8], text: &mut [u8], mic: &mut [u8]) -> bool {
        self.seal_in_place_separate_tag(gcm_nonce(nonce), Aad::from(aad), text)
            .map(|tag| mic.copy_from_slice(tag.as_ref()))
            .is_ok()
    }

    fn open(&self, nonce: &[u8; 16], aad: &[u8], text_and_mic: &mut [u8], _: usize) -> bool {
        self.open_in_place(gcm_nonce(nonce), Aad::from(aad), text_and_mic)
            .is_ok()
    }
}

fn gcm_nonce(&[nonce @ .., _, _, _, _]: &[u8; 16]) -> Nonce {
    Nonce::assume_unique_for_key(nonce)
}
