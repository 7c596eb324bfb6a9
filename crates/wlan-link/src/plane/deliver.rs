//! Delivery to the host: consecutive packets of one flow are coalesced (`offload::coalesce`).

use std::io::IoSlice;

use arrayvec::ArrayVec;
use wlan_host::offload::VnetHeader;
use wlan_host::offload::coalesce::{MAX_PACKETS, Run, Takes};

use super::counters::Inbound;
use super::device::Device;
use super::source::shifted;
use super::wire::ETHERNET_B;

/// Packets to deliver, in order.
pub struct Up<'d, 'f, D> {
    device: &'d D,
    takes: Takes,
    counters: &'d Inbound,
    run: Option<Run<'f>>,
    /// The Ethernet header that all packets of the run share; empty for IP packets.
    ethernet: &'f [u8],
}

impl<'d, 'f, D: Device> Up<'d, 'f, D> {
    /// Starts without packets.
    pub fn new(device: &'d D, counters: &'d Inbound) -> Self {
        let offloads = device.offloads();
        Self {
            device,
            takes: Takes {
                tcp: offloads.tcp,
                udp: offloads.udp,
            },
            counters,
            run: None,
            ethernet: &[],
        }
    }

    /// Delivers a packet whose Ethernet header has `ethernet_b` octets. The transport checksum of a packet that
    /// `is_checked` is known to be valid.
    pub fn push(&mut self, ethernet_b: usize, octets: &'f [u8], is_checked: bool) {
        let (ethernet, packet) = octets.split_at(ethernet_b);
        if let Some(run) = &mut self.run {
            if self.ethernet == ethernet && run.join(packet, is_checked) {
                return;
            }
            write(self.device, self.counters, run, self.ethernet);
        }
        self.run = Some(Run::new(self.takes, packet, is_checked));
        self.ethernet = ethernet;
    }

    /// Delivers the last run.
    pub fn finish(self) {
        if let Some(run) = &self.run {
            write(self.device, self.counters, run, self.ethernet);
        }
    }
}

/// Writes a run to the device.
fn write(device: &impl Device, counters: &Inbound, run: &Run<'_>, ethernet: &[u8]) {
    let head = run.head();
    let (vnet, headers) = head
        .split_first_chunk::<{ VnetHeader::LEN }>()
        .expect("a run starts with a virtio-net header");
    let mut vnet = *vnet;
    if !ethernet.is_empty() && run.packets() > 1 {
        // On a TAP device, the offsets of the virtio-net header include the Ethernet header.
        let whole = VnetHeader::parse(&vnet).and_then(|vnet| shifted(vnet, |at| Some(at + ETHERNET_B)));
        vnet = whole.expect("the headers of a run are short").emit();
    }
    let mut parts: ArrayVec<IoSlice<'_>, { 3 + MAX_PACKETS }> = ArrayVec::new();
    parts.extend([&vnet, ethernet, headers].map(IoSlice::new));
    parts.extend(run.payloads().iter().map(|payload| IoSlice::new(payload)));
    match device.write(&parts) {
        Ok(()) => counters.written.add(1),
        Err(_) => counters.refused.add(run.packets()),
    }
}
