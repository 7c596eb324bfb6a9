//! The air in the words of study files: PHY, rate, channel width, guard interval, streams, band and preamble. The words
//! and the errors derive from the declarations of the PHYs ([`wlan_air::phy::Phy`]).

use serde::Deserialize;
use wlan_air::phy::{
    Band, Bss, DSSS, ErpSlot, GuardInterval, Mode, PHYS, Phy, PhyError, Preamble, Rate, Rates, Settings,
};
use wlan_ciphers::Suite;

use crate::words::{Word, Words, unknown, word_of};

/// Shortest default queue: two of the longest A-MPDUs.
const LEAST_QUEUE: usize = 128;

/// The PHY and its rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Air {
    pub phy: String,
    /// A non-HT rate such as `54 Mbit/s`, or an MCS such as `mcs7`.
    rate: String,
    /// Channel width in MHz.
    pub bandwidth: u16,
    gi: Word<GuardInterval>,
    /// Spatial streams. An ht rate of `mcs8` or more implies their number.
    pub streams: Option<u8>,
    /// The default is the PHY's first band.
    pub band: Option<Word<Band>>,
    /// Preamble of DSSS frames. The default is the long preamble, because 1 Mbit/s has no short preamble.
    preamble: Option<Word<Preamble>>,
    /// The slot in the 2.4 GHz band. The default is the short slot, unless 802.11b stations are associated.
    slot: Option<Word<ErpSlot>>,
    /// Whether an 802.11b station is associated if the band is 2.4 GHz.
    dot11b_stations: Option<bool>,
}

/// An air that the standard does not allow.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AirError {
    /// There is no PHY of this name.
    #[error("phy: {0}")]
    UnknownPhy(String),
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
        reason: String,
    },
    /// 802.11b stations do not support this value.
    #[error("{key} {value} with dot11b_stations is impossible: {reason}")]
    NotForDot11b {
        /// The key.
        key: &'static str,
        /// The value.
        value: &'static str,
        /// The reason, with the clause.
        reason: &'static str,
    },
}

impl AirError {
    fn not_on_phy(key: &'static str, value: impl ToString, phy: &Phy, reason: impl ToString) -> AirError {
        AirError::NotOnPhy {
            key,
            value: value.to_string(),
            phy: phy.word,
            reason: reason.to_string(),
        }
    }
}

/// The rates of a PHY in the words of study files, in ascending order.
#[must_use]
pub fn rate_words(phy: &Phy) -> Vec<String> {
    match phy.rates {
        Rates::NonHt(rates) => rates
            .iter()
            .map(|rate| rate_word(Rate::Kbps(rate.kbps)))
            .collect(),
        Rates::Mcs { last, .. } => (0..=last).map(|mcs| rate_word(Rate::Mcs(mcs))).collect(),
    }
}

/// A rate in the words of study files.
#[must_use]
pub fn rate_word(rate: Rate) -> String {
    match rate {
        Rate::Kbps(kbps) => format!("{} Mbit/s", mbps(kbps)),
        Rate::Mcs(mcs) => format!("mcs{mcs}"),
    }
}

/// A mode in the words of study files: PHY, rate, channel width in MHz, guard interval, streams.
pub type ModeWords = (&'static str, String, u16, &'static str, u8);

/// The modes of PHYs with MCSs whose data rate is `mbps`, rounded to one decimal as products do.
#[must_use]
pub fn modes_at(mbps: f64) -> Vec<ModeWords> {
    let mut modes = Vec::new();
    for &phy in PHYS {
        let Rates::Mcs { last, per_stream, .. } = phy.rates else {
            continue;
        };
        for &bandwidth_mhz in phy.bandwidths_mhz {
            for &gi in phy.guard_intervals {
                for mcs in 0..=last {
                    let streams =
                        per_stream.map_or(1..=phy.max_streams, |each| mcs / each + 1..=mcs / each + 1);
                    modes.extend(streams.filter_map(|streams| {
                        let settings = Settings {
                            rate: Rate::Mcs(mcs),
                            bandwidth_mhz,
                            gi,
                            streams: Some(streams),
                            band: phy.bands[0],
                            preamble: phy.preambles[0],
                        };
                        let mode = Mode::of(phy, &settings).ok()?;
                        let is_meant = (mode.rate_kbps() as f64 / 1e3 - mbps).abs() <= 0.05;
                        is_meant.then(|| {
                            (
                                phy.word,
                                rate_word(settings.rate),
                                bandwidth_mhz,
                                gi_word(gi),
                                streams,
                            )
                        })
                    }));
                }
            }
        }
    }
    modes
}

/// The word of a band.
#[must_use]
pub fn band_word(band: Band) -> &'static str {
    word_of(band)
}

/// The word of a guard interval.
#[must_use]
pub fn gi_word(gi: GuardInterval) -> &'static str {
    word_of(gi)
}

fn mbps(kbps: u32) -> f64 {
    f64::from(kbps) / 1e3
}

