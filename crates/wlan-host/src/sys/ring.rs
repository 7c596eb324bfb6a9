//! A ring of received frames that the kernel fills and this process reads in place: `PACKET_RX_RING`, version 2
//! (packet(7), Documentation/networking/packet_mmap.rst).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::libc;
use wlan_frames::MacAddr;

use super::{option, set_option};

/// Largest number of octets in a slot before its frame: header, address, alignment.
const BEFORE_FRAME_B: usize = 128;
/// Octets of a block, which the kernel allocates contiguously.
const BLOCK_B: usize = 1 << 18;
/// Number of blocks. They have 8 MiB in total, which holds 50 ms of 1500-octet frames at 1 Gbit/s.
const BLOCKS: usize = 32;

/// The ring of a packet socket.
pub struct Ring {
    memory: NonNull<u8>,
    slot_b: usize,
    slots: usize,
    next: usize,
    /// Whether a frame reported that other frames were dropped because the ring was full.
    is_overrun: bool,
}

// SAFETY: the ring owns its memory, and the status of each slot transfers the slot between kernel and process.
unsafe impl Send for Ring {}

/// A frame in the ring.
pub struct Received<'a> {
    /// The payload of the Ethernet frame.
    pub payload: &'a mut [u8],
    /// The Ethernet frame's source.
    pub from: MacAddr,
}

