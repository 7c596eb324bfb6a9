//! The words of study files for the air and its security.

use serde::Deserialize;
use wlan_air::phy::{Band, Bss, GuardInterval, Mode, PhyError, Preamble};
use wlan_ciphers::Suite;

/// The PHY and its rate, in the words of study files.
#[derive(Clone, Debug, Deserialize)]
pub struct Air {
    /// `dsss`, `ofdm`, `erp`, `ht` or `vht`.
    pub phy: String,
    /// `54 Mbit/s` for dsss, ofdm and erp, `mcs7` for ht and vht.
    pub rate: String,
    /// Channel width in MHz.
    pub bandwidth: u16,
    /// Guard interval: `long` or `short`.
    pub gi: String,
    /// Spatial streams. An ht rate of `mcs8` or more implies their number.
    pub streams: Option<u8>,
    /// `2.4 GHz` or `5 GHz`, for ht.
    pub band: Option<String>,
    /// `long` or `short`, for dsss.
    pub preamble: Option<String>,
}

/// An unknown or impossible word.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WordError {
    /// The value is not one of the allowed words.
    #[error("{key}: '{value}' is not one of {allowed}")]
    Unknown {
        /// The key.
        key: &'static str,
        /// The given value.
        value: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// The scheme does not protect frames.
    #[error(
        "security: 'paper-lanes' is forgeable and only for study (docs/explanation/enhanced-ccmp.md); use enhanced"
    )]
    Forgeable,
    /// The PHY does not support this rate.
    #[error(transparent)]
    Phy(#[from] PhyError),
    /// The PHY does not support this value.
    #[error("{key} {value} with phy {phy} is impossible: {reason}")]
    NotOnPhy {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// The PHY.
        phy: String,
        /// The reason, with the clause.
        reason: &'static str,
    },
}

impl WordError {
    pub(crate) fn unknown(key: &'static str, value: &str, allowed: &'static str) -> WordError {
        WordError::Unknown {
            key,
            value: value.into(),
            allowed,
        }
    }
}

impl Air {
    /// The PHY mode.
    ///
    /// # Errors
    /// A word is unknown, or the PHY does not support the rate, width, streams, band or guard interval.
    pub fn mode(&self) -> Result<Mode, WordError> {
        let gi = match self.gi.as_str() {
            "long" => GuardInterval::Long,
            "short" => GuardInterval::Short,
            other => return Err(WordError::unknown("gi", other, "long, short")),
        };
        match self.phy.as_str() {
            "dsss" => {
                self.legacy(gi)?;
                let rate_kbps = self.mbps(&["1", "2", "5.5", "11"], "1, 2, 5.5, 11 Mbit/s")?;
                // The default is the long preamble, because 1 Mbit/s has no short preamble.
                let preamble = match self.preamble()? {
                    Some(preamble) => preamble,
                    None => Preamble::Long,
                };
                Ok(Mode::dsss(rate_kbps, preamble)?)
            }
            "ofdm" | "erp" => {
                self.legacy(gi)?;
                self.without_preamble()?;
                let rates = ["6", "9", "12", "18", "24", "36", "48", "54"];
                let rate_kbps = self.mbps(&rates, "6, 9, 12, 18, 24, 36, 48, 54 Mbit/s")?;
                let rate_mbps = u16::try_from(rate_kbps / 1000).unwrap_or(u16::MAX);
                Ok(if self.phy == "ofdm" {
                    Mode::ofdm(rate_mbps)?
                } else {
                    Mode::erp(rate_mbps)?
                })
            }
            "ht" => {
                self.without_preamble()?;
                let mcs = self.mcs("mcs0 to mcs31")?;
                let streams = self.streams.unwrap_or(mcs / 8 + 1);
                if !(1..=4).contains(&streams) {
                    return Err(self.not_on_phy("streams", streams, "802.11n has 1 to 4 (19.3.5)"));
                }
                let mcs = match mcs / 8 + 1 {
                    1 => mcs + 8 * (streams - 1),
                    given if given == streams => mcs,
                    _ => {
                        return Err(self.not_on_phy(
                            "streams",
                            streams,
                            "the MCS has another number of streams (19.5)",
                        ));
                    }
                };
                Ok(Mode::ht(mcs, self.bandwidth, gi, self.band()?)?)
            }
            "vht" => {
                self.without_preamble()?;
                if self.band()? != Band::Ghz5 {
                    return Err(self.not_on_phy(
                        "band",
                        "2.4 GHz",
                        "VHT operates below 6 GHz, except at 2.4 GHz (clause 21)",
                    ));
                }
                let mcs = self.mcs("mcs0 to mcs9")?;
                Ok(Mode::vht(mcs, self.streams.unwrap_or(1), self.bandwidth, gi)?)
            }
            other => Err(WordError::unknown("phy", other, "dsss, ofdm, erp, ht, vht")),
        }
    }

    /// The parameters that all stations of the BSS share.
    ///
    /// # Errors
    /// As [`Air::mode`].
    pub fn bss(&self) -> Result<Bss, WordError> {
        Ok(Bss::for_mode(&self.mode()?))
    }

