//! What the operating system provides to the crates that carry packets: devices, namespaces, sockets and time.
//!
//! - [`tun`]: TUN and TAP devices, and the offloads that the kernel grants them
//! - [`offload`]: super-packets of the host's stack, split and joined; functions of octets without I/O
//! - [`netns`]: network namespaces without names
//! - [`clock`]: the monotonic clock, and waiting on it to the microsecond
//! - [`schedule`]: how the kernel schedules the calling thread
//! - [`os_error`]: operating system errors in words
//! - [`sys`]: network interfaces, batches of datagrams, and rings of received frames
//!
//! Linux only. `unsafe` stands only in modules named `sys`: ioctls, scheduling calls, and the socket calls that `nix` does
//! not wrap.

pub mod clock;
pub mod netns;
pub mod offload;
pub mod os_error;
pub mod schedule;
pub mod sys;
pub mod tun;

pub use tun::DEVICE_NAME;
