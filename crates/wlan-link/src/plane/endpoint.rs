//! Where frames go, and how they get there: datagrams of UDP, or Ethernet frames of a type of their own.
//!
//! Of the ways to AF_PACKET this takes `sendmmsg` for sending and a `TPACKET_V2` ring for receiving. On a veth pair, frames
//! of 1500 octets, CPU time a frame on a busy machine: sendmmsg 1.4-2.2 us, with `PACKET_QDISC_BYPASS` 1.4-2.3,
//! `PACKET_TX_RING` 1.6-2.6, with bypass 1.7-2.7, frames that bring their Ethernet header (`SOCK_RAW`) 4 % less: all is the
//! kernel's, so the one that keeps the queueing discipline and asks for no layout of its own. `recvmmsg` 0.8-1.7 us,
//! `TPACKET_V2` 0.6-1.2, opened where it lies; `TPACKET_V3` 0.2, but it delivers whole blocks, and half-filled ones only after
//! its timeout of 1 ms at least: that would be added to every round trip. Most of the difference are wake-ups, which also
//! cost the sender up to 1 us a frame: a thread that rests ([`threads`](super::threads)) takes 0.4 us a frame from
//! `TPACKET_V2`.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use arrayvec::ArrayVec;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use wlan_frames::{EtherType, MacAddr};
use wlan_host::os_error::about;
use wlan_host::sys::datagrams::{self, MESSAGES, Outgoing, RawAddress};
use wlan_host::sys::interface::Interface;
use wlan_host::sys::set_option;

/// EtherType of sealed frames unless another is asked for: the first for local experiments (IEEE Std 802-2014 9.2.3).
pub const ETHERTYPE: EtherType = EtherType(0x88b5);

/// Octets of the headers of IPv4 and IPv6, and of UDP.
const IPV4_B: usize = 20;
const IPV6_B: usize = 40;
const UDP_B: usize = 8;

/// Octets of all frames of one message at most: an IP packet has 65535 at most, of which the longer of the headers is off.
pub const MESSAGE_B: usize = 65_535 - IPV6_B - UDP_B;
/// Frames of one message at most: `UDP_MAX_SEGMENTS` of Linux before 6.9.
pub const SEGMENTS: usize = 64;

/// Octets that may wait to be sent.
const SEND_BUFFER_B: libc::c_int = 4 << 20;
/// Octets that may wait to be received, with what the kernel needs around them: in a flood of garbage, all that comes while
/// the thread is off the CPU for some 50 ms, so that none of the garbage displaces a frame.
const RECEIVE_BUFFER_B: libc::c_int = 32 << 20;
/// After so long a frame that the interface does not take is lost, and the thread looks whether it is to end.
const SEND_TIMEOUT: libc::timeval = libc::timeval {
    tv_sec: 0,
    tv_usec: 200_000,
};

/// Where frames to a station go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A UDP socket.
    Udp(SocketAddr),
    /// An Ethernet interface.
    Ethernet(MacAddr),
}

/// Frames of one length, the last may be shorter, on their way to one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whither.
    pub to: Endpoint,
    /// Where they start, one behind the other.
    pub at: usize,
    /// Octets of all.
    pub len_b: usize,
    /// Octets of each but the last.
    pub segment_b: usize,
}

/// Whatever takes frames.
pub trait Outlet {
    /// Whether a message may hold more than one frame.
    fn splits(&self) -> bool;

    /// Sends messages, whose octets lie in `octets`; returns how many frames were not sent.
    fn send(&self, octets: &[u8], messages: &[Message]) -> usize;
}

/// A socket that frames leave and come by.
pub struct Socket {
    descriptor: OwnedFd,
    way: Way,
}

enum Way {
    Udp {
        /// Whether the kernel splits messages (`UDP_SEGMENT`).
        splits: AtomicBool,
        /// Whether it may join what arrives (`UDP_GRO`).
        joins: AtomicBool,
        mpdu_b: usize,
    },
    Packet {
        interface: String,
        /// The number that it has now.
        index: AtomicI32,
        ethertype: EtherType,
    },
}

