//! Network endpoints and their sockets: UDP datagrams, or Ethernet frames with their own EtherType.
//!
//! AF_PACKET sockets send with `sendmmsg` and receive from a `TPACKET_V2` ring. Measured on a veth pair with frames
//! of 1500 octets, CPU time per frame on a busy machine:
//!
//! - Sending: `sendmmsg` 1.4-2.2 us, with `PACKET_QDISC_BYPASS` 1.4-2.3 us; `PACKET_TX_RING` 1.6-2.6 us, with bypass
//!   1.7-2.7 us; frames with their own Ethernet header (`SOCK_RAW`) take 4 % less. The kernel dominates every
//!   variant, so the choice is the variant that keeps the queueing discipline and requires no buffer layout.
//! - Receiving: `recvmmsg` 0.8-1.7 us; `TPACKET_V2` 0.6-1.2 us, and frames are opened in the ring; `TPACKET_V3` 0.2
//!   us. `TPACKET_V3` delivers complete blocks, and partially filled blocks only after a timeout of at least 1 ms.
//!   That would delay every round trip.
//!
//! Wake-ups cause most of the difference and also cost the sender up to 1 us per frame. A thread that rests
//! ([`threads`](super::threads)) takes 0.4 us per frame from `TPACKET_V2`.

use std::io;
use std::net::SocketAddr;
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

use super::steering::Share;

/// Default EtherType of sealed frames: the first for local experiments (IEEE Std 802-2014 9.2.3).
pub const ETHERTYPE: EtherType = EtherType(0x88b5);

/// Octets in the headers of IPv4, IPv6 and UDP.
const IPV4_B: usize = 20;
const IPV6_B: usize = 40;
const UDP_B: usize = 8;

/// Maximum octets per message: an IP packet has at most 65535, minus the longer IP header and the UDP header.
pub const MESSAGE_B: usize = 65_535 - IPV6_B - UDP_B;
/// Maximum frames per message: `UDP_MAX_SEGMENTS` of Linux before 6.9.
pub const SEGMENTS: usize = 64;

/// Size of the send buffer in octets.
const SEND_BUFFER_B: libc::c_int = 4 << 20;
/// Size of the receive buffer in octets, including the kernel's overhead. It holds a flood of garbage for some 50 ms
/// while the thread is off the CPU, so that the garbage displaces no valid frame.
const RECEIVE_BUFFER_B: libc::c_int = 32 << 20;
/// Timeout after which a frame that the interface does not accept is dropped, so that the thread can check for its end.
const SEND_TIMEOUT: libc::timeval = libc::timeval {
    tv_sec: 0,
    tv_usec: 200_000,
};

/// Network address of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    /// A UDP socket.
    Udp(SocketAddr),
    /// An Ethernet interface.
    Ethernet(MacAddr),
}

/// Frames to one endpoint. All frames have the same length, except that the last may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Destination.
    pub to: Endpoint,
    /// Offset of the first frame; the frames are contiguous.
    pub at: usize,
    /// Octets of all frames.
    pub len_b: usize,
    /// Octets of each frame except the last.
    pub segment_b: usize,
}

/// A destination for frames: a socket, or a recorder in tests.
pub trait Outlet {
    /// Whether a message may hold more than one frame.
    fn splits(&self) -> bool;

    /// The endpoint that reaches every station at once, if the transport supports broadcast.
    fn broadcast(&self) -> Option<Endpoint>;

    /// Sends messages, whose positions refer to `octets`. Returns the number of frames that were not sent.
    fn send(&self, octets: &[u8], messages: &[Message]) -> usize;
}

/// A socket that sends and receives frames.
pub struct Socket {
    descriptor: OwnedFd,
    way: Way,
}

enum Way {
    Udp {
        /// Whether the kernel splits messages (`UDP_SEGMENT`).
        splits: AtomicBool,
        /// Whether the kernel may coalesce received datagrams (`UDP_GRO`).
        joins: AtomicBool,
        mpdu_b: usize,
    },
    Packet {
        interface: String,
        /// The current index of the interface.
        index: AtomicI32,
        ethertype: EtherType,
    },
}

impl Socket {
    /// Opens one UDP socket per worker, all bound to `local`, for paths with an MTU of `outer_mtu_b` octets. The module
    /// [`steering`](super::steering) describes how they share the datagrams.
    ///
    /// # Errors
    /// The address does not belong to this host, or is in use.
    pub fn udp(local: SocketAddr, outer_mtu_b: usize, workers: usize) -> io::Result<Vec<Self>> {
        bound(local, workers)
            .map_err(about(format_args!("UDP address {local}")))?
            .into_iter()
            .map(|socket| Self::bound_udp(socket, local, outer_mtu_b))
            .collect()
    }

