//! Radios of mac80211_hwsim, and their frames over its netlink interface (`mac80211_hwsim.h`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::libc::NLM_F_ACK;
use nix::sys::socket::sockopt::{RcvBufForce, SndBufForce};
use nix::sys::socket::{SockProtocol, setsockopt};
use wlan_air::phy::{Bss, Mode};
use wlan_frames::MacAddr;
use wlan_host::netlink::{Attributes, Socket, attributes, generic, messages, put};

use super::frame::{Frame, HwsimRate, RATES, rate_of, tx_flags};

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

/// The kernel queues a frame of up to 4 KB for each MSDU that it holds.
const SOCKET_BUFFER_B: usize = 32 << 20;

/// A radio of a station, with an interface `wlan0` in the station's network namespace. Dropping it removes the radio.
pub struct Radio {
    socket: Socket,
    family: u16,
    /// Also hwsim's name of the radio, because it was given.
    address: MacAddr,
    /// Commands without an acknowledgement.
    queued: Vec<u8>,
}

impl Radio {
    /// Creates a radio in the calling thread's network namespace. From then on its frames go to this process.
    ///
    /// # Errors
    /// The kernel has no mac80211_hwsim (`NotFound`), or refuses the radio.
    pub fn create(name: &str, address: MacAddr) -> io::Result<Self> {
        let mut socket = Socket::open(SockProtocol::NetlinkGeneric)?;
        setsockopt(&socket, RcvBufForce, &SOCKET_BUFFER_B)?;
        setsockopt(&socket, SndBufForce, &SOCKET_BUFFER_B)?;
        let family = socket.family(FAMILY)?.id;
        let wiphy = [name.as_bytes(), b"\0"].concat();
        let mut request = |command, attributes: &Attributes<'_>| {
            socket.exchange(family, NLM_F_ACK, &generic(command), attributes, |_| {})
        };
        request(
            command::NEW_RADIO,
            &[
                (attribute::DESTROY_ON_CLOSE, &[]),
                (attribute::NAME, &wiphy),
                (attribute::ADDRESS, &address.0),
            ],
        )?;
        request(command::REGISTER, &[])?;
        Ok(Self {
            socket,
            family,
            address,
            queued: Vec::new(),
        })
    }

    /// Takes the frames that mac80211 has sent.
    ///
    /// # Errors
    /// The kernel dropped frames, because this process did not read them in time.
    pub fn take(&mut self, bss: &Bss, mut take: impl FnMut(Frame)) -> io::Result<()> {
        while let Some(datagram) = self.socket.poll()? {
            // Acknowledgements report frames that a radio on another channel refused, as a real radio does not hear
            // them.
            messages(datagram)
                .filter_map(|message| message.generic())
                .filter(|(command, _)| *command == command::FRAME)
                .filter_map(|(_, body)| frame(body, bss))
                .for_each(&mut take);
        }
        Ok(())
    }

    /// Queues a frame that the radio received.
    pub fn deliver(&mut self, frame: &Frame, mode: &Mode, signal_dbm: i32) {
        let address = self.address.0;
        let (index, flags) = rate_of(mode);
        let [low, high] = flags.to_ne_bytes();
        let legacy = if mode.mcs().is_some() {
            0
        } else {
            u32::from(index.unsigned_abs())
        };
        self.queue(
            command::FRAME,
            &[
                (attribute::RECEIVER, &address),
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
        let address = self.address.0;
        let flags = frame.flags | if acked { tx_flags::ACKED } else { 0 };
        let mut tries = [0; 2 * RATES];
        for (octets, (index, count)) in tries.chunks_exact_mut(2).zip(frame.tries(transmissions)) {
            octets.copy_from_slice(&[index.to_ne_bytes()[0], count]);
        }
        self.queue(
            command::TX_INFO,
            &[
                (attribute::TRANSMITTER, &address),
                (attribute::FLAGS, &flags.to_ne_bytes()),
                (attribute::SIGNAL, &signal_dbm.to_ne_bytes()),
                (attribute::TX_INFO, &tries),
                (attribute::COOKIE, &frame.cookie.to_ne_bytes()),
            ],
        );
    }

    /// Whether [`deliver`](Self::deliver) or [`report`](Self::report) queued something.
    pub fn is_pending(&self) -> bool {
        !self.queued.is_empty()
    }

    fn queue(&mut self, command: u8, attributes: &Attributes<'_>) {
        put(&mut self.queued, self.family, 0, 0, &generic(command), attributes);
    }

    /// Hands everything queued to mac80211.
    ///
    /// # Errors
    /// The kernel refuses the messages as a whole. Errors of single commands arrive as messages.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.is_pending() {
            self.socket.send(&self.queued)?;
            self.queued.clear();
        }
        Ok(())
    }
}

impl AsFd for Radio {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The frame of a message with these attributes; `None` if they are incomplete.
fn frame(body: &[u8], bss: &Bss) -> Option<Frame> {
    let (mut octets, mut cookie, mut flags, mut freq_mhz) = (None, None, 0, 0);
    let mut rates = [HwsimRate {
        index: -1,
        tries: 0,
        flags: 0,
    }; RATES];
    for (kind, value) in attributes(body) {
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
