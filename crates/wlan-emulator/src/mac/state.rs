//! The state of the MAC thread.

use wlan_air::channel::SignalCounts;
use wlan_air::{Medium, Nanos};
use wlan_host::clock::Clock;

use super::counters::Counters;
use super::report::Report;
use super::stage::Stages;
use crate::capture::Capture;
use crate::frames::frame::{Around, Frame, Pool};
use crate::frames::host::Host;
use crate::frames::station::End;
use crate::roster::{AP, Roster};
use crate::running::Orders;

/// The state of the MAC thread.
pub struct Mac {
    pub clock: Clock,
    pub roster: Roster,
    pub around: Around,
    pub hosts: Vec<Host>,
    /// By station from 1: the access point's end and the station's end.
    pub associations: Vec<[End; 2]>,
    pub stages: Stages,
    pub medium: Medium<Frame>,
    /// Signals of the data PPDUs that each station received.
    pub signals: Vec<SignalCounts>,
    /// Number of frames that a card holds for transmission.
    pub transmit_buffers: usize,
    /// Seed of the hash that identifies flows.
    pub flow_seed: u64,
    pub counters: Counters,
    pub capture: Option<Capture>,
    /// Data PPDUs on the air.
    pub data_on_air: usize,
    /// Ideal time since which no station, processor or wire has held a frame; `None` while one holds a frame.
    pub idle_since: Option<Nanos>,
    /// Last time at which the devices of all hosts behind a processor or wire were read.
    pub looked_at: Nanos,
    pub orders: Orders<Report>,
    /// Frames to reuse.
    pub pool: Pool,
    /// Frames in transit between two stages within one call. Reused to avoid allocations.
    pub passing: Vec<Frame>,
}

/// The sender's end and the receiver's end of their association.
pub(super) fn ends(associations: &mut [[End; 2]], sender: usize, receiver: usize) -> Option<[&mut End; 2]> {
    let [ap, sta] = associations.get_mut(sender.max(receiver).checked_sub(1)?)?;
    Some(if sender == AP { [ap, sta] } else { [sta, ap] })
}
