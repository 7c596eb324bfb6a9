//! What both state machines ask of their caller, and why they end or leave a frame out.

use std::time::Duration;

use wlan_ciphers::{IntegrityKeyId, KeyId, PacketNumber, Suite};
use wlan_frames::{FrameError, MacAddr};

use crate::Key;

/// What a pairwise key is for from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Open frames with it.
    Receive,
    /// Seal frames with it.
    Transmit,
}

/// What the caller has to do, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send an EAPOL packet (EtherType 0x888E).
    Send {
        /// To whom.
        to: MacAddr,
        /// The packet, without Ethernet or LLC header.
        packet: Vec<u8>,
        /// Seal it as data is sealed, with the key that was installed last for transmission: the frames of a rekey go so
        /// (12.6.14). Otherwise send it in the open, whatever keys there are.
        sealed: bool,
    },
    /// Use a pairwise key, with packet numbers and replay windows that begin at zero. Each key is given once for each
    /// direction. One for [`Direction::Receive`] goes beside the keys before it until [`Output::Retire`]: frames under both
    /// are on their way, and where the Key ID is the same for both, whoever opens them tries both.
    InstallPairwise {
        /// The other end.
        peer: MacAddr,
        /// Its Key ID: 0, or 0 and 1 in turns.
        key_id: KeyId,
        /// Its cipher.
        suite: Suite,
        /// Its octets, in the layout of `wlan-ciphers`.
        key: Key,
        /// For which frames.
        direction: Direction,
    },
    /// Receive no more under this pairwise key: it was replaced some time ago, or was never taken into use.
    Retire {
        /// The other end.
        peer: MacAddr,
        /// The key.
        key: Key,
    },
    /// Use a group key: the authenticator to seal, the supplicant to open. Each key is given once; keys of other Key IDs
    /// stay.
    InstallGroup {
        /// The access point.
        peer: MacAddr,
        /// Its Key ID, 0 to 3.
        key_id: KeyId,
        /// Its cipher.
        suite: Suite,
        /// Its octets, in the layout of `wlan-ciphers`.
        key: Key,
        /// Frames up to this packet number are old: replay windows begin here.
        rsc: PacketNumber,
    },
    /// Use a key for group addressed management frames (IGTK), as [`Output::InstallGroup`]; on a station also the key for
    /// beacons (BIGTK), which the caller of the authenticator chose.
    InstallIntegrity {
        /// The access point.
        peer: MacAddr,
        /// Its Key ID: 4 or 5, and for beacons 6 or 7.
        key_id: IntegrityKeyId,
        /// Its cipher, one of BIP.
        suite: Suite,
        /// Its octets.
        key: Key,
        /// Frames up to this packet number are old.
        ipn: PacketNumber,
    },
    /// All keys are there: data may flow (the controlled port is open). Again after each new pairwise key.
    Established {
        /// The other end.
        peer: MacAddr,
    },
    /// A handshake came to nothing.
    Failed {
        /// The other end.
        peer: MacAddr,
        /// Why.
        reason: Failure,
        /// The keys of before are still good: only an attempt to begin anew failed. Otherwise they are to be forgotten.
        still_established: bool,
    },
    /// A station reports a frame with a wrong Michael MIC, under a TKIP key that it has (12.5.2.4.1). The caller takes the
    /// countermeasures.
    MichaelFailure {
        /// The station.
        peer: MacAddr,
    },
}

/// Why a handshake came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Failure {
    /// The other end has another key. Whoever forges frames can make this of [`Failure::NoAnswer`], but not of success.
    #[error(
        "the passphrase or key is not the other end's (IEEE 802.11-2020 12.7.6.3: the MIC of message 2 is wrong)"
    )]
    WrongKey,
    /// Nothing came in time.
    #[error("no answer in time (reason code 15: 4-way handshake timeout)")]
    NoAnswer,
    /// No answer to a new group key.
    #[error("no answer to the group key in time (reason code 16: group key handshake timeout)")]
    NoGroupAnswer,
    /// The elements in message 2 or 3 are not those that were advertised: someone changed them on the way, to have a
    /// weaker cipher chosen (12.7.6.3, 12.7.6.4).
    #[error(
        "the elements in the handshake are not those advertised before (reason code 17): a downgrade attempt"
    )]
    ElementsDiffer,
    /// Too many others began, and this one had not answered.
    #[error("given up for newer stations: too many handshakes without an answer")]
    Displaced,
    /// The caller said so.
    #[error("the other end is gone")]
    PeerGone,
}