impl Socket {
    /// A socket for datagrams from this address, over paths with packets of `outer_mtu_b` octets.
    ///
    /// # Errors
    /// The address is not this host's, or taken.
    pub fn udp(local: SocketAddr, outer_mtu_b: usize) -> io::Result<Self> {
        let socket = UdpSocket::bind(local).map_err(about(format_args!("UDP address {local}")))?;
        let headers_b = if local.is_ipv4() { IPV4_B } else { IPV6_B } + UDP_B;
        // Never in fragments, and by the interface's MTU alone: what somebody says of the path in ICMP is not verified.
        let (level, name, probe) = if local.is_ipv4() {
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
        } else {
            (
                libc::IPPROTO_IPV6,
                libc::IPV6_MTU_DISCOVER,
                libc::IPV6_PMTUDISC_PROBE,
            )
        };
        set_option(socket.as_fd(), level, name, probe)?;
        set_buffers(socket.as_fd());
        // Where the kernel does not know it, datagrams that it drops are not counted.
        let _ = set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1);
        // The kernel knows the option if it takes "do not split".
        let splits = set_option(socket.as_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
        let joins = set_option(socket.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
        Ok(Self {
            descriptor: socket.into(),
            way: Way::Udp {
                splits: AtomicBool::new(splits),
                joins: joins.into(),
                mpdu_b: outer_mtu_b.saturating_sub(headers_b),
            },
        })
    }

    /// A socket for payloads of Ethernet frames of this type on an interface.
    ///
    /// # Errors
    /// There is no such interface, or no permission (`CAP_NET_RAW`).
    pub fn packet(interface: &str, ethertype: EtherType) -> io::Result<Self> {
        let index = Interface::named(interface)
            .and_then(|found| found.index())
            .map_err(about(format_args!("interface {interface}")))?;
        // Of protocol 0 until it is bound, so that nothing of other interfaces comes.
        let descriptor = socket(
            AddressFamily::Packet,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            None,
        )
        .map_err(io::Error::from)
        .map_err(about(format_args!("interface {interface}")))?;
        set_buffers(descriptor.as_fd());
        datagrams::bind(
            descriptor.as_fd(),
            RawAddress::of_link(index, ethertype.0, [0; 6]),
        )
        .map_err(about(format_args!("interface {interface}")))?;
        Ok(Self {
            descriptor,
            way: Way::Packet {
                interface: interface.to_owned(),
                index: AtomicI32::new(index),
                ethertype,
            },
        })
    }

    /// A socket for EAPOL in the open on an interface, which is never waited for.
    ///
    /// # Errors
    /// As of [`packet`](Self::packet).
    pub fn eapol(interface: &str) -> io::Result<Self> {
        let socket = Self::packet(interface, EtherType::EAPOL)?;
        fcntl(&socket.descriptor, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(socket)
    }

    /// Octets of the longest frame that it carries whole.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn mpdu_b(&self) -> io::Result<usize> {
        match &self.way {
            Way::Udp { mpdu_b, .. } => Ok(*mpdu_b),
            Way::Packet { interface, .. } => Interface::named(interface)?.mtu_b(),
        }
    }

    /// Octets that one received message may have.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn message_b(&self) -> io::Result<usize> {
        match &self.way {
            Way::Udp { joins, .. } if joins.load(Ordering::Relaxed) => Ok(1 << 16),
            _ => self.mpdu_b(),
        }
    }

    /// Whether frames that leave are split, and those that come are joined, by the kernel.
    pub fn offloads(&self) -> (bool, bool) {
        match &self.way {
            Way::Udp { splits, joins, .. } => (splits.load(Ordering::Relaxed), joins.load(Ordering::Relaxed)),
            Way::Packet { .. } => (false, false),
        }
    }

    /// Has the kernel neither split nor join, as if it could not.
    ///
    /// # Errors
    /// The kernel's.
    pub fn forgo_offloads(&self) -> io::Result<()> {
        if let Way::Udp { splits, joins, .. } = &self.way {
            splits.store(false, Ordering::Relaxed);
            if joins.swap(false, Ordering::Relaxed) {
                set_option(self.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 0)?;
            }
        }
        Ok(())
    }

