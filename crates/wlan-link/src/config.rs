//! What an emulated link is to be like, as it is asked for by name.

use std::path::PathBuf;

use serde::Deserialize;
use wlan_air::analytic::{RoundTrip, Saturated, idle_round_trip, saturated_single_station};
use wlan_air::phy::{GuardInterval, Mode, PhyError};
use wlan_air::{Access, Aggregation, Nanos};
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
    /// A scheme that protects nothing.
    #[error("security: 'paper-lanes' is forgeable and only for study (docs/enhanced-ccmp.md); take enhanced")]
    Forgeable,
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

    /// An IP packet of `packet_b` octets on the idle air, and its answer of the same length, which the other
    /// host gives at once.
    ///
    /// # Errors
    /// A name is unknown, or the PHY has no such rate.
    pub fn idle_round_trip(&self, security: &str, packet_b: usize) -> Result<RoundTrip, ConfigError> {
        let (mode, access, _) = self.mode()?;
        let mpdu_b = mpdu_len_b(&mode, security, packet_b)?;
        Ok(idle_round_trip(&mode, &access, mpdu_b, mpdu_b, Nanos::ZERO))
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
/// The level is unknown, or never for a link.
pub fn suite(security: &str) -> Result<Option<Suite>, ConfigError> {
    match security {
        "open" => Ok(None),
        "ccmp" => Ok(Some(Suite::Ccmp128)),
        "paper-lanes" => Err(ConfigError::Forgeable),
        other => Err(ConfigError::Unknown {
            key: "security",
            value: other.into(),
            allowed: "open, ccmp",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn air(phy: &str, rate: &str) -> Air {
        Air {
            phy: phy.into(),
            rate: rate.into(),
            bandwidth: 20,
            gi: "long".into(),
        }
    }

    fn config(security: &str, temporal_key: Option<&str>) -> Config {
        Config {
            air: air("ofdm", "54 Mbit/s"),
            security: security.into(),
            temporal_key: temporal_key.map(Into::into),
            queue_limit_mpdus: 1,
            seed: 0,
            pcap: None,
        }
    }

    #[test]
    fn rates_are_those_of_the_study_files() {
        for (phy, rate, kbps) in [
            ("ofdm", "6 Mbit/s", 6_000),
            ("ofdm", "54 Mbit/s", 54_000),
            ("ht", "mcs15", 130_000),
        ] {
            assert_eq!(air(phy, rate).mode().unwrap().0.rate_kbps(), kbps, "{phy} {rate}");
        }
    }

    #[test]
    fn what_is_unknown_is_named_with_what_there_is() {
        for (air, words) in [
            (air("dsss", "11 Mbit/s"), "phy: 'dsss' is not one of ofdm, ht"),
            (
                air("ofdm", "mcs7"),
                "rate: 'mcs7' is not one of 6, 9, 12, 18, 24, 36, 48, 54 Mbit/s",
            ),
            (
                air("ht", "54 Mbit/s"),
                "rate: '54 Mbit/s' is not one of mcs0 to mcs31",
            ),
        ] {
            assert_eq!(air.mode().unwrap_err().to_string(), words);
        }
        assert!(
            air("ofdm", "11 Mbit/s")
                .mode()
                .unwrap_err()
                .to_string()
                .contains("54")
        );
        assert_eq!(
            suite("rot13").unwrap_err().to_string(),
            "security: 'rot13' is not one of open, ccmp"
        );
    }

    #[test]
    fn a_forgeable_scheme_is_refused_with_the_reason_and_what_to_take() {
        assert_eq!(
            suite("paper-lanes").unwrap_err().to_string(),
            "security: 'paper-lanes' is forgeable and only for study (docs/enhanced-ccmp.md); take enhanced"
        );
    }

    #[test]
    fn a_temporal_key_is_as_long_as_its_suite_wants_it() {
        let key = "000102030405060708090a0b0c0d0e0f";
        let octets: Vec<u8> = config("ccmp", Some(key))
            .temporal_key(Suite::Ccmp128)
            .unwrap()
            .to_vec();
        assert_eq!(octets, (0..16).collect::<Vec<u8>>());
        for wrong in [
            None,
            Some(""),
            Some(&key[2..]),
            Some("zz0102030405060708090a0b0c0d0e0f"),
            Some("é01020304050607080900b0c0d0e0f"),
        ] {
            let error = config("ccmp", wrong).temporal_key(Suite::Ccmp128).unwrap_err();
            assert!(error.to_string().contains("16 octets"), "{error}");
        }
    }

    #[test]
    fn sealing_costs_what_its_octets_cost_on_the_air() {
        // 54 Mbit/s, 1500 octets: 57 symbols open, 58 with CCMP's 16 octets (Table 17-4: 216 bits a symbol).
        let air = air("ofdm", "54 Mbit/s");
        let cycle = |security| air.saturated(security, 1500).unwrap().cycle_us();
        assert!((cycle("open") - (34.0 + 67.5 + 20.0 + 57.0 * 4.0 + 16.0 + 28.0)).abs() < 1e-9);
        assert!((cycle("ccmp") - cycle("open") - 4.0).abs() < 1e-9);
    }
}
