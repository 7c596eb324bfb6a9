//! The settings of every station: access, rate control, aggregation and queue.

use serde::Deserialize;
use wlan_air::phy::{Bss, Mode};
use wlan_air::queue::{Discipline, FqCodelConfig};
use wlan_air::{Access, Category, Protection, RateControl, StationConfig};

use super::BadScenario;
use super::error::span;
use super::sealing::SecurityOctets;
use crate::air::{AirError, modes_up_to, usual_queue_limit};
use crate::words::{Queue, RateChoice, Word, word_of};

/// Octets of the header of a QoS data frame, and its FCS (9.2.4.1.3).
const QOS_MAC_B: usize = 30;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Station {
    access_category: Option<Word<Category>>,
    txop_limit_us: Option<f64>,
    retry_limit: Option<u8>,
    rate_control: Option<RateChoice>,
    pub ampdu: Option<bool>,
    pub amsdu_bytes: Option<usize>,
    rts_threshold: Option<usize>,
    fragmentation_threshold: Option<usize>,
    protection: Option<Word<Protection>>,
    queue: Option<Queue>,
    queue_limit: Option<usize>,
}

impl Station {
    /// The configuration of a station of this BSS that sends in this mode.
    pub fn config(
        &self,
        mode: Mode,
        bss: &Bss,
        security: SecurityOctets,
    ) -> Result<StationConfig, BadScenario> {
        let mut station = StationConfig::new(mode, security.of_mpdu);
        station.framing.security_of_msdu_b = security.of_msdu;
        station.queue_limit = self.queue_limit.unwrap_or_else(|| usual_queue_limit(&mode));
        station.discipline = match self.queue {
            None | Some(Queue::Fifo) => Discipline::Fifo,
            Some(Queue::FqCodel) => Discipline::FqCodel(FqCodelConfig::mac80211()),
        };
        if let Some(Word(category)) = self.access_category {
            station.access = vec![Access::edca(category)];
            // A station with access categories sends QoS data frames.
            station.framing.mac_b = QOS_MAC_B;
        }
        for access in &mut station.access {
            if let Some(limit_us) = self.txop_limit_us {
                access.txop_limit = span("txop_limit", limit_us, 1e-6)?;
            }
            if let Some(limit) = self.retry_limit {
                access.retry_limit = limit;
            }
        }
        if self.ampdu == Some(false) {
            station.aggregation.max_mpdus = 1;
        } else if self.ampdu == Some(true) && station.aggregation.max_mpdus == 1 {
            station.aggregation.max_mpdus = 64; // rejected by the medium, with the clause
        }
        station.aggregation.max_amsdu_len_b = self.amsdu_bytes.unwrap_or(0);
        station.rate = match self.rate_control {
            None | Some(RateChoice::Fixed) => RateControl::Fixed(mode),
            Some(RateChoice::Minstrel) => RateControl::Minstrel(modes_up_to(&mode)),
        };
        station.rts_threshold_b = self.rts_threshold;
        station.fragmentation_threshold_b = self.fragmentation_threshold;
        station.protection = match self.protection {
            Some(Word(Protection::None)) if bss.has_dot11b_stations() => {
                return Err(AirError::NotForDot11b {
                    key: "protection",
                    value: word_of(Protection::None),
                    reason: "802.11b stations do not decode OFDM (IEEE Std 802.11-2020, 10.27.2)",
                }
                .into());
            }
            Some(Word(protection)) => protection,
            None if bss.has_dot11b_stations() => Protection::CtsToSelf,
            None => Protection::None,
        };
        Ok(station)
    }

    /// The TID of data frames in this mode; `None` for frames without a QoS Control field.
    pub fn tid(&self, mode: &Mode) -> Option<u8> {
        match self.access_category {
            Some(Word(Category::Bk)) => Some(1),
            Some(Word(Category::Be)) => Some(0),
            Some(Word(Category::Vi)) => Some(5),
            Some(Word(Category::Vo)) => Some(6),
            None => mode.max_ampdu_len_b().map(|_| 0),
        }
    }
}
