//! The air in the words of study files: PHY, rate, channel width, guard interval, streams, band and preamble.

use serde::Deserialize;
use wlan_air::phy::{Band, Class, GuardInterval, Mode, PhyError, Preamble};
use wlan_ciphers::Suite;

use crate::words::{Word, unknown, word_of};

/// Rates of clauses 15 and 16 in kbit/s.
const DSSS_KBPS: [u32; 4] = [1_000, 2_000, 5_500, 11_000];
/// Rates of clauses 17 and 18 in Mbit/s.
const OFDM_MBPS: [u16; 8] = [6, 9, 12, 18, 24, 36, 48, 54];
/// Shortest default queue: two of the longest A-MPDUs.
const LEAST_QUEUE: usize = 128;

/// The PHY and its rate.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Air {
    phy: Word<Class>,
    /// `54 Mbit/s` for dsss, ofdm and erp, `mcs7` for ht and vht.
    rate: String,
    /// Channel width in MHz.
    bandwidth: u16,
    gi: Word<GuardInterval>,
    /// Spatial streams. An ht rate of `mcs8` or more implies their number.
    streams: Option<u8>,
    /// The default is 5 GHz for ht.
    band: Option<Word<Band>>,
    /// The default is the long preamble, because 1 Mbit/s has no short preamble.
    preamble: Option<Word<Preamble>>,
}

/// An air that the standard does not allow.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AirError {
    /// The PHY has other rates.
    #[error("rate: {0}")]
    Rate(String),
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
        phy: &'static str,
        /// The reason, with the clause.
        reason: &'static str,
    },
}

impl AirError {
    fn not_on_phy(key: &'static str, value: impl ToString, phy: Class, reason: &'static str) -> AirError {
        AirError::NotOnPhy {
            key,
            value: value.to_string(),
            phy: word_of(phy),
            reason,
        }
    }
}

impl Air {
    /// The PHY mode.
    ///
    /// # Errors
    /// The PHY does not support the rate, width, streams, band, preamble or guard interval.
    pub fn mode(&self) -> Result<Mode, AirError> {
        match self.phy.0 {
            Class::Dsss => {
                self.check_legacy()?;
                let rate_kbps = self.one_of(&DSSS_KBPS.map(|kbps| (f64::from(kbps) / 1e3, kbps)))?;
                Ok(Mode::dsss(rate_kbps, self.preamble())?)
            }
            class @ (Class::Ofdm | Class::Erp) => {
                self.check_legacy()?;
                self.check_preamble()?;
                let rate_mbps = self.one_of(&OFDM_MBPS.map(|mbps| (mbps.into(), mbps)))?;
                Ok(match class {
                    Class::Ofdm => Mode::ofdm(rate_mbps)?,
                    _ => Mode::erp(rate_mbps)?,
                })
            }
            Class::Ht => {
                self.check_preamble()?;
                Ok(Mode::ht(self.ht_mcs()?, self.bandwidth, self.gi.0, self.band())?)
            }
            Class::Vht => {
                self.check_preamble()?;
                if self.band() != Band::Ghz5 {
                    let reason = "VHT operates below 6 GHz, except at 2.4 GHz (clause 21)";
                    return Err(self.refused("band", word_of(self.band()), reason));
                }
                let mcs = self.mcs("mcs0 to mcs9")?;
                Ok(Mode::vht(
                    mcs,
                    self.streams.unwrap_or(1),
                    self.bandwidth,
                    self.gi.0,
                )?)
            }
        }
    }

    fn band(&self) -> Band {
        self.band.map_or(Band::Ghz5, |Word(band)| band)
    }

    fn preamble(&self) -> Preamble {
        self.preamble.map_or(Preamble::Long, |Word(preamble)| preamble)
    }

    fn check_preamble(&self) -> Result<(), AirError> {
        match self.preamble() {
            Preamble::Long => Ok(()),
            Preamble::Short => {
                Err(self.refused("preamble", "short", "only DSSS has a short preamble (16.2.2)"))
            }
        }
    }

    /// Clauses 15 to 18 have one width, one stream and one guard interval, and each clause has one band.
    fn check_legacy(&self) -> Result<(), AirError> {
        let came = "802.11n introduced it (IEEE Std 802.11-2020, clause 19)";
        if self.bandwidth != 20 {
            return Err(self.refused("bandwidth", format_args!("{} MHz", self.bandwidth), came));
        }
        if self.gi.0 == GuardInterval::Short {
            return Err(self.refused("gi", "short", came));
        }
        if let Some(streams) = self.streams.filter(|&streams| streams != 1) {
            return Err(self.refused("streams", streams, came));
        }
        let own = match self.phy.0 {
            Class::Ofdm => Band::Ghz5,
            _ => Band::Ghz2_4,
        };
        match self.band {
            Some(Word(band)) if band != own => Err(self.refused(
                "band",
                word_of(band),
                "clauses 15, 16 and 18 are for 2.4 GHz, clause 17 for 5 GHz",
            )),
            _ => Ok(()),
        }
    }