    /// The modes that rate control may use, from the lowest up to this one: equal PHY, width, streams and guard
    /// interval.
    ///
    /// # Errors
    /// As [`Air::mode`].
    pub fn modes(&self) -> Result<Vec<Mode>, WordError> {
        let top = self.mode()?;
        let rates: Vec<String> = match self.phy.as_str() {
            "dsss" => ["1", "2", "5.5", "11"]
                .map(|mbps| format!("{mbps} Mbit/s"))
                .into(),
            "ofdm" | "erp" => [6, 9, 12, 18, 24, 36, 48, 54]
                .map(|mbps| format!("{mbps} Mbit/s"))
                .into(),
            "ht" => {
                let first = top.mcs().unwrap_or(0) / 8 * 8;
                (first..first + 8).map(|mcs| format!("mcs{mcs}")).collect()
            }
            _ => (0..10).map(|mcs| format!("mcs{mcs}")).collect(),
        };
        let lower = rates
            .into_iter()
            .filter_map(|rate| Air { rate, ..self.clone() }.mode().ok());
        Ok(lower.filter(|mode| mode.rate_kbps() <= top.rate_kbps()).collect())
    }

    /// The cipher suite of a security level; `None` for `open`.
    ///
    /// # Errors
    /// The level is unknown or only for study, or the standard does not allow it on this PHY.
    pub fn suite(&self, security: &str) -> Result<Option<Suite>, WordError> {
        match security {
            "open" => return Ok(None),
            "paper-lanes" => return Err(WordError::Forgeable),
            _ => {}
        }
        let suite = Suite::from_name(security).filter(|suite| !suite.is_bip());
        let suite = suite.ok_or_else(|| {
            WordError::unknown(
                "security",
                security,
                "open, wep40, wep104, tkip, ccmp, ccmp256, gcmp, gcmp256, enhanced1, enhanced2, enhanced4, enhanced8",
            )
        })?;
        let reason = match suite {
            // On real hardware, drivers silently turn HT and VHT off, so that the measurement would be of 802.11a.
            Suite::Tkip => {
                "HT stations must not use TKIP as the pairwise cipher between them (IEEE Std 802.11-2020, 12.6.3)"
            }
            Suite::Wep40 | Suite::Wep104 => {
                "an RSNA cannot use WEP as the pairwise cipher (IEEE Std 802.11-2020, 9.4.2.24.2), and WEP turns HT off"
            }
            _ => return Ok(Some(suite)),
        };
        match self.phy.as_str() {
            "ht" | "vht" => Err(self.not_on_phy("security", suite.name(), reason)),
            _ => Ok(Some(suite)),
        }
    }

    /// MSDUs in a queue that drains in 10 ms at the PHY rate with MSDUs of 1500 octets, but at least 128. A shorter
    /// queue keeps TCP from filling the aggregates of a fast PHY; a longer queue delays all packets on a slow PHY.
    ///
    /// # Errors
    /// As [`Air::mode`].
    pub fn usual_queue_limit(&self) -> Result<usize, WordError> {
        let drained = self.mode()?.rate_kbps() * 10 / (8 * 1500);
        Ok(usize::try_from(drained).unwrap_or(usize::MAX).max(LEAST_QUEUE))
    }

    fn band(&self) -> Result<Band, WordError> {
        match self.band.as_deref() {
            None | Some("5 GHz") => Ok(Band::Ghz5),
            Some("2.4 GHz") => Ok(Band::Ghz2_4),
            Some(other) => Err(WordError::unknown("band", other, "2.4 GHz, 5 GHz")),
        }
    }

    fn preamble(&self) -> Result<Option<Preamble>, WordError> {
        match self.preamble.as_deref() {
            None => Ok(None),
            Some("long") => Ok(Some(Preamble::Long)),
            Some("short") => Ok(Some(Preamble::Short)),
            Some(other) => Err(WordError::unknown("preamble", other, "long, short")),
        }
    }

    fn without_preamble(&self) -> Result<(), WordError> {
        match self.preamble()? {
            Some(Preamble::Short) => {
                Err(self.not_on_phy("preamble", "short", "only DSSS has a short preamble (16.2.2)"))
            }
            _ => Ok(()),
        }
    }

    /// Clauses 15 to 18 have one width, one stream and one guard interval, and each clause has one band.
    fn legacy(&self, gi: GuardInterval) -> Result<(), WordError> {
        let came = "802.11n introduced it (IEEE Std 802.11-2020, clause 19)";
        if self.bandwidth != 20 {
            return Err(self.not_on_phy("bandwidth", format_args!("{} MHz", self.bandwidth), came));
        }
        if gi == GuardInterval::Short {
            return Err(self.not_on_phy("gi", "short", came));
        }
        if self.streams.is_some_and(|streams| streams != 1) {
            return Err(self.not_on_phy("streams", self.streams.unwrap_or(0), came));
        }
        let own = if self.phy == "ofdm" {
            Band::Ghz5
        } else {
            Band::Ghz2_4
        };
        if self.band.is_some() && self.band()? != own {
            let band = self.band.clone().unwrap_or_default();
            return Err(self.not_on_phy(
                "band",
                band,
                "clauses 15, 16 and 18 are for 2.4 GHz, clause 17 for 5 GHz",
            ));
        }
        Ok(())
    }

