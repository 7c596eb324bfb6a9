//! The emulated BSS: its keys, the announcements of its access point, and the joining of stations.

pub mod beacon;
pub mod joining;
pub mod keys;
