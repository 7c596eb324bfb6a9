//! Both state machines in virtual time, over a channel that loses, duplicates, reorders, damages and forges frames.

mod attacks;
mod connecting;
mod enterprise;
mod floods;
mod radius_server;
mod rogues;
mod sessions;
mod world;

use wlan_frames::management::{Body, Management, status};

use super::*;
use crate::plane::{ControlBody, ControlFrame};
use world::*;

const AKMS: [Akm; 5] = [
    Akm::WpaPskSha256,
    Akm::Sae,
    Akm::Owe,
    Akm::WpaEap,
    Akm::WpaEapSha256,
];

/// Runs until `from` sends a management frame that `wanted` selects, and takes it off the air.
fn intercepted(world: &mut World, from: MacAddr, wanted: fn(&Body<'_>) -> bool) -> Vec<u8> {
    let is_wanted = |flight: &Flight| match &flight.body {
        ControlBody::Management(octets) if flight.from == from => {
            Management::parse(octets).is_ok_and(|frame| wanted(&frame.body))
        }
        _ => false,
    };
    assert!(world.run(5, |world| world.air.iter().any(is_wanted)));
    let at = world.air.iter().position(is_wanted).unwrap();
    match world.air.swap_remove(at).body {
        ControlBody::Management(octets) => octets,
        ControlBody::Eapol(_) => unreachable!(),
    }
}

/// Passes a frame to station 1 and returns the number of frames that it sends at once.
fn answers_of_station(world: &mut World, octets: &[u8]) -> usize {
    let from = MacAddr(octets[10..16].try_into().unwrap());
    let frame = ControlFrame {
        transmitter: from,
        endpoint: Endpoint::Ethernet(from),
        protected: false,
        body: ControlBody::Management(octets.to_vec()),
    };
    let (now, before) = (world.now, world.air.len());
    let (End::Sta(end), _) = world.ends.get_mut(&station(1)).unwrap() else {
        unreachable!()
    };
    end.receive(&frame, now, &mut TestRng(3));
    world.settle(station(1));
    world.air.len() - before
}