    fn bound_udp(socket: OwnedFd, local: SocketAddr, outer_mtu_b: usize) -> io::Result<Self> {
        let headers_b = if local.is_ipv4() { IPV4_B } else { IPV6_B } + UDP_B;
        // Never fragment, and use the interface's MTU alone: ICMP messages about the path MTU are not authenticated.
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
        // Without kernel support, datagrams that the kernel drops are not counted.
        let _ = set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1);
        // Accepting a segment size of 0 ("do not split") shows that the kernel knows the option.
        let splits = set_option(socket.as_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
        let joins = set_option(socket.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
        Ok(Self {
            descriptor: socket,
            way: Way::Udp {
                splits: AtomicBool::new(splits),
                joins: joins.into(),
                mpdu_b: outer_mtu_b.saturating_sub(headers_b),
            },
        })
    }

    /// Opens a socket for the payloads of Ethernet frames of type `ethertype` on an interface: for a `share` of them.
    ///
    /// # Errors
    /// The interface does not exist, or `CAP_NET_RAW` is missing.
    pub fn packet(interface: &str, ethertype: EtherType, share: Share) -> io::Result<Self> {
        let index = Interface::named(interface)
            .and_then(|found| found.index())
            .map_err(about(format_args!("interface {interface}")))?;
        // Protocol 0 until bind, so that no frame of another interface is received.
        let descriptor = socket(
            AddressFamily::Packet,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            None,
        )
        .map_err(io::Error::from)
        .map_err(about(format_args!("interface {interface}")))?;
        set_buffers(descriptor.as_fd());
        share
            .select(descriptor.as_fd())
            .map_err(about(format_args!("interface {interface}")))?;
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

    /// Opens a non-blocking socket for unprotected EAPOL on an interface.
    ///
    /// # Errors
    /// Same as [`packet`](Self::packet).
    pub fn eapol(interface: &str) -> io::Result<Self> {
        let socket = Self::packet(interface, EtherType::EAPOL, Share::ALL)?;
        fcntl(&socket.descriptor, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(socket)
    }

    /// Octets of the longest frame that the socket carries without fragmentation.
    ///
    /// # Errors
    /// The interface no longer exists.
    pub fn mpdu_b(&self) -> io::Result<usize> {
        match &self.way {
            Way::Udp { mpdu_b, .. } => Ok(*mpdu_b),
            Way::Packet { interface, .. } => Interface::named(interface)?.mtu_b(),
        }
    }

    /// Maximum octets of a received message.
    ///
    /// # Errors
    /// The interface no longer exists.
    pub fn message_b(&self) -> io::Result<usize> {
        match &self.way {
            Way::Udp { joins, .. } if joins.load(Ordering::Relaxed) => Ok(1 << 16),
            _ => self.mpdu_b(),
        }
    }

    /// Whether the kernel splits outbound messages, and whether it coalesces inbound frames.
    pub fn offloads(&self) -> (bool, bool) {
        match &self.way {
            Way::Udp { splits, joins, .. } => (splits.load(Ordering::Relaxed), joins.load(Ordering::Relaxed)),
            Way::Packet { .. } => (false, false),
        }
    }

    /// Disables splitting and coalescing, as on a kernel without support.
    ///
    /// # Errors
    /// The system call fails.
    pub fn forgo_offloads(&self) -> io::Result<()> {
        if let Way::Udp { splits, joins, .. } = &self.way {
            splits.store(false, Ordering::Relaxed);
            if joins.swap(false, Ordering::Relaxed) {
                set_option(self.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 0)?;
            }
        }
        Ok(())
    }

    /// After an error: whether the interface exists. Rebinds if it was recreated, because its index then differs.
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
            // The kernel refuses an address of another family.
            (Way::Udp { .. }, Endpoint::Ethernet(to)) => RawAddress::of_link(0, 0, to.0),
        }
    }

    /// Sends each frame as its own datagram. Returns the number of frames that were not sent.
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
                    // Drops the first frame only; the others may have a different destination.
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

    fn broadcast(&self) -> Option<Endpoint> {
        match self.way {
            Way::Udp { .. } => None,
            Way::Packet { .. } => Some(Endpoint::Ethernet(MacAddr::BROADCAST)),
        }
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

/// UDP sockets that are bound to one address.
fn bound(local: SocketAddr, count: usize) -> io::Result<Vec<OwnedFd>> {
    let family = match local {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let share = |socket: &OwnedFd| set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEPORT, 1);
    (0..count)
        .map(|number| {
            let socket = socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
            // The first socket shares its address only once it is bound: otherwise, the kernel would also let it share
            // the address of another process.
            if number > 0 {
                share(&socket)?;
            }
            datagrams::bind(socket.as_fd(), RawAddress::of_udp(local))?;
            if number == 0 && count > 1 {
                share(&socket)?;
            }
            Ok(socket)
        })
        .collect()
}

/// Whether the kernel cannot split for this device: no checksum offload, or no support for the option.
fn is_refusal(error: &io::Error) -> bool {
    let refusals = [Errno::EIO, Errno::EINVAL, Errno::ENOPROTOOPT, Errno::EOPNOTSUPP];
    error
        .raw_os_error()
        .is_some_and(|code| refusals.contains(&Errno::from_raw(code)))
}

/// Requests large buffers: beyond the system's limit where permitted, otherwise up to the limit.
fn set_buffers(socket: BorrowedFd<'_>) {
    for (beyond, within, octets) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, RECEIVE_BUFFER_B),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, SEND_BUFFER_B),
    ] {
        if set_option(socket, libc::SOL_SOCKET, beyond, octets).is_err() {
            // Any granted size is sufficient.
            let _ = set_option(socket, libc::SOL_SOCKET, within, octets);
        }
    }
    let _ = set_option(socket, libc::SOL_SOCKET, libc::SO_SNDTIMEO, SEND_TIMEOUT);
}
