//! The example program gives the right result.

#[allow(dead_code, reason = "the test calls the functions below `main`")]
#[path = "../examples/seal_and_open.rs"]
mod seal_and_open;

use seal_and_open::{Rejected, Sender, receive};
use wlan_ciphers::{OpenError, PacketNumber, ReplayWindow, Suite, TemporalKey};

#[test]
fn only_new_and_genuine_frames_are_received() {
    let key = TemporalKey::new(Suite::Ccmp128, &[7; 16]).unwrap();
    let mut sender = Sender {
        last: PacketNumber::ZERO,
    };
    let mut window = ReplayWindow::new(PacketNumber::ZERO);

    let mut frames = sender.send(&key, &["one", "two"]).unwrap();
    frames.push(frames[0].clone());
    let received = receive(&key, &mut window, &mut frames);
    assert_eq!(received[..2], [Ok(b"one".to_vec()), Ok(b"two".to_vec())]);
    assert!(matches!(received[2], Err(Rejected::Replay(_))));

    let mut frames = sender.send(&key, &["three"]).unwrap();
    frames[0][40] ^= 1;
    let received = receive(&key, &mut window, &mut frames);
    assert_eq!(received, [Err(Rejected::Frame(OpenError::Mic))]);
}
