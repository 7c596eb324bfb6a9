//! Many datagrams a system call, and many of one length in one: `sendmmsg` and `recvmmsg` with `UDP_SEGMENT` and `UDP_GRO`.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

use arrayvec::ArrayVec;
use nix::libc;

/// Messages of one system call at most.
pub const MESSAGES: usize = 64;

/// A socket address as the kernel has it.
#[derive(Clone, Copy)]
#[repr(C)]
pub union RawAddress {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
    link: libc::sockaddr_ll,
}

impl RawAddress {
    /// Octets of the longest.
    const LEN: libc::socklen_t = 28;

    /// That of a UDP socket, and its octets.
    #[allow(clippy::cast_possible_truncation)] // address families are small
    pub fn of_udp(address: SocketAddr) -> (Self, libc::socklen_t) {
        match address {
            SocketAddr::V4(address) => (
                Self {
                    v4: libc::sockaddr_in {
                        sin_family: libc::AF_INET as libc::sa_family_t,
                        sin_port: address.port().to_be(),
                        sin_addr: libc::in_addr {
                            s_addr: u32::from_ne_bytes(address.ip().octets()),
                        },
                        sin_zero: [0; 8],
                    },
                },
                size_of::<libc::sockaddr_in>() as libc::socklen_t,
            ),
            SocketAddr::V6(address) => (
                Self {
                    v6: libc::sockaddr_in6 {
                        sin6_family: libc::AF_INET6 as libc::sa_family_t,
                        sin6_port: address.port().to_be(),
                        sin6_flowinfo: 0,
                        sin6_addr: libc::in6_addr {
                            s6_addr: address.ip().octets(),
                        },
                        sin6_scope_id: address.scope_id(),
                    },
                },
                size_of::<libc::sockaddr_in6>() as libc::socklen_t,
            ),
        }
    }

    /// That of an interface's link layer, and its octets; `ethertype` in the byte order of this machine.
    #[allow(clippy::cast_possible_truncation)] // address families are small
    pub fn of_link(interface: i32, ethertype: u16, address: [u8; 6]) -> (Self, libc::socklen_t) {
        let [a, b, c, d, e, f] = address;
        let link = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as libc::sa_family_t,
            sll_protocol: ethertype.to_be(),
            sll_ifindex: interface,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 6,
            sll_addr: [a, b, c, d, e, f, 0, 0],
        };
        (Self { link }, size_of::<libc::sockaddr_ll>() as libc::socklen_t)
    }

    /// The address that the kernel wrote, if it is one of IP.
    fn udp(&self) -> Option<SocketAddr> {
        // SAFETY: every variant starts with the family, and all of the union was initialised.
        let family = unsafe { self.v4.sin_family };
        match i32::from(family) {
            libc::AF_INET => {
                // SAFETY: the kernel says by the family that it wrote a sockaddr_in; any octets are a valid one.
                let v4 = unsafe { self.v4 };
                let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: as above, a sockaddr_in6.
                let v6 = unsafe { self.v6 };
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                Some(SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), 0, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

/// Binds a socket.
///
/// # Errors
/// The kernel's.
pub fn bind(socket: BorrowedFd<'_>, (address, len): (RawAddress, libc::socklen_t)) -> io::Result<()> {
    // SAFETY: the pointer is to an address of `len` octets or more that lives through the call.
    let done = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) };
    nix::errno::Errno::result(done)?;
    Ok(())
}

/// What a message is sent with.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    /// Whither.
    pub to: (RawAddress, libc::socklen_t),
    /// All octets.
    pub octets: &'a [u8],
    /// Octets of each datagram but the last, where it is more than one.
    pub segment_b: Option<u16>,
}

/// Room for one control message of four octets at most.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_B]);

// SAFETY: CMSG_SPACE only computes.
const CONTROL_B: usize = unsafe { libc::CMSG_SPACE(4) } as usize;

