//! Services of the operating system for the crates that carry packets: devices, namespaces, sockets and time.
//!
//! - [`tun`]: TUN and TAP devices, and the offloads that the kernel grants them
//! - [`offload`]: splitting and coalescing of super-packets; pure functions of octets
//! - [`netlink`]: requests to the kernel, and the messages that it sends by itself
//! - [`netns`]: anonymous network namespaces
//! - [`clock`]: the monotonic clock, and waiting on it to the microsecond
//! - [`schedule`]: scheduling of the calling thread
//! - [`os_error`]: descriptions of operating system errors
//! - [`temporary`]: files that appear under their name as a whole
//! - [`sys`]: network interfaces, batches of datagrams, and rings of received frames
//!
//! Linux only. `unsafe` occurs only in modules named `sys`: ioctls, scheduling calls, and the socket calls that `nix`
//! does not wrap.

pub mod clock;
pub mod netlink;
pub mod netns;
pub mod offload;
pub mod os_error;
pub mod schedule;
pub mod sys;
pub mod temporary;
pub mod tun;

pub use tun::DEVICE_NAME;
