//! Reports of an end to its caller.

use wlan_ciphers::{IntegrityKeyId, KeyId, Suite};
use wlan_rsn::authenticator::StartError;
use wlan_rsn::owe::OweError;
use wlan_rsn::{Akm, Mismatch, WrongPmk, output, sae};

/// A change of an association or of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The ends are associated.
    Associated {
        /// The key management of the handshake that follows; `None` without RSN and WPA.
        akm: Option<Akm>,
        /// Whether management frames are protected.
        mfp: bool,
        /// Whether both ends send QoS Data frames.
        qos: bool,
    },
    /// A new pairwise key seals frames to the peer.
    Pairwise(Suite, KeyId),
    /// A new group key is in use.
    Group(Suite, KeyId),
    /// A new key for group addressed management frames, or for beacons, is in use.
    Integrity(Suite, IntegrityKeyId),
    /// Data may flow. Repeated after each new pairwise key.
    Established,
    /// The access point refused an association with this status code (Table 9-50).
    Refused(u16, Failure),
    /// The station left the access point with this reason code (Table 9-49).
    Left(u16),
    /// An attempt to join failed, or an association ended.
    Failed(Failure),
}

/// Why an attempt to join failed, or an association ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The access point does not answer a request.
    #[error("the access point does not answer")]
    NoAnswer,
    /// The access point refused the authentication with this status code.
    #[error("authentication refused with status code {0}")]
    AuthenticationRefused(u16),
    /// The access point refused the association with this status code.
    #[error("association refused with status code {0}")]
    AssociationRefused(u16),
    /// The access point answered a request with a Deauthentication frame with this reason code.
    #[error("the access point refused with reason code {0}")]
    Deauthenticated(u16),
    /// The access point ended the association with this reason code.
    #[error("the access point ended the association with reason code {0}")]
    Ended(u16),
    /// The caller let the station leave.
    #[error("the station left")]
    Left,
    /// There is no PMK: the station has not authenticated by SAE, or its end has no secret for the key management.
    #[error("the station has not authenticated")]
    NotAuthenticated,
    /// Every association identifier is in use.
    #[error("the access point has no association identifier left")]
    Full,
    /// The elements of the ends do not match.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// SAE could not start.
    #[error(transparent)]
    SaeStart(#[from] sae::StartError),
    /// SAE failed.
    #[error(transparent)]
    Sae(#[from] sae::Failure),
    /// OWE failed.
    #[error(transparent)]
    Owe(#[from] OweError),
    /// The key management does not support the PMK.
    #[error(transparent)]
    Pmk(#[from] WrongPmk),
    /// The access point could not start a handshake.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A handshake failed.
    #[error(transparent)]
    Handshake(#[from] output::Failure),
}