impl Failure {
    /// The reason code of the Deauthentication frame that tells the other end (Table 9-49).
    #[must_use]
    pub const fn reason_code(self) -> u16 {
        match self {
            Failure::WrongKey | Failure::NoAnswer => 15,
            Failure::NoGroupAnswer => 16,
            Failure::ElementsDiffer => 17,
            Failure::Displaced => 5,
            Failure::PeerGone => 3,
        }
    }
}

/// Why a packet was discarded. It changed nothing but counts: no key, timer, replay counter or state of a handshake. A packet
/// that ends a handshake is not discarded: it needs a right MIC, so only a holder of the key can send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Discard {
    /// It is no EAPOL-Key packet.
    #[error(transparent)]
    Malformed(#[from] FrameError),
    /// No handshake with that station was begun.
    #[error("no handshake with this station was begun")]
    UnknownPeer,
    /// Its descriptor is not that of the association.
    #[error("the key descriptor is not the association's (IEEE 802.11-2020 12.7.2)")]
    Descriptor,
    /// It does not belong to the state of the handshake.
    #[error("not a message that is waited for (IEEE 802.11-2020 12.7.6)")]
    Unexpected,
    /// Its replay counter was used before.
    #[error("replayed: the key replay counter is not a new one (IEEE 802.11-2020 12.7.2)")]
    Replay,
    /// Its MIC is wrong.
    #[error("wrong MIC (IEEE 802.11-2020 12.7.2)")]
    Mic,
    /// It came in the open, though keys are installed.
    #[error("came in the open, though keys are installed (IEEE 802.11-2020 12.6.14)")]
    Unprotected,
    /// Its key data does not hold what it must.
    #[error("the key data is not what the message must have (IEEE 802.11-2020 12.7.6)")]
    KeyData,
}

/// How long and how often the machines wait, by hostapd's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Before message 1 or 3 is sent again for the first time.
    pub first: Duration,
    /// Before a group key message is sent again for the first time.
    pub first_group: Duration,
    /// Before each further time.
    pub next: Duration,
    /// How often a message is sent in all.
    pub tries: u8,
    /// How long the supplicant waits for message 1, and then for message 3. Longer than all tries of the authenticator.
    pub answer: Duration,
    /// How long the previous pairwise key is kept: the authenticator sends under it until message 4 is in, so longer than
    /// all its tries.
    pub overlap: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            first: Duration::from_millis(100),
            first_group: Duration::from_millis(500),
            next: Duration::from_secs(1),
            tries: 4,
            answer: Duration::from_secs(5),
            overlap: Duration::from_secs(5),
        }
    }
}

impl Timing {
    /// Longer than this nothing waits: a deadline further off was set before the clock went back.
    pub(crate) fn longest(&self) -> Duration {
        self.first
            .max(self.first_group)
            .max(self.next)
            .max(self.answer)
            .max(self.overlap)
    }

    /// Whether a deadline has come, also after a jump of the clock: times are only ever compared, so that a jump ahead
    /// fires each deadline once, and a jump back at most delays by the longest wait.
    pub(crate) fn is_due(&self, deadline: Duration, now: Duration) -> bool {
        deadline <= now || deadline > now.saturating_add(self.longest())
    }

    /// The deadline as a caller should wait for it.
    pub(crate) fn wait_until(&self, deadline: Duration, now: Duration) -> Duration {
        if self.is_due(deadline, now) { now } else { deadline }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 9-49.
    #[test]
    fn reason_codes() {
        let codes = [
            (Failure::WrongKey, 15),
            (Failure::NoAnswer, 15),
            (Failure::NoGroupAnswer, 16),
            (Failure::ElementsDiffer, 17),
            (Failure::Displaced, 5),
            (Failure::PeerGone, 3),
        ];
        for (failure, code) in codes {
            assert_eq!(failure.reason_code(), code, "{failure}");
        }
    }
}
