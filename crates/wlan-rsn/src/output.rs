//! Actions that the state machines request from their caller, and the reasons for failures and discarded packets.

use std::time::Duration;

use wlan_ciphers::{IntegrityKeyId, KeyId, PacketNumber, Suite};
use wlan_frames::{FrameError, MacAddr};

use crate::Key;

/// The use of a pairwise key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Open (decrypt) frames with the key.
    Receive,
    /// Seal (encrypt) frames with the key.
    Transmit,
}

/// A pairwise key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairwiseKey {
    /// Key ID: 0, or 0 and 1 alternately.
    pub key_id: KeyId,
    /// Cipher of the key.
    pub suite: Suite,
    /// The key, in the layout of `wlan-ciphers`.
    pub key: Key,
    /// The use of the key.
    pub direction: Direction,
}

/// A group key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupKey {
    /// Key ID, 0 to 3.
    pub key_id: KeyId,
    /// Cipher of the key.
    pub suite: Suite,
    /// The key, in the layout of `wlan-ciphers`.
    pub key: Key,
    /// Replay windows start at this packet number: frames up to and including it are old.
    pub rsc: PacketNumber,
}

/// An action for the caller. Actions must be executed in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output<P = MacAddr> {
    /// Send an EAPOL packet (EtherType 0x888E).
    Send {
        /// Destination address.
        to: P,
        /// The packet, without Ethernet or LLC header.
        packet: Vec<u8>,
        /// Seal the packet like data, with the last key installed for transmission, as in a rekey (12.6.14).
        /// Otherwise send it unencrypted, even if keys are installed.
        sealed: bool,
    },
    /// Use a pairwise key, with packet numbers and replay windows that start at zero. Each key is delivered once per
    /// direction. A key for [`Direction::Receive`] is used beside earlier keys until [`Output::Retire`], because
    /// frames under both keys may be in flight. If both keys have the same Key ID, the receiver must try both.
    InstallPairwise {
        /// The peer.
        peer: P,
        /// The key.
        key: PairwiseKey,
    },
    /// Stop receiving under this pairwise key: it was replaced some time ago, or was never used.
    Retire {
        /// The peer.
        peer: P,
        /// The key.
        key: Key,
    },
    /// Use a group key: the authenticator to seal, the supplicant to open. Each key is delivered once. The supplicant
    /// uses keys with other Key IDs until [`Output::RetireGroup`], because the access point seals with the previous key
    /// until every station has the new one (12.7.7.1).
    InstallGroup {
        /// The access point.
        peer: MacAddr,
        /// The key.
        key: GroupKey,
    },
    /// Stop receiving under the group key with this Key ID: another key replaced it some time ago.
    RetireGroup {
        /// The access point.
        peer: MacAddr,
        /// Key ID, 0 to 3.
        key_id: KeyId,
    },
    /// Use a key for group addressed management frames (IGTK). Keys with other Key IDs remain in use. A station also
    /// receives the key for beacons (BIGTK), which the caller of the authenticator chooses.
    InstallIntegrity {
        /// The access point.
        peer: MacAddr,
        /// Key ID: 4 or 5, or 6 or 7 for beacons.
        key_id: IntegrityKeyId,
        /// Cipher of the key, one of BIP.
        suite: Suite,
        /// The key.
        key: Key,
        /// Frames up to and including this packet number are old.
        ipn: PacketNumber,
    },
    /// All keys are installed, so data may flow (the controlled port is open). Repeated after each new pairwise key.
    Established {
        /// The peer.
        peer: P,
    },
    /// A handshake failed.
    Failed {
        /// The peer.
        peer: P,
        /// The reason.
        reason: Failure,
        /// The previous keys remain valid, because only a new handshake beside the session failed. Otherwise the
        /// caller must discard the keys.
        still_established: bool,
    },
    /// A station reports a frame with an incorrect Michael MIC under its TKIP key (12.5.2.4.1). The caller is
    /// responsible for countermeasures.
    MichaelFailure {
        /// The station.
        peer: P,
    },
}