    /// After an error: whether the interface is there; one that went and came again has another number.
    pub fn recover(&self) -> bool {
        let Way::Packet {
            interface,
            index,
            ethertype,
        } = &self.way
        else {
            return true;
        };
        let Ok(now) = Interface::named(interface).and_then(|found| found.index()) else {
            return false;
        };
        if index.load(Ordering::Relaxed) != now {
            if datagrams::bind(self.as_fd(), RawAddress::of_link(now, ethertype.0, [0; 6])).is_err() {
                return false;
            }
            index.store(now, Ordering::Relaxed);
        }
        true
    }

    fn raw(&self, to: Endpoint) -> (RawAddress, libc::socklen_t) {
        match (&self.way, to) {
            (_, Endpoint::Udp(to)) => RawAddress::of_udp(to),
            (Way::Packet { index, ethertype, .. }, Endpoint::Ethernet(to)) => {
                RawAddress::of_link(index.load(Ordering::Relaxed), ethertype.0, to.0)
            }
            // Refused by the kernel, as the address of another family.
            (Way::Udp { .. }, Endpoint::Ethernet(to)) => RawAddress::of_link(0, 0, to.0),
        }
    }

    /// Sends one frame after the other; returns how many were not sent.
    fn send_each(&self, octets: &[u8], messages: &[Message]) -> usize {
        let mut frames = messages.iter().flat_map(|message| {
            let to = self.raw(message.to);
            octets[message.at..message.at + message.len_b]
                .chunks(message.segment_b)
                .map(move |octets| Outgoing {
                    to,
                    octets,
                    segment_b: None,
                })
        });
        let mut unsent = 0;
        loop {
            let batch: ArrayVec<Outgoing<'_>, MESSAGES> = frames.by_ref().take(MESSAGES).collect();
            if batch.is_empty() {
                return unsent;
            }
            let mut rest = &batch[..];
            while !rest.is_empty() {
                let sent = datagrams::send(self.as_fd(), rest.iter().copied()).unwrap_or(0);
                if sent == 0 {
                    // The first is lost; with the others it may be another matter.
                    unsent += 1;
                    rest = &rest[1..];
                } else {
                    rest = &rest[sent..];
                }
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Outlet for Socket {
    fn splits(&self) -> bool {
        self.offloads().0
    }

    fn send(&self, octets: &[u8], messages: &[Message]) -> usize {
        let Way::Udp { splits, .. } = &self.way else {
            return self.send_each(octets, messages);
        };
        let mut unsent = 0;
        let mut rest = messages;
        while let [first, others @ ..] = rest {
            if !splits.load(Ordering::Relaxed) {
                return unsent + self.send_each(octets, rest);
            }
            let batch = rest.iter().take(MESSAGES).map(|message| Outgoing {
                to: self.raw(message.to),
                octets: &octets[message.at..message.at + message.len_b],
                segment_b: u16::try_from(message.segment_b)
                    .ok()
                    .filter(|_| message.len_b > message.segment_b),
            });
            match datagrams::send(self.as_fd(), batch) {
                Ok(sent) => rest = &rest[sent.clamp(1, rest.len())..],
                Err(error) if first.len_b > first.segment_b && is_refusal(&error) => {
                    splits.store(false, Ordering::Relaxed);
                }
                Err(_) => {
                    unsent += first.len_b.div_ceil(first.segment_b);
                    rest = others;
                }
            }
        }
        unsent
    }
}

/// Whether the kernel will not split for this device: it cannot leave checksums to it, or does not know how.
fn is_refusal(error: &io::Error) -> bool {
    let refusals = [Errno::EIO, Errno::EINVAL, Errno::ENOPROTOOPT, Errno::EOPNOTSUPP];
    error
        .raw_os_error()
        .is_some_and(|code| refusals.contains(&Errno::from_raw(code)))
}

/// Asks for long queues: beyond the system's limit where permitted, else up to it.
fn set_buffers(socket: BorrowedFd<'_>) {
    for (beyond, within, octets) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, RECEIVE_BUFFER_B),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, SEND_BUFFER_B),
    ] {
        if set_option(socket, libc::SOL_SOCKET, beyond, octets).is_err() {
            // Whatever is granted will do.
            let _ = set_option(socket, libc::SOL_SOCKET, within, octets);
        }
    }
    let _ = set_option(socket, libc::SOL_SOCKET, libc::SO_SNDTIMEO, SEND_TIMEOUT);
}