impl Ring {
    /// Attaches a ring to the socket for frames with up to `payload_b` octets of payload.
    ///
    /// # Errors
    /// The kernel refuses: memory is short, or the socket is not an AF_PACKET socket.
    pub fn new(socket: BorrowedFd<'_>, payload_b: usize) -> io::Result<Self> {
        let slot_b = (payload_b + BEFORE_FRAME_B).next_power_of_two();
        let slots = BLOCK_B / slot_b * BLOCKS;
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        set_option(socket, libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        #[allow(clippy::cast_possible_truncation)] // some megabytes
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_B as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: slot_b as u32,
            tp_frame_nr: slots as u32,
        };
        set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        // SAFETY: this creates a mapping with the size of the ring, at an address that the kernel chooses.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                BLOCK_B * BLOCKS,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            memory: NonNull::new(memory.cast()).expect("mmap gives no null unless asked for"),
            slot_b,
            slots,
            next: 0,
            is_overrun: false,
        })
    }

    /// The address of a slot, counted from the next slot.
    fn slot(&self, index: usize) -> NonNull<u8> {
        let at = (self.next + index) % self.slots * self.slot_b;
        // SAFETY: the number of slots times their size is the size of the mapping.
        unsafe { self.memory.add(at) }
    }

    fn status(&self, index: usize) -> &AtomicU32 {
        // SAFETY: a slot starts with its header, whose first field is the status; it is aligned as the slot is. Kernel
        // and process both access it as an atomic word.
        unsafe { AtomicU32::from_ptr(self.slot(index).cast().as_ptr()) }
    }

    /// Number of frames that can be read, up to `most`.
    pub fn ready(&mut self, most: usize) -> usize {
        let mut count = 0;
        while count < most.min(self.slots) {
            let status = self.status(count).load(Ordering::Acquire);
            if status & libc::TP_STATUS_USER == 0 {
                break;
            }
            self.is_overrun |= status & libc::TP_STATUS_LOSING != 0;
            count += 1;
        }
        count
    }

    /// Number of frames dropped because the ring was full, since the last call. The first frame received after the
    /// drops reports them.
    pub fn overrun(&mut self, socket: BorrowedFd<'_>) -> usize {
        if !std::mem::take(&mut self.is_overrun) {
            return 0;
        }
        let statistics = option::<libc::tpacket_stats>(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS);
        statistics.map_or(0, |statistics| statistics.tp_drops as usize)
    }

    /// The first `count` of the frames that are [`ready`](Self::ready).
    pub fn frames(&mut self, count: usize) -> impl Iterator<Item = Received<'_>> {
        assert!(count <= self.slots, "there are more frames than slots");
        let (ring, slot_b) = (&*self, self.slot_b);
        (0..count).map(move |index| {
            assert!(ring.status(index).load(Ordering::Relaxed) & libc::TP_STATUS_USER != 0);
            let slot = ring.slot(index);
            // SAFETY: by its status, the slot belongs to the process. It starts with this header, which the address
            // follows, aligned to 16 octets.
            let (header, address) = unsafe {
                let address_at = size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
                (
                    slot.cast::<libc::tpacket2_hdr>().read(),
                    slot.add(address_at).cast::<libc::sockaddr_ll>().read(),
                )
            };
            let at = usize::from(header.tp_net).min(slot_b);
            let len_b = (header.tp_snaplen as usize).min(slot_b - at);
            let [a, b, c, d, e, f, ..] = address.sll_addr;
            Received {
                // SAFETY: the octets are within the slot, which belongs to the process until `release`. `release`
                // requires the ring to be borrowed again. Each index occurs once.
                payload: unsafe { std::slice::from_raw_parts_mut(slot.add(at).as_ptr(), len_b) },
                from: MacAddr([a, b, c, d, e, f]),
            }
        })
    }

    /// Returns the first `count` frames to the kernel.
    pub fn release(&mut self, count: usize) {
        for index in 0..count {
            self.status(index)
                .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
        self.next = (self.next + count) % self.slots;
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: `new` mapped the memory with this length, and nothing borrows from it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), BLOCK_B * BLOCKS) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::process::Command;

    use nix::sched::{CloneFlags, unshare};
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

    use super::*;
    use crate::sys::datagrams::{Outgoing, RawAddress, bind, send};
    use crate::sys::interface::Interface;

    /// An EtherType for local experiments (IEEE Std 802-2014 9.2.3).
    const ETHERTYPE: u16 = 0x88b5;

    #[test]
    fn frames_without_a_slot_are_reported_once_and_others_arrive() {
        std::thread::spawn(|| {
            if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
                let reason = format!("this process cannot create a network namespace: {error}");
                return test_support::skip(&reason);
            }
            let up = Command::new("ip")
                .args(["link", "set", "lo", "up"])
                .status()
                .unwrap();
            assert!(up.success());
            let socket = socket(
                AddressFamily::Packet,
                SockType::Datagram,
                SockFlag::SOCK_CLOEXEC,
                None,
            )
            .unwrap();
            let loopback = Interface::named("lo").unwrap().index().unwrap();
            let to = RawAddress::of_link(loopback, ETHERTYPE, [0; 6]);
            bind(socket.as_fd(), to).unwrap();
            let mut ring = Ring::new(socket.as_fd(), 1500).unwrap();
            let send = |count: usize| {
                for _ in 0..count {
                    let frame = Outgoing {
                        to,
                        octets: &[7; 100],
                        segment_b: None,
                    };
                    assert_eq!(send(socket.as_fd(), [frame].into_iter()).unwrap(), 1);
                }
            };
            let take_all = |ring: &mut Ring| {
                let mut taken = 0;
                loop {
                    let ready = ring.ready(64);
                    if ready == 0 {
                        return taken;
                    }
                    assert!(ring.frames(ready).all(|frame| frame.payload == [7; 100]));
                    ring.release(ready);
                    taken += ready;
                }
            };
            let slots = ring.slots;
            send(slots + 100);
            assert_eq!(take_all(&mut ring), slots);
            assert_eq!(
                ring.overrun(socket.as_fd()),
                0,
                "no later frame has reported the drops yet"
            );
            send(1);
            assert_eq!(take_all(&mut ring), 1);
            assert_eq!(ring.overrun(socket.as_fd()), 100);
            send(3);
            assert_eq!(take_all(&mut ring), 3);
            assert_eq!(ring.overrun(socket.as_fd()), 0);
        })
        .join()
        .unwrap();
    }
}