/// The reason why a handshake failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The peer has another key. An attacker who forges frames can turn [`Failure::NoAnswer`] into this, but not a
    /// success.
    #[error(
        "the peer has another passphrase or key (IEEE 802.11-2020 12.7.6.3: the MIC of message 2 is wrong)"
    )]
    WrongKey,
    /// No answer arrived in time.
    #[error("no answer in time (reason code 15: 4-way handshake timeout)")]
    NoAnswer,
    /// The peer did not acknowledge a new group key.
    #[error("no answer to the group key in time (reason code 16: group key handshake timeout)")]
    NoGroupAnswer,
    /// The elements in message 2 or 3 differ from the advertised ones: an attacker may have changed them to force a
    /// weaker cipher (12.7.6.3, 12.7.6.4).
    #[error(
        "the elements in the handshake differ from the advertised elements (reason code 17): a downgrade attempt"
    )]
    ElementsDiffer,
    /// The handshake had no answer yet and was dropped in favour of newer stations.
    #[error("dropped in favour of newer stations: too many unanswered handshakes")]
    Displaced,
    /// The caller reported that the peer is gone.
    #[error("the peer is gone")]
    PeerGone,
}

impl Failure {
    /// The reason code of the Deauthentication frame for the peer (Table 9-49).
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

/// The reason why a packet was discarded. A discarded packet changes only counters, and no key, timer, replay counter
/// or handshake state. A packet that ends a handshake is not discarded: it has a valid MIC, so its sender holds the
/// key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Discard {
    /// The packet is not an EAPOL-Key packet.
    #[error(transparent)]
    Malformed(#[from] FrameError),
    /// There is no handshake with this station.
    #[error("no handshake with this station is in progress")]
    UnknownPeer,
    /// The descriptor does not match the association.
    #[error("the key descriptor does not match the association (IEEE 802.11-2020 12.7.2)")]
    Descriptor,
    /// The message is unexpected in this state of the handshake.
    #[error("unexpected message in this state of the handshake (IEEE 802.11-2020 12.7.6)")]
    Unexpected,
    /// The replay counter has been used before.
    #[error("replayed: the key replay counter is not new (IEEE 802.11-2020 12.7.2)")]
    Replay,
    /// The MIC is wrong.
    #[error("wrong MIC (IEEE 802.11-2020 12.7.2)")]
    Mic,
    /// The packet arrived unencrypted although keys are installed.
    #[error("unencrypted although keys are installed (IEEE 802.11-2020 12.6.14)")]
    Unprotected,
    /// The key data lacks a required item, or an item is invalid.
    #[error("the key data is invalid for this message (IEEE 802.11-2020 12.7.6)")]
    KeyData,
}

/// Timeouts and numbers of transmissions. The defaults are hostapd's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Delay before the first retransmission of message 1 or 3.
    pub first: Duration,
    /// Delay before the first retransmission of a group message.
    pub first_group: Duration,
    /// Delay before each further retransmission.
    pub next: Duration,
    /// Number of transmissions of a message, including the first one.
    pub tries: u8,
    /// How long the supplicant waits for message 1, and then for message 3. Must exceed all tries of the
    /// authenticator.
    pub answer: Duration,
    /// How long the previous pairwise key is kept, and at a station the previous group key. Must exceed all tries of
    /// the authenticator, which sends under the previous pairwise key until message 4 arrives, and under the previous
    /// group key until every station has answered.
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
    /// The longest wait. A deadline further in the future was set before the clock jumped back.
    pub(crate) fn longest(&self) -> Duration {
        self.first
            .max(self.first_group)
            .max(self.next)
            .max(self.answer)
            .max(self.overlap)
    }

    /// Whether a deadline has been reached. Times are only compared, so a clock that jumps ahead fires each deadline
    /// once, and a clock that jumps back delays a deadline by at most the longest wait.
    pub(crate) fn is_due(&self, deadline: Duration, now: Duration) -> bool {
        deadline <= now || deadline > now.saturating_add(self.longest())
    }

    /// The time until which the caller should wait for a deadline.
    pub(crate) fn wait_until(&self, deadline: Duration, now: Duration) -> Duration {
        if self.is_due(deadline, now) { now } else { deadline }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 9-49.
    #[test]
    fn reasons_have_the_codes_of_the_standard() {
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
