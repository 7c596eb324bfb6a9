//! Counters of the data plane. One thread writes each counter; any thread may read it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;

/// Declares a struct of counters and a struct for their snapshot.
macro_rules! counters {
    ($(#[$about:meta])* $name:ident, $(#[$snapshot_about:meta])* $snapshot:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        // Two cache lines, because processors fetch lines in pairs: the threads share no line.
        #[repr(align(128))]
        pub struct $name {
            $($(#[$doc])* pub $field: Counter,)*
        }

        $(#[$snapshot_about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct $snapshot {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl $name {
            /// Snapshot of the counters.
            pub fn read(&self) -> $snapshot {
                $snapshot { $($field: self.$field.get(),)* }
            }
        }

        impl std::ops::Add for $snapshot {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self { $($field: self.$field + other.$field,)* }
            }
        }
    };
}

/// A counter that one thread increments.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `count`.
    pub fn add(&self, count: usize) {
        if count > 0 {
            // No atomic addition is required, because no other thread writes the counter.
            self.0.store(self.get() + count as u64, Ordering::Relaxed);
        }
    }

    /// Runs `work` and adds its duration in nanoseconds.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        self.add(usize::try_from(start.elapsed().as_nanos()).unwrap_or(usize::MAX));
        done
    }

    /// The current value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

counters! {
    /// Counters of outbound frames.
    Outbound,
    /// Totals of outbound frames.
    OutboundTotals {
        /// Packets and super-packets read from the device.
        read,
        /// MPDUs sealed.
        sealed,
        /// Octets of these MPDUs.
        sealed_octets,
        /// Time spent sealing them, ns.
        crypto_ns,
        /// Packets that are neither IPv4 nor IPv6, or malformed Ethernet frames.
        unclassified,
        /// Inconsistent super-packets.
        unsplittable,
        /// Packets longer than the longest MPDU allows.
        too_long,
        /// Packets whose destination belongs to no station.
        unroutable,
        /// Packets for a station without a key.
        no_key,
        /// MPDUs dropped because the packet numbers of the key were exhausted.
        exhausted,
        /// MPDUs that the socket refused: its interface was down, or memory was short.
        unsent,
    }
}

counters! {
    /// Counters of inbound frames.
    Inbound,
    /// Totals of inbound frames.
    InboundTotals {
        /// Received frames of any kind.
        frames,
        /// Authentic MPDUs that were no replays.
        opened,
        /// Octets of these MPDUs.
        opened_octets,
        /// Time spent opening frames, ns.
        crypto_ns,
        /// Super-packets and packets written to the device.
        written,
        /// Packets forwarded to another station.
        forwarded,
        /// Frames shorter than their headers.
        truncated,
        /// Frames with an unexpected protocol, kind or direction.
        bad_header,
        /// Frames addressed to another receiver.
        not_for_us,
        /// Group addressed frames of this station, which the access point sent to all stations.
        echoed,
        /// Frames whose transmitter is not admitted.
        unknown_transmitter,
        /// Unprotected data frames.
        unprotected,
        /// Unprotected frames longer than the longest MPDU.
        too_long,
        /// Frames under a key that is not installed.
        no_key,
        /// Replays: frames whose packet number was already accepted or is too old.
        replayed,
        /// Frames with a wrong MIC.
        forged,
        /// Authentic frames that contain neither a packet nor a handshake message.
        bad_body,
        /// Packets with the source address of another host.
        spoofed,
        /// Packets whose destination belongs to no station.
        unroutable,
        /// Packets that the device refused because it is down.
        refused,
        /// Frames for the control plane.
        control,
        /// Frames dropped because the control plane's queue was full.
        control_dropped,
        /// Frames that the kernel dropped because the receive buffer was full.
        overrun,
        /// Socket errors, for example because the interface is down.
        socket_errors,
    }
}

/// The counters of one worker.
#[derive(Debug, Default)]
pub struct Counters {
    /// Outbound frames of the thread that reads the device.
    pub outbound: Outbound,
    /// Outbound frames forwarded by the thread that reads the socket.
    pub relayed: Outbound,
    /// Inbound frames of the thread that reads the socket.
    pub inbound: Inbound,
}

/// Snapshot of the counters of one worker, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// From the device.
    pub outbound: OutboundTotals,
    /// From station to station.
    pub relayed: OutboundTotals,
    /// From the socket.
    pub inbound: InboundTotals,
}

impl Counters {
    /// Snapshot of all counters.
    pub fn read(&self) -> Totals {
        Totals {
            outbound: self.outbound.read(),
            relayed: self.relayed.read(),
            inbound: self.inbound.read(),
        }
    }
}

impl std::iter::Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(totals: I) -> Self {
        totals.fold(Self::default(), |sum, one| Self {
            outbound: sum.outbound + one.outbound,
            relayed: sum.relayed + one.relayed,
            inbound: sum.inbound + one.inbound,
        })
    }
}
