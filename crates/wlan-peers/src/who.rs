//! The contestants of a comparison.

use std::fmt;

use wlan_ciphers::Backend;

use crate::library::Interface;

/// A contestant: the engine or a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The engine with a backend. WEP and TKIP do not depend on it.
    Airtoll(Backend),
    /// A library through one of its interfaces.
    Peer(Interface),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Airtoll(backend) => write!(f, "airtoll {backend}"),
            Who::Peer(interface) => interface.fmt(f),
        }
    }
}