    fn refused(&self, key: &'static str, value: impl ToString, reason: &'static str) -> AirError {
        AirError::not_on_phy(key, value, self.phy.0, reason)
    }

    /// The value of the rate, which must be one of `rates`: Mbit/s and value.
    fn one_of<T: Copy>(&self, rates: &[(f64, T)]) -> Result<T, AirError> {
        let given = rates
            .iter()
            .find(|(mbps, _)| self.rate == format!("{mbps} Mbit/s"));
        given.map(|(_, rate)| *rate).ok_or_else(|| {
            let allowed: Vec<String> = rates.iter().map(|(mbps, _)| mbps.to_string()).collect();
            self.no_rate(&format!("{} Mbit/s", allowed.join(", ")))
        })
    }

    fn mcs(&self, allowed: &'static str) -> Result<u8, AirError> {
        let digits = self.rate.strip_prefix("mcs");
        digits
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| self.no_rate(allowed))
    }

    fn no_rate(&self, allowed: &str) -> AirError {
        AirError::Rate(unknown(&self.rate, [allowed]))
    }

    /// The MCS with its number of streams: `mcs7` on two streams is MCS 15.
    fn ht_mcs(&self) -> Result<u8, AirError> {
        let mcs = self.mcs("mcs0 to mcs31")?;
        let of_mcs = mcs / 8 + 1;
        let streams = self.streams.unwrap_or(of_mcs);
        if !(1..=4).contains(&streams) {
            return Err(self.refused("streams", streams, "802.11n has 1 to 4 (19.3.5)"));
        }
        match of_mcs {
            1 => Ok(mcs + 8 * (streams - 1)),
            _ if of_mcs == streams => Ok(mcs),
            _ => {
                let reason = "the MCS has another number of streams (19.5)";
                Err(self.refused("streams", streams, reason))
            }
        }
    }
}

/// The modes that rate control may use, from the lowest up to `top`: equal PHY, width, streams and guard interval.
pub(crate) fn modes_up_to(top: &Mode) -> Vec<Mode> {
    let (mcs, bandwidth) = (top.mcs().unwrap_or(0), top.bandwidth_mhz());
    let gi = top.guard_interval().unwrap_or(GuardInterval::Long);
    let modes: Vec<Result<Mode, PhyError>> = match top.class() {
        Class::Dsss => {
            let preamble = top.dsss_preamble().unwrap_or(Preamble::Long);
            DSSS_KBPS.map(|kbps| Mode::dsss(kbps, preamble)).into()
        }
        Class::Ofdm => OFDM_MBPS.map(Mode::ofdm).into(),
        Class::Erp => OFDM_MBPS.map(Mode::erp).into(),
        Class::Ht => (mcs / 8 * 8..=mcs)
            .map(|mcs| Mode::ht(mcs, bandwidth, gi, top.band()))
            .collect(),
        Class::Vht => (0..=mcs)
            .map(|mcs| Mode::vht(mcs, top.streams(), bandwidth, gi))
            .collect(),
    };
    let possible = modes.into_iter().flatten();
    possible
        .filter(|mode| mode.rate_kbps() <= top.rate_kbps())
        .collect()
}

/// MSDUs in a queue that drains in 10 ms at the PHY rate with MSDUs of 1500 octets, but at least 128. A shorter queue
/// keeps TCP from filling the aggregates of a fast PHY; a longer queue delays all packets on a slow PHY.
pub(crate) fn usual_queue_limit(mode: &Mode) -> usize {
    let drained = mode.rate_kbps() * 10 / (8 * 1500);
    usize::try_from(drained).unwrap_or(usize::MAX).max(LEAST_QUEUE)
}

