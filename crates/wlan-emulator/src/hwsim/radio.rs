//! Radios of mac80211_hwsim, and their frames over its netlink interface (`mac80211_hwsim.h`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use wlan_air::phy::{Bss, Mode};
use wlan_frames::MacAddr;

use super::frame::{Frame, HwsimRate, RATES, rate_of, tx_flags};
use super::netlink::{Message, Socket, messages};

const FAMILY: &str = "MAC80211_HWSIM";

/// Commands (`enum hwsim_commands`).
mod command {
    pub const REGISTER: u8 = 1;
    pub const FRAME: u8 = 2;
    pub const TX_INFO: u8 = 3;
    pub const NEW_RADIO: u8 = 4;
}

/// Attributes (`enum hwsim_attrs`).
mod attribute {
    pub const RECEIVER: u16 = 1;
    pub const TRANSMITTER: u16 = 2;
    pub const FRAME: u16 = 3;
    pub const FLAGS: u16 = 4;
    pub const RX_RATE: u16 = 5;
    pub const SIGNAL: u16 = 6;
    pub const TX_INFO: u16 = 7;
    pub const COOKIE: u16 = 8;
    pub const DESTROY_ON_CLOSE: u16 = 16;
    pub const NAME: u16 = 17;
    pub const FREQ: u16 = 19;
    pub const TX_INFO_FLAGS: u16 = 21;
    pub const ADDRESS: u16 = 22;
}

/// hwsim's messages contain at most one A-MSDU and some attributes.
const MESSAGE_B: usize = 16 << 10;

/// A radio of a station, with an interface `wlan0` in the station's network namespace. Dropping it removes the radio.
pub struct Radio {
    socket: Socket,
    /// Also hwsim's name of the radio, because it was given.
    address: MacAddr,
    buffer: Vec<u8>,
}

impl Radio {
    /// Creates a radio in the calling thread's network namespace. From then on its frames go to this process.
    ///
    /// # Errors
    /// The kernel has no mac80211_hwsim (`NotFound`), or refuses the radio.
    pub fn create(name: &str, address: MacAddr) -> io::Result<Self> {
        let mut socket = Socket::open(FAMILY)?;
        let wiphy = [name.as_bytes(), b"\0"].concat();
        socket.request(
            command::NEW_RADIO,
            &[
                (attribute::DESTROY_ON_CLOSE, &[]),
                (attribute::NAME, &wiphy),
                (attribute::ADDRESS, &address.0),
            ],
        )?;
        socket.request(command::REGISTER, &[])?;
        Ok(Self {
            socket,
            address,
            buffer: vec![0; MESSAGE_B],
        })
    }

    /// Takes the frames that mac80211 has sent.
    ///
    /// # Errors
    /// The kernel dropped frames, because this process did not read them in time.
    pub fn take(&mut self, bss: &Bss, mut take: impl FnMut(Frame)) -> io::Result<()> {
        while let Some(len) = self.socket.poll(&mut self.buffer)? {
            // Acknowledgements report frames that a radio on another channel refused, as a real radio does not hear
            // them.
            messages(&self.buffer[..len])
                .filter(|message| message.command == Some(command::FRAME))
                .filter_map(|message| frame(&message, bss))
                .for_each(&mut take);
        }
        Ok(())
    }

    /// Queues a frame that the radio received.
    pub fn deliver(&mut self, frame: &Frame, mode: &Mode, signal_dbm: i32) {
        let (index, flags) = rate_of(mode);
        let [low, high] = flags.to_ne_bytes();
        let legacy = if mode.mcs().is_some() {
            0
        } else {
            u32::from(index.unsigned_abs())
        };
        self.socket.command(
            command::FRAME,
            &[
                (attribute::RECEIVER, &self.address.0),
                (attribute::FRAME, &frame.octets),
                (attribute::RX_RATE, &legacy.to_ne_bytes()),
                (attribute::SIGNAL, &signal_dbm.to_ne_bytes()),
                (attribute::FREQ, &frame.freq_mhz.to_ne_bytes()),
                (attribute::TX_INFO_FLAGS, &[index.to_ne_bytes()[0], low, high]),
            ],
        );
    }

    /// Queues the status of a frame that the radio sent.
    pub fn report(&mut self, frame: &Frame, transmissions: u8, acked: bool, signal_dbm: i32) {
        let flags = frame.flags | if acked { tx_flags::ACKED } else { 0 };
        let mut tries = [0; 2 * RATES];
        for (octets, (index, count)) in tries.chunks_exact_mut(2).zip(frame.tries(transmissions)) {
            octets.copy_from_slice(&[index.to_ne_bytes()[0], count]);
        }
        self.socket.command(
            command::TX_INFO,
            &[
                (attribute::TRANSMITTER, &self.address.0),
                (attribute::FLAGS, &flags.to_ne_bytes()),
                (attribute::SIGNAL, &signal_dbm.to_ne_bytes()),
                (attribute::TX_INFO, &tries),
                (attribute::COOKIE, &frame.cookie.to_ne_bytes()),
            ],
        );
    }

    /// Whether [`deliver`](Self::deliver) or [`report`](Self::report) queued something.
    pub fn is_pending(&self) -> bool {
        self.socket.is_pending()
    }

    /// Hands everything queued to mac80211.
    ///
    /// # Errors
    /// The kernel refuses the messages as a whole.
    pub fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl AsFd for Radio {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The frame of a message; `None` if the message is incomplete.
fn frame(message: &Message<'_>, bss: &Bss) -> Option<Frame> {
    let (mut octets, mut cookie, mut flags, mut freq_mhz) = (None, None, 0, 0);
    let mut rates = [HwsimRate {
        index: -1,
        tries: 0,
        flags: 0,
    }; RATES];
    for (kind, value) in message.attributes() {
        match kind {
            attribute::FRAME => octets = Some(value),
            attribute::COOKIE => cookie = Some(u64::from_ne_bytes(value.try_into().ok()?)),
            attribute::FLAGS => flags = u32::from_ne_bytes(value.try_into().ok()?),
            attribute::FREQ => freq_mhz = u32::from_ne_bytes(value.try_into().ok()?),
            attribute::TX_INFO => {
                for (rate, &[index, tries]) in rates.iter_mut().zip(value.as_chunks().0) {
                    (rate.index, rate.tries) = (i8::from_ne_bytes([index]), tries);
                }
            }
            attribute::TX_INFO_FLAGS => {
                for (rate, &[_, low, high]) in rates.iter_mut().zip(value.as_chunks().0) {
                    rate.flags = u16::from_ne_bytes([low, high]);
                }
            }
            _ => {}
        }
    }
    Frame::new(octets?.to_vec(), cookie?, flags, freq_mhz, &rates, bss)
}
