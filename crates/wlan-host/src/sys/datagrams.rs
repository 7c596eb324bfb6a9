//! Batches of datagrams: `sendmmsg` and `recvmmsg` for several messages per system call, `UDP_SEGMENT` and `UDP_GRO`
//! for several datagrams of equal length per message.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

use arrayvec::ArrayVec;
use nix::libc;

/// Largest number of messages per system call.
pub const MESSAGES: usize = 64;

/// A socket address in the kernel's format.
#[derive(Clone, Copy)]
#[repr(C)]
pub union RawAddress {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
    link: libc::sockaddr_ll,
}

impl RawAddress {
    /// Octets of the longest variant.
    const LEN: libc::socklen_t = 28;

    /// Converts the address of a UDP socket. Returns the address and its length in octets.
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

    /// The link-layer address of an interface and its length in octets. `ethertype` is in host byte order.
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

    /// The address that the kernel wrote, if it is an IP address.
    fn udp(&self) -> Option<SocketAddr> {
        // SAFETY: every variant starts with the family, and the whole union is initialised.
        let family = unsafe { self.v4.sin_family };
        match i32::from(family) {
            libc::AF_INET => {
                // SAFETY: the family shows that the kernel wrote a sockaddr_in, for which all octet values are valid.
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
/// Any error of the kernel.
pub fn bind(socket: BorrowedFd<'_>, (address, len): (RawAddress, libc::socklen_t)) -> io::Result<()> {
    // SAFETY: the pointer is to an address of at least `len` octets that lives through the call.
    let done = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) };
    nix::errno::Errno::result(done)?;
    Ok(())
}

/// A message to send.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    /// Destination address and its length in octets.
    pub to: (RawAddress, libc::socklen_t),
    /// The octets of all datagrams.
    pub octets: &'a [u8],
    /// Octets of every datagram except the last, if the message contains several.
    pub segment_b: Option<u16>,
}

/// Space for one control message of up to four octets.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_B]);

// SAFETY: CMSG_SPACE only computes a size.
const CONTROL_B: usize = unsafe { libc::CMSG_SPACE(4) } as usize;

/// Sends messages in order and returns the number of sent messages. Interrupted calls are repeated.
///
/// # Errors
/// The kernel's error for the first message.
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
            // SAFETY: `control` is aligned as a cmsghdr and has CMSG_SPACE(4) octets: space for one cmsghdr and a u16.
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
            // SAFETY: CMSG_SPACE only computes a size.
            header.msg_hdr.msg_controllen = unsafe { libc::CMSG_SPACE(2) } as _;
        }
        headers.push(header);
    }
    let count = libc::c_uint::try_from(headers.len()).expect("there are at most MESSAGES headers");
    loop {
        let sent = match &*headers {
            // A single message uses sendmsg, because sendmmsg yields the CPU after each message.
            [only] => {
                // SAFETY: the header points to an address, a part and a control message that live through the call and
                // are not moved. The part points to octets that the caller lends and the kernel only reads.
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

/// A buffer for received datagrams.
pub struct Inbox {
    octets: Box<[u8]>,
    stride_b: usize,
    received: ArrayVec<Incoming, MESSAGES>,
    /// Number of messages to request: requesting many takes time even if only one is waiting.
    asked: usize,
    /// Datagrams dropped because the socket's buffer was full: the total in the last message (modulo 2^32), and the
    /// total already reported.
    overrun: u32,
    overrun_told: u32,
}

/// Smallest number of messages to request.
const FEW: usize = 4;
/// Octets of messages to request at once, if they are long: they stay in the second-level cache until they are handled.
const CACHED_B: usize = 1 << 18;

/// Sender and lengths of a received message.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// The sender, if its address is an IP address.
    pub from: Option<SocketAddr>,
    /// The octets of all datagrams.
    len_b: usize,
    /// Octets of every datagram except the last.
    segment_b: usize,
}

impl Inbox {
    /// Creates space for [`MESSAGES`] messages of `stride_b` octets each.
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

    /// Takes the messages that wait at the socket, without blocking. Returns `true` if none is left.
    ///
    /// # Errors
    /// Any error of the kernel, including "would block".
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
        let count = libc::c_uint::try_from(headers.len()).expect("there are at most MESSAGES headers");
        // SAFETY: the headers point to addresses, parts and control messages that live through the call, are not moved
        // and have the stated lengths. Each part points to its own octets of the inbox.
        let received = nix::errno::Errno::result(unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT as _, // musl: unsigned
                std::ptr::null_mut(),
            )
        })?;
        for (header, address) in headers
            .iter()
            .zip(&addresses)
            .take(received.unsigned_abs() as usize)
        {
            // SAFETY: the address was zeroed, and all octet values are valid.
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
        let longest_b = self.received.iter().map(|message| message.len_b).max();
        let most = CACHED_B / longest_b.unwrap_or(0).max(1);
        self.asked = (self.received.len() * 2).min(most).clamp(FEW, MESSAGES);
        Ok(is_empty)
    }

    /// Number of datagrams dropped because the socket's buffer was full, since the last call. The first datagram
    /// received after the drops reports them.
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

/// The control messages of a received message.
#[derive(Default)]
struct Told {
    /// Octets of each coalesced datagram (`UDP_GRO`).
    segment_b: Option<usize>,
    /// Total of dropped datagrams at the time of this message, modulo 2^32 (`SO_RXQ_OVFL`).
    overrun: Option<u32>,
}

/// Reads the control messages.
///
/// # Safety
/// `recvmmsg` filled the header, and its control messages are still alive.
unsafe fn told(header: &libc::msghdr) -> Told {
    let mut told = Told::default();
    // SAFETY: the caller guarantees that the header is valid.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: null, or an aligned control message within the header's control messages.
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
        // SAFETY: as for the first control message.
        next = unsafe { libc::CMSG_NXTHDR(header, control) };
    }
    told
}
