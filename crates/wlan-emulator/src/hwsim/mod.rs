//! The medium beneath mac80211: the hosts have radios of mac80211_hwsim, and Linux builds, protects and acknowledges
//! the frames. The medium of `wlan-air` decides when each frame is on the air and whether it arrives.
//!
//! - [`link`]: creates the hosts with their radios and starts the thread
//! - `air`: the thread
//! - `radio`: a radio and its frames
//! - `frame`: a frame, and the rates that mac80211 asks for

mod air;
mod frame;
pub mod link;
mod radio;