impl Air {
    /// The PHY mode. `phys` are the PHYs that the words may name.
    ///
    /// # Errors
    /// The PHY is unknown, or it does not support the rate, width, streams, band, preamble or guard interval.
    pub fn mode(&self, phys: &[&'static Phy]) -> Result<Mode, AirError> {
        let found = phys.iter().find(|phy| phy.word == self.phy);
        let phy = *found
            .ok_or_else(|| AirError::UnknownPhy(unknown(&self.phy, phys.iter().map(|phy| phy.word))))?;
        let settings = self.settings(phy)?;
        Ok(Mode::of(phy, &settings)?)
    }

    /// The BSS of stations that send in this mode.
    ///
    /// # Errors
    /// The stations do not support the slot.
    pub fn bss(&self, mode: &Mode) -> Result<Bss, AirError> {
        let bss = match self.preamble {
            Some(Word(preamble)) => Bss::for_mode(mode).with_preamble(preamble),
            None => Bss::for_mode(mode),
        };
        let Word(slot) = self.slot.unwrap_or(Word(ErpSlot::Short));
        if self.slot.is_some() && *mode.phy() == DSSS && slot == ErpSlot::Short {
            return Err(AirError::not_on_phy(
                "slot",
                word_of(slot),
                mode.phy(),
                "802.11b has only the slot of 20 us (IEEE Std 802.11-2020, Table 16-4)",
            ));
        }
        if self.dot11b_stations != Some(true) {
            return Ok(bss.with_slot(slot));
        }
        if self.slot.is_some() && slot == ErpSlot::Short {
            return Err(AirError::NotForDot11b {
                key: "slot",
                value: word_of(slot),
                reason: "802.11b has only the slot of 20 us (IEEE Std 802.11-2020, 9.4.1.4, Table 16-4)",
            });
        }
        Ok(bss.with_dot11b_stations())
    }

    /// The settings, which the PHY supports one by one.
    fn settings(&self, phy: &'static Phy) -> Result<Settings, AirError> {
        let rate = self.rate_on(phy)?;
        self.check_bandwidth_on(phy)?;
        self.check_streams_on(phy)?;
        let band = one_of(phy, "band", self.band, phy.bands)?;
        // With a newer PHY in the 2.4 GHz band, the preamble is that of its DSSS frames: beacons and protection.
        let of_bss = *phy != DSSS && phy.supports(&DSSS, band);
        Ok(Settings {
            rate,
            bandwidth_mhz: self.bandwidth,
            gi: one_of(phy, "gi", Some(self.gi), phy.guard_intervals)?,
            streams: self.streams,
            band,
            preamble: one_of(phy, "preamble", self.preamble.filter(|_| !of_bss), phy.preambles)?,
        })
    }

    fn rate_on(&self, phy: &Phy) -> Result<Rate, AirError> {
        let (rate, allowed) = match phy.rates {
            Rates::NonHt(rates) => {
                let given = rates.iter().map(|rate| Rate::Kbps(rate.kbps));
                let allowed: Vec<String> = rates.iter().map(|rate| mbps(rate.kbps).to_string()).collect();
                (
                    given.into_iter().find(|&rate| rate_word(rate) == self.rate),
                    format!("{} Mbit/s", allowed.join(", ")),
                )
            }
            // The PHY itself refuses an MCS that is too high, and names the clause.
            Rates::Mcs { last, .. } => {
                let index = self.rate.strip_prefix("mcs").and_then(|index| index.parse().ok());
                (index.map(Rate::Mcs), format!("mcs0 to mcs{last}"))
            }
        };
        rate.ok_or_else(|| AirError::Rate(unknown(&self.rate, [allowed.as_str()])))
    }

    fn check_bandwidth_on(&self, phy: &Phy) -> Result<(), AirError> {
        if phy.bandwidths_mhz.contains(&self.bandwidth) {
            return Ok(());
        }
        let value = format!("{} MHz", self.bandwidth);
        let widths = phy.bandwidths_mhz.iter().map(u16::to_string);
        Err(AirError::not_on_phy(
            "bandwidth",
            value,
            phy,
            has_only(phy, &format!("{} MHz", choice(widths))),
        ))
    }

    fn check_streams_on(&self, phy: &Phy) -> Result<(), AirError> {
        match self.streams {
            Some(streams) if !(1..=phy.max_streams).contains(&streams) => {
                let allowed = match phy.max_streams {
                    1 => "1 spatial stream".into(),
                    most => format!("1 to {most} spatial streams"),
                };
                Err(AirError::not_on_phy(
                    "streams",
                    streams,
                    phy,
                    has_only(phy, &allowed),
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The value of a key, which must be one of `allowed`. The default is the first.
fn one_of<T: Words>(
    phy: &Phy,
    key: &'static str,
    given: Option<Word<T>>,
    allowed: &[T],
) -> Result<T, AirError> {
    let value = given.map_or(allowed[0], |Word(value)| value);
    if allowed.contains(&value) {
        return Ok(value);
    }
    let words = allowed.iter().map(|&value| word_of(value).into());
    let reason = has_only(phy, &format!("{key} {}", choice(words)));
    Err(AirError::not_on_phy(key, word_of(value), phy, reason))
}

/// The reason of an error: the values that the PHY defines.
fn has_only(phy: &Phy, values: &str) -> String {
    format!(
        "{} has only {values} (IEEE Std 802.11-2020, {})",
        phy.amendment, phy.clauses
    )
}

fn choice(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(" or ")
}

/// The modes that rate control may use, from the lowest up to `top`: equal PHY, width, streams and guard interval.
pub(crate) fn modes_up_to(top: &Mode) -> Vec<Mode> {
    let rates: Vec<Rate> = match (top.phy().rates, top.mcs()) {
        (Rates::NonHt(rates), _) => rates.iter().map(|rate| Rate::Kbps(rate.kbps)).collect(),
        (Rates::Mcs { per_stream, .. }, mcs) => {
            let mcs = mcs.unwrap_or(0);
            let first = per_stream.map_or(0, |count| mcs / count * count);
            (first..=mcs).map(Rate::Mcs).collect()
        }
    };
    let possible = rates.into_iter().filter_map(|rate| {
        let settings = Settings {
            rate,
            ..top.settings()
        };
        Mode::of(top.phy(), &settings).ok()
    });
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
/// The PHY is HT or later and the suite is WEP or TKIP.
pub(crate) fn check_suite(suite: Suite, phy: &Phy) -> Result<(), AirError> {
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
    if phy.is_ht() {
        let reason =
            format!("{reason}; legacy_fallback lets stations fall back to legacy rates, as real stations do");
        return Err(AirError::not_on_phy("security", suite.name(), phy, reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use wlan_air::phy::{ERP, HT, PHYS, VHT};

    use super::*;

    fn air(phy: &str, rate: &str, more: &[(&str, Value)]) -> Air {
        let mut words = json!({"phy": phy, "rate": rate, "bandwidth": 20, "gi": "long"});
        for (word, value) in more {
            words[*word] = value.clone();
        }
        serde_json::from_value(words).unwrap()
    }

    fn mode(phy: &str, rate: &str) -> Mode {
        air(phy, rate, &[]).mode(PHYS).unwrap()
    }

    #[test]
    fn rates_have_the_words_of_study_files() {
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
        assert_eq!(two_streams.mode(PHYS).unwrap().rate_kbps(), 130_000);
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
            assert_eq!(air(phy, rate, &[]).mode(PHYS).unwrap_err().to_string(), words);
        }
    }

    #[test]
    fn settings_that_the_standard_forbids_are_refused_with_the_clause() {
        let refused = |phy, rate, more: &[_]| air(phy, rate, more).mode(PHYS).unwrap_err().to_string();
        for (phy, rate, more, words) in [
            (
                "dsss",
                "11 Mbit/s",
                vec![("bandwidth", 40.into())],
                "bandwidth 40 MHz with phy dsss is impossible: 802.11b has only 20 MHz (IEEE Std 802.11-2020, clauses 15, 16)",
            ),
            (
                "erp",
                "54 Mbit/s",
                vec![("band", "5 GHz".into())],
                "band 5 GHz with phy erp is impossible: 802.11g has only band 2.4 GHz (IEEE Std 802.11-2020, clause 18)",
            ),
            (
                "ofdm",
                "54 Mbit/s",
                vec![("preamble", "short".into())],
                "preamble short with phy ofdm is impossible: 802.11a has only preamble long (IEEE Std 802.11-2020, clause 17)",
            ),
            (
                "ht",
                "mcs15",
                vec![("streams", 1.into())],
                "802.11n has no MCS 15 with 1 spatial stream (19.5); allowed: MCS 0 to 7, or the streams that the MCS implies",
            ),
            (
                "vht",
                "mcs7",
                vec![("band", "2.4 GHz".into())],
                "band 2.4 GHz with phy vht is impossible: 802.11ac has only band 5 GHz (IEEE Std 802.11-2020, clause 21)",
            ),
        ] {
            assert_eq!(refused(phy, rate, &more), words);
        }
        assert!(refused("dsss", "1 Mbit/s", &[("preamble", "short".into())]).contains("16"));
        assert!(refused("vht", "mcs9", &[]).contains("21.5"));
        for phy in [&HT, &VHT] {
            for suite in [Suite::Tkip, Suite::Wep40, Suite::Wep104] {
                let error = check_suite(suite, phy).unwrap_err().to_string();
                assert!(error.contains("IEEE Std 802.11-2020"), "{error}");
            }
        }
        assert_eq!(check_suite(Suite::Tkip, &ERP), Ok(()));
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
        assert_eq!(kbps(&short.mode(PHYS).unwrap()), [2_000, 5_500]);
    }

    #[test]
    fn the_usual_queue_holds_two_aggregates_or_ten_milliseconds() {
        assert_eq!(usual_queue_limit(&mode("ofdm", "6 Mbit/s")), 128);
        assert_eq!(usual_queue_limit(&mode("ht", "mcs31")), 216); // 260 Mbit/s
    }
}