    fn not_on_phy(
        &self,
        key: &'static str,
        value: impl std::fmt::Display,
        reason: &'static str,
    ) -> WordError {
        WordError::NotOnPhy {
            key,
            value: value.to_string(),
            phy: self.phy.clone(),
            reason,
        }
    }

    /// Parses the rate, which must be one of `rates` in Mbit/s. Returns kbit/s.
    fn mbps(&self, rates: &[&str], allowed: &'static str) -> Result<u32, WordError> {
        let unknown = || WordError::unknown("rate", &self.rate, allowed);
        let digits = self.rate.strip_suffix(" Mbit/s").ok_or_else(unknown)?;
        if !rates.contains(&digits) {
            return Err(unknown());
        }
        let tenths: u32 = match digits.split_once('.') {
            Some((whole, tenth)) => format!("{whole}{tenth}").parse().map_err(|_| unknown())?,
            None => digits.parse::<u32>().map_err(|_| unknown())? * 10,
        };
        Ok(tenths * 100)
    }

    fn mcs(&self, allowed: &'static str) -> Result<u8, WordError> {
        let digits = self.rate.strip_prefix("mcs");
        digits
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| WordError::unknown("rate", &self.rate, allowed))
    }
}

/// Shortest default queue: two of the longest A-MPDUs.
const LEAST_QUEUE: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn air(phy: &str, rate: &str) -> Air {
        Air {
            phy: phy.into(),
            rate: rate.into(),
            bandwidth: 20,
            gi: "long".into(),
            streams: None,
            band: None,
            preamble: None,
        }
    }

    #[test]
    fn rates_are_those_of_the_study_files() {
        for (phy, rate, kbps) in [
            ("dsss", "5.5 Mbit/s", 5_500),
            ("ofdm", "6 Mbit/s", 6_000),
            ("erp", "54 Mbit/s", 54_000),
            ("ht", "mcs15", 130_000),
            ("vht", "mcs8", 78_000),
        ] {
            assert_eq!(air(phy, rate).mode().unwrap().rate_kbps(), kbps, "{phy} {rate}");
        }
        let two_streams = Air {
            streams: Some(2),
            ..air("ht", "mcs7")
        };
        assert_eq!(two_streams.mode().unwrap().rate_kbps(), 130_000);
    }

    #[test]
    fn what_is_unknown_is_named_with_what_there_is() {
        for (air, words) in [
            (
                air("fhss", "1 Mbit/s"),
                "phy: 'fhss' is not one of dsss, ofdm, erp, ht, vht",
            ),
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
        let air = air("ofdm", "54 Mbit/s");
        assert!(
            air.suite("rot13")
                .unwrap_err()
                .to_string()
                .starts_with("security: 'rot13' is not one of open, ")
        );
    }

    #[test]
    fn what_the_standard_forbids_is_refused_with_its_clause() {
        let refused = |air: Air| air.mode().unwrap_err().to_string();
        let wide = Air {
            bandwidth: 40,
            ..air("dsss", "11 Mbit/s")
        };
        assert!(refused(wide).contains("clause 19"));
        let short = Air {
            preamble: Some("short".into()),
            ..air("dsss", "1 Mbit/s")
        };
        assert!(refused(short).contains("16"));
        assert!(refused(air("vht", "mcs9")).contains("21.5"));
        for phy in ["ht", "vht"] {
            for security in ["tkip", "wep40", "wep104"] {
                let error = air(phy, "mcs7").suite(security).unwrap_err().to_string();
                assert!(error.contains("IEEE Std 802.11-2020"), "{error}");
            }
        }
        assert_eq!(
            air("ht", "mcs7").suite("paper-lanes").unwrap_err().to_string(),
            "security: 'paper-lanes' is forgeable and only for study (docs/explanation/enhanced-ccmp.md); use enhanced"
        );
    }

    #[test]
    fn fallback_rates_end_with_the_rate_itself() {
        let kbps = |air: Air| -> Vec<u64> { air.modes().unwrap().iter().map(Mode::rate_kbps).collect() };
        assert_eq!(
            kbps(air("ofdm", "24 Mbit/s")),
            [6_000, 9_000, 12_000, 18_000, 24_000]
        );
        assert_eq!(kbps(air("ht", "mcs10")), [13_000, 26_000, 39_000]);
    }

    #[test]
    fn the_usual_queue_holds_two_aggregates_or_ten_milliseconds() {
        let limit = |phy, rate| air(phy, rate).usual_queue_limit().unwrap();
        assert_eq!(limit("ofdm", "6 Mbit/s"), 128);
        assert_eq!(limit("ht", "mcs31"), 216); // 260 Mbit/s
    }
}