/// Sends messages in order; returns how many went. Interrupted calls are repeated.
///
/// # Errors
/// The kernel's, for the first.
pub fn send<'a>(
    socket: BorrowedFd<'_>,
    messages: impl ExactSizeIterator<Item = Outgoing<'a>>,
) -> io::Result<usize> {
    let mut addresses: ArrayVec<(RawAddress, libc::socklen_t), MESSAGES> = ArrayVec::new();
    let mut parts: ArrayVec<libc::iovec, MESSAGES> = ArrayVec::new();
    let mut controls: ArrayVec<(Control, bool), MESSAGES> = ArrayVec::new();
    for Outgoing {
        to,
        octets,
        segment_b,
    } in messages
    {
        addresses.push(to);
        parts.push(libc::iovec {
            iov_base: octets.as_ptr().cast_mut().cast(),
            iov_len: octets.len(),
        });
        let mut control = Control([0; CONTROL_B]);
        if let Some(segment_b) = segment_b {
            let header = (&raw mut control).cast::<libc::cmsghdr>();
            // SAFETY: `control` is aligned as a cmsghdr and has CMSG_SPACE(4) octets: room for one and a u16.
            unsafe {
                (*header).cmsg_level = libc::SOL_UDP;
                (*header).cmsg_type = libc::UDP_SEGMENT;
                (*header).cmsg_len = libc::CMSG_LEN(2) as _;
                libc::CMSG_DATA(header).cast::<u16>().write_unaligned(segment_b);
            }
        }
        controls.push((control, segment_b.is_some()));
    }
    let mut headers: ArrayVec<libc::mmsghdr, MESSAGES> = ArrayVec::new();
    for (((address, address_b), part), (control, is_used)) in
        addresses.iter_mut().zip(&mut parts).zip(&mut controls)
    {
        // SAFETY: mmsghdr is a plain C struct for which all zeroes is a valid value.
        let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        header.msg_hdr.msg_name = (&raw mut *address).cast();
        header.msg_hdr.msg_namelen = *address_b;
        header.msg_hdr.msg_iov = part;
        header.msg_hdr.msg_iovlen = 1;
        if *is_used {
            header.msg_hdr.msg_control = (&raw mut *control).cast();
            // SAFETY: CMSG_SPACE only computes.
            header.msg_hdr.msg_controllen = unsafe { libc::CMSG_SPACE(2) } as _;
        }
        headers.push(header);
    }
    let count = libc::c_uint::try_from(headers.len()).expect("there are no more than MESSAGES");
    loop {
        let sent = match &*headers {
            // A call for one: sendmmsg gives the CPU away after each message.
            [only] => {
                // SAFETY: the header points to an address, a part and a control message that live through the call and
                // are not moved, and the part to octets that the caller lends and the kernel only reads.
                let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const only.msg_hdr, 0) };
                if sent < 0 { -1 } else { 1 }
            }
            // SAFETY: as above, for each of the headers.
            _ => unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, 0) },
        };
        match nix::errno::Errno::result(sent) {
            Ok(sent) => return Ok(sent.unsigned_abs() as usize),
            Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Where datagrams are received.
pub struct Inbox {
    octets: Box<[u8]>,
    stride_b: usize,
    received: ArrayVec<Incoming, MESSAGES>,
    /// Messages to ask for: to ask for many takes time when there is one.
    asked: usize,
    /// Datagrams that found no room, as the last message said (modulo 2^32), and as was told.
    overrun: u32,
    overrun_told: u32,
}

/// Messages that are asked for at least.
const FEW: usize = 4;

/// What is known of a message that was received.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Whence.
    pub from: Option<SocketAddr>,
    /// All octets.
    len_b: usize,
    /// Octets of each datagram but the last.
    segment_b: usize,
}

impl Inbox {
    /// Room for [`MESSAGES`] messages of so many octets.
    pub fn new(stride_b: usize) -> Self {
        Self {
            octets: vec![0; stride_b * MESSAGES].into_boxed_slice(),
            stride_b,
            received: ArrayVec::new(),
            asked: FEW,
            overrun: 0,
            overrun_told: 0,
        }
    }

