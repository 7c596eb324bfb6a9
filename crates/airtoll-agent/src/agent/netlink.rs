//! Requests to the kernel over netlink(7), and the messages that it sends by itself.

use std::io::{self, ErrorKind};

use netlink_packet_core::{
    NetlinkBuffer, NetlinkDeserializable, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket as Netlink, SocketAddr};
use nix::libc;

/// A datagram of a dump is at most so long (`NLMSG_GOODSIZE` of Linux, for the largest pages that receivers announce).
const DATAGRAM_MAX_B: usize = 1 << 15;

/// Octets of messages that wait for `poll`: enough for the events between two readings.
const EVENTS_B: usize = 1 << 18;

/// A socket in the network namespace of the calling thread.
pub struct Socket {
    netlink: Netlink,
    sequence: u32,
    received: Vec<u8>,
}

impl Socket {
    /// Opens a socket of a protocol, such as `NETLINK_GENERIC`.
    ///
    /// # Errors
    /// The kernel refuses the socket.
    pub fn open(protocol: libc::c_int) -> io::Result<Self> {
        let mut netlink = Netlink::new(isize::try_from(protocol).map_err(io::Error::other)?)?;
        netlink.bind_auto()?;
        netlink.connect(&SocketAddr::new(0, 0))?;
        Ok(Self {
            netlink,
            sequence: 0,
            received: Vec::with_capacity(DATAGRAM_MAX_B),
        })
    }

    /// Receives the messages of a multicast group from now on.
    ///
    /// # Errors
    /// The kernel refuses the group.
    pub fn join(&self, group: u32) -> io::Result<()> {
        self.netlink.set_rx_buf_sz(EVENTS_B)?;
        // Messages that did not fit are lost either way; the error would hide the messages that follow.
        self.netlink.set_no_enobufs(true)?;
        self.netlink.add_membership(group)
    }

    /// The messages of the next datagram, if one waits.
    pub fn poll<M: NetlinkDeserializable>(&mut self) -> Option<Vec<NetlinkPayload<M>>> {
        self.receive(libc::MSG_DONTWAIT).ok()?;
        let answers = messages(&self.received).map(|(_, answer)| answer);
        Some(answers.collect())
    }

    fn receive(&mut self, flags: libc::c_int) -> io::Result<()> {
        loop {
            self.received.clear();
            match self.netlink.recv(&mut self.received, flags) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                outcome => return outcome.map(drop),
            }
        }
    }
}

/// Sends a request and passes each message of its answer to `take`: one message, or all of a dump.
///
/// # Errors
/// The kernel refuses the request.
pub fn exchange<M: NetlinkSerializable + NetlinkDeserializable>(
    socket: &mut Socket,
    mut request: NetlinkMessage<M>,
    mut take: impl FnMut(NetlinkPayload<M>),
) -> io::Result<()> {
    socket.sequence = socket.sequence.wrapping_add(1);
    request.header.sequence_number = socket.sequence;
    request.finalize();
    let mut octets = vec![0; request.buffer_len()];
    request.serialize(&mut octets);
    socket.netlink.send(&octets, 0)?;
    loop {
        socket.receive(0)?;
        for (sequence, answer) in messages(&socket.received) {
            // A late answer to a request that failed is not that of this one.
            if sequence != socket.sequence {
                continue;
            }
            match answer {
                NetlinkPayload::Done(_) => return Ok(()),
                NetlinkPayload::Error(error) => match error.code {
                    None => return Ok(()),
                    Some(code) => return Err(io::Error::from_raw_os_error(-code.get())),
                },
                other => {
                    let is_dump = request.header.flags & netlink_packet_core::NLM_F_DUMP
                        == netlink_packet_core::NLM_F_DUMP;
                    take(other);
                    if !is_dump {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// The messages of a datagram with their sequence numbers. Messages of another form are left out.
fn messages<M: NetlinkDeserializable>(datagram: &[u8]) -> impl Iterator<Item = (u32, NetlinkPayload<M>)> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let head = NetlinkBuffer::new_checked(rest).ok()?;
        let len = usize::try_from(head.length()).ok()?;
        let message = rest.get(..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(NetlinkMessage::<M>::deserialize(message))
    })
    .flatten()
    .map(|message| (message.header.sequence_number, message.payload))
}