/// Checks that the standard allows a suite on a PHY.
///
/// # Errors
/// The PHY is HT or VHT and the suite is WEP or TKIP.
pub(crate) fn check_suite(suite: Suite, phy: Class) -> Result<(), AirError> {
    let reason = match suite {
        // On real hardware, drivers silently turn HT and VHT off, so that the measurement would be of 802.11a.
        Suite::Tkip => {
            "HT stations must not use TKIP as the pairwise cipher between them (IEEE Std 802.11-2020, 12.6.3)"
        }
        Suite::Wep40 | Suite::Wep104 => {
            "an RSNA cannot use WEP as the pairwise cipher (IEEE Std 802.11-2020, 9.4.2.24.2), and WEP turns HT off"
        }
        _ => return Ok(()),
    };
    match phy {
        Class::Ht | Class::Vht => Err(AirError::not_on_phy("security", suite.name(), phy, reason)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn air(phy: &str, rate: &str, more: &[(&str, Value)]) -> Air {
        let mut words = json!({"phy": phy, "rate": rate, "bandwidth": 20, "gi": "long"});
        for (word, value) in more {
            words[*word] = value.clone();
        }
        serde_json::from_value(words).unwrap()
    }

    fn mode(phy: &str, rate: &str) -> Mode {
        air(phy, rate, &[]).mode().unwrap()
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
            assert_eq!(mode(phy, rate).rate_kbps(), kbps, "{phy} {rate}");
        }
        let two_streams = air("ht", "mcs7", &[("streams", 2.into())]);
        assert_eq!(two_streams.mode().unwrap().rate_kbps(), 130_000);
    }

    #[test]
    fn an_unknown_rate_is_named_with_the_rates_of_its_phy() {
        for (phy, rate, words) in [
            (
                "dsss",
                "54 Mbit/s",
                "rate: '54 Mbit/s' is not one of 1, 2, 5.5, 11 Mbit/s",
            ),
            (
                "ofdm",
                "mcs7",
                "rate: 'mcs7' is not one of 6, 9, 12, 18, 24, 36, 48, 54 Mbit/s",
            ),
            ("ht", "54 Mbit/s", "rate: '54 Mbit/s' is not one of mcs0 to mcs31"),
            ("vht", "fast", "rate: 'fast' is not one of mcs0 to mcs9"),
        ] {
            assert_eq!(air(phy, rate, &[]).mode().unwrap_err().to_string(), words);
        }
    }

    #[test]
    fn what_the_standard_forbids_is_refused_with_its_clause() {
        let refused = |phy, rate, more: &[_]| air(phy, rate, more).mode().unwrap_err().to_string();
        for (phy, rate, more, words) in [
            (
                "dsss",
                "11 Mbit/s",
                vec![("bandwidth", 40.into())],
                "bandwidth 40 MHz with phy dsss is impossible: 802.11n introduced it (IEEE Std 802.11-2020, clause 19)",
            ),
            (
                "erp",
                "54 Mbit/s",
                vec![("band", "5 GHz".into())],
                "band 5 GHz with phy erp is impossible: clauses 15, 16 and 18 are for 2.4 GHz, clause 17 for 5 GHz",
            ),
            (
                "ofdm",
                "54 Mbit/s",
                vec![("preamble", "short".into())],
                "preamble short with phy ofdm is impossible: only DSSS has a short preamble (16.2.2)",
            ),
            (
                "ht",
                "mcs15",
                vec![("streams", 1.into())],
                "streams 1 with phy ht is impossible: the MCS has another number of streams (19.5)",
            ),
            (
                "vht",
                "mcs7",
                vec![("band", "2.4 GHz".into())],
                "band 2.4 GHz with phy vht is impossible: VHT operates below 6 GHz, except at 2.4 GHz (clause 21)",
            ),
        ] {
            assert_eq!(refused(phy, rate, &more), words);
        }
        assert!(refused("dsss", "1 Mbit/s", &[("preamble", "short".into())]).contains("16"));
        assert!(refused("vht", "mcs9", &[]).contains("21.5"));
        for phy in [Class::Ht, Class::Vht] {
            for suite in [Suite::Tkip, Suite::Wep40, Suite::Wep104] {
                let error = check_suite(suite, phy).unwrap_err().to_string();
                assert!(error.contains("IEEE Std 802.11-2020"), "{error}");
            }
        }
        assert_eq!(check_suite(Suite::Tkip, Class::Erp), Ok(()));
    }

    #[test]
    fn fallback_rates_end_with_the_rate_itself() {
        let kbps = |top: &Mode| -> Vec<u64> { modes_up_to(top).iter().map(Mode::rate_kbps).collect() };
        assert_eq!(
            kbps(&mode("ofdm", "24 Mbit/s")),
            [6_000, 9_000, 12_000, 18_000, 24_000]
        );
        assert_eq!(kbps(&mode("ht", "mcs10")), [13_000, 26_000, 39_000]);
        let short = air("dsss", "5.5 Mbit/s", &[("preamble", "short".into())]);
        assert_eq!(kbps(&short.mode().unwrap()), [2_000, 5_500]);
    }

    #[test]
    fn the_usual_queue_holds_two_aggregates_or_ten_milliseconds() {
        assert_eq!(usual_queue_limit(&mode("ofdm", "6 Mbit/s")), 128);
        assert_eq!(usual_queue_limit(&mode("ht", "mcs31")), 216); // 260 Mbit/s
    }
}