    /// Takes what waits at the socket, and waits for nothing; `true` if nothing was left there.
    ///
    /// # Errors
    /// The kernel's, "would block" among them.
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        self.received.clear();
        let asked = self.asked;
        let mut addresses: ArrayVec<MaybeUninit<RawAddress>, MESSAGES> = ArrayVec::new();
        addresses.extend((0..asked).map(|_| MaybeUninit::zeroed()));
        let mut controls = [MaybeUninit::<[Control; 2]>::uninit(); MESSAGES];
        let mut parts: ArrayVec<libc::iovec, MESSAGES> = ArrayVec::new();
        let mut headers: ArrayVec<libc::mmsghdr, MESSAGES> = ArrayVec::new();
        for octets in self.octets.chunks_exact_mut(self.stride_b).take(asked) {
            parts.push(libc::iovec {
                iov_base: octets.as_mut_ptr().cast(),
                iov_len: octets.len(),
            });
        }
        for ((address, control), part) in addresses.iter_mut().zip(&mut controls).zip(&mut parts) {
            // SAFETY: mmsghdr is a plain C struct for which all zeroes is a valid value.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            header.msg_hdr.msg_name = address.as_mut_ptr().cast();
            header.msg_hdr.msg_namelen = RawAddress::LEN;
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = (2 * CONTROL_B) as _;
            headers.push(header);
        }
        let count = libc::c_uint::try_from(headers.len()).expect("there are no more than MESSAGES");
        // SAFETY: the headers point to addresses, parts and control messages that live through the call and are not
        // moved, of the lengths that are said; the parts to octets of the inbox, each to its own.
        let received = nix::errno::Errno::result(unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        })?;
        for (header, address) in headers
            .iter()
            .zip(&addresses)
            .take(received.unsigned_abs() as usize)
        {
            // SAFETY: zeroed above, and any octets are a valid address.
            let from = unsafe { address.assume_init_ref() }.udp();
            let len_b = header.msg_len as usize;
            // SAFETY: the kernel filled the header's control messages.
            let told = unsafe { told(&header.msg_hdr) };
            let segment_b = told.segment_b.unwrap_or(len_b);
            self.overrun = told.overrun.unwrap_or(self.overrun);
            self.received.push(Incoming {
                from,
                len_b,
                segment_b: segment_b.max(1),
            });
        }
        let is_empty = self.received.len() < asked;
        self.asked = (self.received.len() * 2).clamp(FEW, MESSAGES);
        Ok(is_empty)
    }

    /// Datagrams that found no room since the last time that it was asked for; told by the first that did find some.
    pub fn overrun(&mut self) -> usize {
        let since = self.overrun.wrapping_sub(self.overrun_told);
        self.overrun_told = self.overrun;
        since as usize
    }

    /// Every datagram received, in order, with its sender.
    pub fn datagrams(&mut self) -> impl Iterator<Item = (Option<SocketAddr>, &mut [u8])> {
        let Self {
            octets,
            stride_b,
            received,
            ..
        } = self;
        octets
            .chunks_exact_mut(*stride_b)
            .zip(received)
            .flat_map(|(octets, incoming)| {
                let from = incoming.from;
                octets[..incoming.len_b]
                    .chunks_mut(incoming.segment_b)
                    .map(move |datagram| (from, datagram))
            })
    }
}

/// What the kernel says of a message.
#[derive(Default)]
struct Told {
    /// Octets of each of the datagrams that it joined (`UDP_GRO`).
    segment_b: Option<usize>,
    /// Datagrams that had found no room when this came, modulo 2^32 (`SO_RXQ_OVFL`).
    overrun: Option<u32>,
}

/// Reads the control messages.
///
/// # Safety
/// The header is one that `recvmmsg` filled, and its control messages still live.
unsafe fn told(header: &libc::msghdr) -> Told {
    let mut told = Told::default();
    // SAFETY: of the header, the caller vouches.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: null or a control message within the header's, aligned as such.
    while let Some(control) = unsafe { next.as_ref() } {
        match (control.cmsg_level, control.cmsg_type) {
            (libc::SOL_UDP, libc::UDP_GRO) => {
                // SAFETY: a message of this type holds an int.
                let segment_b = unsafe { libc::CMSG_DATA(control).cast::<libc::c_int>().read_unaligned() };
                told.segment_b = usize::try_from(segment_b).ok();
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                // SAFETY: a message of this type holds 32 bits.
                let overrun = unsafe { libc::CMSG_DATA(control).cast::<u32>().read_unaligned() };
                told.overrun = Some(overrun);
            }
            _ => {}
        }
        // SAFETY: as for the first.
        next = unsafe { libc::CMSG_NXTHDR(header, control) };
    }
    told
}
