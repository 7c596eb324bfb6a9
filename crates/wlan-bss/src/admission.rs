//! How an access point with RSN or WPA admits stations: authentication by SAE, the choice of suites and of the PMK, and the
//! handshakes, for any way to carry frames.

use std::sync::Arc;
use std::time::Duration;

use rand_core::CryptoRng;
use wlan_frames::MacAddr;
use wlan_frames::management::status;
use wlan_rsn::{
    Akm, Association, Authenticator, Elements, Mismatch, Peer, Pmk, Timing, authenticator, owe, sae,
};

use crate::event::Failure;
use crate::network::Security;

/// A status code for the Association Response (Table 9-50), and the reason.
pub type Refusal = (u16, Failure);

/// Limits on the state that is kept for stations.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Limits of the handshakes. Those of OWE are the same.
    pub handshakes: authenticator::Limits,
    /// Limits of SAE.
    pub sae: sae::Limits,
}

/// The agreement of an access point and a station.
pub struct Agreed {
    /// The suites.
    pub association: Association,
    /// `None` if 802.1X provides it after the association.
    pub pmk: Option<Pmk>,
    /// OWE: the access point's public key, as an element of the Association Response; otherwise empty.
    pub of_owe: Vec<u8>,
}

/// The authentications and handshakes of all stations. `P` identifies a station to the caller.
pub struct Admission<P: Peer = MacAddr> {
    /// The elements that the access point advertises.
    own: Elements,
    psk: Option<Pmk>,
    /// The handshakes.
    pub handshakes: Authenticator<P>,
    /// The SAE exchanges; `None` without SAE.
    pub sae: Option<sae::Parent<P>>,
    /// The key exchanges of OWE.
    pub owe: owe::AccessPoint<P>,
}

impl<P: Peer> Admission<P> {
    /// The admission to the access point `own`.
    ///
    /// # Errors
    /// [`Mismatch`] if the policy is inconsistent.
    pub fn new(
        own: MacAddr,
        security: &Security,
        limits: Limits,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Mismatch> {
        let elements = security.elements();
        let handshakes =
            Authenticator::new(own, elements.clone(), Timing::default(), limits.handshakes, rng)?;
        let sae = security.password.as_ref().map(|password| {
            let mut token_key = [0; 32];
            rng.fill_bytes(&mut token_key);
            let (config, passwords) = (Arc::new(security.sae.clone()), vec![Arc::clone(password)]);
            sae::Parent::new(own, config, passwords, limits.sae, token_key)
        });
        Ok(Self {
            own: elements,
            psk: security.psk.clone(),
            handshakes,
            sae,
            owe: owe::AccessPoint::new(&security.sae.groups, limits.handshakes.half_open),
        })
    }

    /// Agrees with a station on the suites and the PMK, after an Association Request with the elements `octets`, whose
    /// security elements are `chosen`. `accepted` is the PMK of the station's SAE exchange.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn agree(
        &mut self,
        station: P,
        chosen: &Elements,
        octets: &[u8],
        accepted: Option<Pmk>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Agreed, Refusal> {
        let association = Association::negotiate(&self.own, chosen)
            .map_err(|mismatch| (mismatch.status_code(), mismatch.into()))?;
        let mut of_owe = Vec::new();
        let pmk = match association.akm {
            Akm::Owe => {
                let answer = self.owe.answer(station, octets, rng);
                let (element, pmk) = answer.map_err(|error| (error.status(), error.into()))?;
                of_owe = element;
                Some(pmk)
            }
            Akm::Sae => accepted,
            akm if akm.is_eap() => None,
            _ => self.psk.clone(),
        };
        if pmk.is_none() && !association.akm.is_eap() {
            return Err((status::UNSPECIFIED_FAILURE, Failure::NotAuthenticated));
        }
        Ok(Agreed {
            association,
            pmk,
            of_owe,
        })
    }

    /// Starts the 4-way handshake with a station that has sent these elements.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn start(
        &mut self,
        station: P,
        chosen: &Elements,
        pmk: &Pmk,
        now: Duration,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Refusal> {
        let started = self.handshakes.start(station, chosen, pmk, now, rng);
        started.map_err(|error| (error.status_code(), error.into()))
    }

    /// The time of the next timeout of an SAE exchange or a handshake.
    pub fn next_timeout(&self, now: Duration) -> Option<Duration> {
        let of_sae = self.sae.as_ref().and_then(sae::Parent::deadline);
        let of_handshakes = self.handshakes.next_timeout(now);
        of_sae.into_iter().chain(of_handshakes).min()
    }
}
