//! The state of network interfaces: whether each has a carrier. The kernel announces changes (rtnetlink(7)).

use std::collections::BTreeMap;
use std::io;

use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::SockProtocol;
use serde_json::{Value, json};
use wlan_host::clock::monotonic_ns;
use wlan_host::netlink::{Message, Socket, messages, word};

/// Interfaces of the calling thread's network namespace, by their names.
pub struct Links {
    changes: Socket,
    states: BTreeMap<String, State>,
}

struct State {
    /// Absent if no interface had the name.
    index: Option<u32>,
    /// Absent while no interface has the name.
    carrier: Option<bool>,
}

impl Links {
    /// Reads the state of the interfaces and keeps changes from now on.
    ///
    /// # Errors
    /// The kernel refuses the socket.
    pub fn watch(names: &[String]) -> io::Result<Self> {
        let changes = Socket::open(SockProtocol::NetlinkRoute)?;
        changes.join(libc::RTNLGRP_LINK)?;
        let present: BTreeMap<_, _> = getifaddrs()?
            .map(|interface| (interface.interface_name, interface.flags))
            .collect();
        let states = names.iter().map(|name| {
            let state = State {
                index: if_nametoindex(name.as_str()).ok(),
                carrier: present
                    .get(name)
                    .map(|flags| flags.contains(InterfaceFlags::IFF_LOWER_UP)),
            };
            (name.clone(), state)
        });
        Ok(Self {
            changes,
            states: states.collect(),
        })
    }

    /// The present interfaces with their indices.
    pub fn interfaces(&self) -> impl Iterator<Item = (&str, u32)> {
        self.states
            .iter()
            .filter_map(|(name, state)| Some((name.as_str(), state.index?)))
    }

    /// The interface of this index.
    pub fn name(&self, index: u32) -> Option<String> {
        self.interfaces()
            .find(|(_, other)| *other == index)
            .map(|(name, _)| name.to_owned())
    }

    /// Whether each interface has a carrier; null without an interface of the name.
    pub fn carriers(&self) -> Value {
        let states = self
            .states
            .iter()
            .map(|(name, state)| (name.clone(), Value::from(state.carrier)));
        Value::Object(states.collect())
    }

    /// The changes of carriers since the last call, as events.
    pub fn changes(&mut self) -> Vec<Value> {
        let at_ns = monotonic_ns();
        let mut found = Vec::new();
        while let Ok(Some(datagram)) = self.changes.poll() {
            for change in messages(datagram).filter_map(Change::read) {
                for (name, state) in &mut self.states {
                    if state.index == Some(change.index) && state.carrier != change.carrier {
                        state.carrier = change.carrier;
                        let event = match change.carrier {
                            Some(true) => "carrier up",
                            Some(false) => "carrier down",
                            None => "interface removed",
                        };
                        found.push(json!({"event": event, "interface": name, "t_ns": at_ns}));
                    }
                }
            }
        }
        found
    }
}

/// `RTM_NEWLINK` or `RTM_DELLINK`.
struct Change {
    index: u32,
    /// Absent if the interface has been removed.
    carrier: Option<bool>,
}

impl Change {
    fn read(message: Message<'_>) -> Option<Self> {
        // ifinfomsg: family, padding, type (2), index (4), flags (4), changed flags (4)
        let (index, flags) = (word(message.body, 4)?, word(message.body, 8)?);
        let is_up = flags & libc::IFF_LOWER_UP.cast_unsigned() != 0;
        Some(Self {
            index,
            carrier: (message.kind == libc::RTM_NEWLINK).then_some(is_up),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_a_carrier_and_another_name_none() {
        let links = Links::watch(&["lo".to_owned(), "absent0".to_owned()]).unwrap();
        assert_eq!(links.carriers(), json!({"absent0": null, "lo": true}));
        let lo = if_nametoindex("lo").unwrap();
        assert_eq!(links.name(lo).as_deref(), Some("lo"));
    }
}
