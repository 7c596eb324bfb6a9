//! What the data plane counts: each number by one thread, read by whoever asks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;

/// Declares counters and the numbers that they stood at.
macro_rules! counters {
    ($(#[$about:meta])* $name:ident, $(#[$snapshot_about:meta])* $snapshot:ident { $($(#[$doc:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        // Two cache lines, which processors fetch together: no thread disturbs the other.
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
            /// The numbers now.
            pub fn read(&self) -> $snapshot {
                $snapshot { $($field: self.$field.get(),)* }
            }
        }
    };
}

/// A number that one thread raises.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it.
    pub fn add(&self, count: usize) {
        if count > 0 {
            self.0.fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    /// Does this, and adds the nanoseconds that it took.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        self.add(usize::try_from(start.elapsed().as_nanos()).unwrap_or(usize::MAX));
        done
    }

    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

counters! {
    /// Of the way out.
    Outbound,
    /// Totals of the way out.
    OutboundTotals {
        /// Packets and super-packets read from the device.
        read,
        /// MPDUs sealed.
        sealed,
        /// Octets of these MPDUs.
        sealed_octets,
        /// Time spent sealing them, ns.
        crypto_ns,
        /// Packets of neither IPv4 nor IPv6, or Ethernet frames that are none.
        unclassified,
        /// Super-packets that contradict themselves.
        unsplittable,
        /// Packets that fit no MPDU.
        too_long,
        /// Packets for no station's address.
        unroutable,
        /// Packets for a station without a key.
        no_key,
        /// MPDUs for which a key had no packet number left.
        exhausted,
        /// MPDUs that the socket did not take: its interface was down, or no memory.
        unsent,
    }
}

counters! {
    /// Of the way in.
    Inbound,
    /// Totals of the way in.
    InboundTotals {
        /// Frames of whatever kind.
        frames,
        /// MPDUs that opened and were new.
        opened,
        /// Octets of these MPDUs.
        opened_octets,
        /// Time spent opening frames, ns.
        crypto_ns,
        /// Super-packets and packets written to the device.
        written,
        /// Packets passed on to another station.
        forwarded,
        /// Frames shorter than their headers.
        truncated,
        /// Frames of another protocol, kind or direction.
        bad_header,
        /// Frames for another receiver.
        not_for_us,
        /// Frames of a transmitter that is not admitted.
        unknown_transmitter,
        /// Data in the open.
        unprotected,
        /// Frames under a key that is not installed.
        no_key,
        /// Frames whose packet number came before.
        replayed,
        /// Frames with a wrong MIC.
        forged,
        /// Frames that opened and are neither a packet nor a handshake.
        bad_body,
        /// Packets in the name of another host.
        spoofed,
        /// Packets for no station's address.
        unroutable,
        /// Packets that the device refused: it is down.
        refused,
        /// Frames for the control plane.
        control,
        /// Frames for the control plane that it did not fetch in time.
        control_dropped,
        /// Frames that the kernel dropped, because those before them were not taken in time.
        overrun,
        /// Times that the socket had an error to tell: its interface is down.
        socket_errors,
    }
}

/// All counters.
#[derive(Debug, Default)]
pub struct Counters {
    /// Of the thread that reads the device.
    pub outbound: Outbound,
    /// What the thread that reads the socket passes on.
    pub relayed: Outbound,
    /// Of the thread that reads the socket.
    pub inbound: Inbound,
}

/// What all counters stood at.
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
    /// The numbers now.
    pub fn read(&self) -> Totals {
        Totals {
            outbound: self.outbound.read(),
            relayed: self.relayed.read(),
            inbound: self.inbound.read(),
        }
    }
}
