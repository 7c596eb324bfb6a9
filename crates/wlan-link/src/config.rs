//! What an emulated link is to be like, as it is asked for by name.

use std::path::PathBuf;

use serde::Deserialize;
use wlan_air::analytic::{RoundTrip, Saturated, closed_loop_round_trip, saturated_single_station};
use wlan_air::phy::{GuardInterval, Mode, PhyError};
use wlan_air::{Access, Aggregation};
use wlan_ciphers::Suite;
use wlan_frames::LlcSnap;
use wlan_frames::fcs::FCS_LEN;
use wlan_frames::radiotap::Mcs;

/// The configuration of one emulated link.
#[derive(Debug, Deserialize)]
pub struct Config {
    /// The PHY rate.
    #[serde(flatten)]
    pub air: Air,
    /// Security level: `open`, `ccmp`.
    pub security: String,
    /// The pairwise temporal key in hexadecimal digits; none for `open`.
    pub temporal_key: Option<String>,
    /// MPDUs that each end queues.
    pub queue_limit_mpdus: usize,
    /// Seed of the backoff draws.
    pub seed: u64,
    /// Where to write a capture of the air.
    pub pcap: Option<PathBuf>,
}

/// The PHY rate, in the words of the study files.
#[derive(Debug, Deserialize)]
pub struct Air {
    /// `ofdm` or `ht`.
    pub phy: String,
    /// `54 Mbit/s` for ofdm, `mcs7` for ht.
    pub rate: String,
    /// Channel width in MHz.
    pub bandwidth: u16,
    /// Guard interval: `long` or `short`.
    pub gi: String,
}

/// A configuration that asks for something that there is not.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A name that nothing has.
    #[error("{key}: '{value}' is not one of {allowed}")]
    Unknown {
        /// What was to be chosen.
        key: &'static str,
        /// What was asked for.
        value: String,
        /// What there is.
        allowed: &'static str,
    },
    /// The PHY has no such rate.
    #[error(transparent)]
    Phy(#[from] PhyError),
    /// The temporal key does not fit the suite.
    #[error("temporal_key: {suite:?} needs {len_b} octets in hexadecimal digits")]
    TemporalKey {
        /// The cipher suite.
        suite: Suite,
        /// Octets of its key.
        len_b: usize,
    },
}

impl Config {
    /// The temporal key for `suite`.
    ///
    /// # Errors
    /// It is missing, not hexadecimal, or of another length.
    pub fn temporal_key(&self, suite: Suite) -> Result<[u8; 16], ConfigError> {
        let digits = self.temporal_key.as_deref().unwrap_or_default();
        let mut key = [0; 16];
        let ok = digits.len() == 2 * key.len()
            && key.iter_mut().enumerate().all(|(at, octet)| {
                digits
                    .get(2 * at..2 * at + 2)
                    .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                    .inspect(|value| *octet = *value)
                    .is_some()
            });
        ok.then_some(key).ok_or(ConfigError::TemporalKey {
            suite,
            len_b: key.len(),
        })
    }
}

impl Air {
    /// The MCS as radiotap says it; none for a PHY without.
    pub fn radiotap_mcs(&self) -> Option<Mcs> {
        Some(Mcs {
            forty_mhz: self.bandwidth == 40,
            short_gi: self.gi == "short",
            index: self.rate.strip_prefix("mcs")?.parse().ok()?,
        })
    }

    /// The PHY mode with what goes with it: its access rules and its aggregation.
    ///
    /// # Errors
    /// A name is unknown, or the PHY has no such rate.
    pub fn mode(&self) -> Result<(Mode, Access, Aggregation), ConfigError> {
        let unknown = |key, value: &str, allowed| ConfigError::Unknown {
            key,
            value: value.into(),
            allowed,
        };
        let rate = |allowed| unknown("rate", &self.rate, allowed);
        match self.phy.as_str() {
            "ofdm" => {
                let allowed = "6, 9, 12, 18, 24, 36, 48, 54 Mbit/s";
                let digits = self.rate.strip_suffix(" Mbit/s").ok_or_else(|| rate(allowed))?;
                let mode = Mode::ofdm(digits.parse().map_err(|_| rate(allowed))?)?;
                Ok((mode, Access::dcf(), Aggregation::None))
            }
            "ht" => {
                let allowed = "mcs0 to mcs31";
                let digits = self.rate.strip_prefix("mcs").ok_or_else(|| rate(allowed))?;
                let gi = match self.gi.as_str() {
                    "long" => GuardInterval::Long,
                    "short" => GuardInterval::Short,
                    other => return Err(unknown("gi", other, "long, short")),
                };
                let mode = Mode::ht(digits.parse().map_err(|_| rate(allowed))?, self.bandwidth, gi)?;
                Ok((mode, Access::edca_best_effort(), Aggregation::ht()))
            }
            other => Err(unknown("phy", other, "ofdm, ht")),
        }
    }
}

/// Closed forms for this air, of IP packets at a security level.
impl Air {
    /// One station with always an IP packet of `packet_b` octets to send.
    ///
    /// # Errors
    /// A name is unknown, or the PHY has no such rate.
    pub fn saturated(&self, security: &str, packet_b: usize) -> Result<Saturated, ConfigError> {
        let (mode, access, aggregation) = self.mode()?;
        let mpdu_b = mpdu_len_b(&mode, security, packet_b)?;
        Ok(saturated_single_station(&mode, &access, &aggregation, mpdu_b))
    }

    /// A ping-pong of IP packets of `packet_b` octets in both directions, each answered at once.
    ///
    /// # Errors
    /// A name is unknown, or the PHY has no such rate.
    pub fn round_trip(&self, security: &str, packet_b: usize) -> Result<RoundTrip, ConfigError> {
        let (mode, access, _) = self.mode()?;
        let mpdu_b = mpdu_len_b(&mode, security, packet_b)?;
        Ok(closed_loop_round_trip(&mode, &access, mpdu_b, mpdu_b))
    }
}

/// Octets on the air of the MPDU that carries an IP packet of `packet_b` octets, FCS included.
fn mpdu_len_b(mode: &Mode, security: &str, packet_b: usize) -> Result<usize, ConfigError> {
    let header_b = if mode.is_ht() { 26 } else { 24 };
    let security_b = suite(security)?.map_or(0, Suite::overhead);
    Ok(header_b + security_b + LlcSnap::LEN + packet_b + FCS_LEN)
}

/// The cipher suite of a security level; `None` for `open`.
///
/// # Errors
/// The level is unknown.
pub fn suite(security: &str) -> Result<Option<Suite>, ConfigError> {
    match security {
        "open" => Ok(None),
        "ccmp" => Ok(Some(Suite::Ccmp128)),
        other => Err(ConfigError::Unknown {
            key: "security",
            value: other.into(),
            allowed: "open, ccmp",
        }),
    }
}
