//! The configuration of a medium.

use super::fragment::Fragmentation;
use crate::access::{Access, Aggregation, Framing};
use crate::channel::Channel;
use crate::phy::{Bss, CTS_LEN_B, Mode};
use crate::queue::{Discipline, Queue};
use crate::rate::RateControl;
use crate::{ConfigError, Nanos};

/// The configuration of a [`Medium`](crate::Medium).
#[derive(Clone, Debug)]
pub struct MediumConfig {
    /// Parameters that all stations share: band, slot, basic rates.
    pub bss: Bss,
    /// The stations, including the access point, numbered from 0.
    pub stations: Vec<StationConfig>,
    /// The stations that hear each other.
    pub hearing: Hearing,
    /// The channel, which causes losses without a collision; none for an ideal channel.
    pub channel: Option<Channel>,
    /// The beacons of station 0; none disables them.
    pub beacons: Option<Beacons>,
    /// Whether a station that heard a collision waits for EIFS, as in 10.3.7, and a station that took part in
    /// it waits for `AckTimeout`. In models after Bianchi, every station waits for an ordinary interframe
    /// space: use `false` to compare with them.
    pub eifs: bool,
    /// Seed of all random draws. Equal seeds and equal calls give equal events on every platform.
    pub seed: u64,
}

/// The configuration of one station.
#[derive(Clone, Debug)]
pub struct StationConfig {
    /// DCF, or the access categories in use, in ascending order of priority. [`Access::beacon`] may follow
    /// them.
    pub access: Vec<Access>,
    /// PHY rate of the station's data PPDUs.
    pub rate: RateControl,
    /// Limits of the aggregation of MSDUs and MPDUs.
    pub aggregation: Aggregation,
    /// Octets that each MPDU adds to its body.
    pub framing: Framing,
    /// Queue discipline.
    pub discipline: Discipline,
    /// MSDUs that each access category holds, including MSDUs on the air: an MSDU leaves the queue when it is
    /// acknowledged or dropped.
    pub queue_limit: usize,
    /// An exchange with a PSDU longer than this many octets starts with RTS and CTS (dot11RTSThreshold); none
    /// disables RTS. With [`RateControl::Driver`], it applies to exchanges for which the driver requests no
    /// protection.
    pub rts_threshold_b: Option<usize>,
    /// An MSDU whose MPDU would exceed this many octets is fragmented (dot11FragmentationThreshold).
    pub fragmentation_threshold_b: Option<usize>,
    /// Protection from stations that cannot decode the station's data PPDUs (10.27).
    pub protection: Protection,
}

impl StationConfig {
    /// A station that sends in one mode, with the default access and aggregation of the mode, a FIFO of 128
    /// MSDUs and no protection.
    #[must_use]
    pub fn new(mode: Mode, security_b: usize) -> StationConfig {
        StationConfig {
            access: vec![Access::for_mode(&mode)],
            rate: RateControl::Fixed(mode),
            aggregation: Aggregation::ampdu(&mode),
            framing: Framing::new(&mode, security_b),
            discipline: Discipline::Fifo,
            queue_limit: 128,
            rts_threshold_b: None,
            fragmentation_threshold_b: None,
            protection: Protection::None,
        }
    }

    /// Checks the settings of a station whose driver chooses its modes.
    fn check_driver(&self) -> Result<(), ConfigError> {
        let settings = [
            ("protection", self.protection != Protection::None),
            (
                "a fragmentation threshold",
                self.fragmentation_threshold_b.is_some(),
            ),
            ("A-MSDUs", self.aggregation.max_amsdu_len_b > 0),
        ];
        if let Some((setting, _)) = settings.into_iter().find(|(_, is_set)| *is_set) {
            return Err(ConfigError::ChosenByDriver(setting));
        }
        self.aggregation.check_count()
    }

    /// The longest protection of an exchange, whatever the length of its PSDU.
    pub(super) fn longest_protection(&self) -> Protection {
        if self.rts_threshold_b.is_some() {
            Protection::RtsCts
        } else {
            self.protection
        }
    }

    /// The protection of an exchange with a PSDU of `psdu_len_b` octets (10.3.1, 10.27).
    #[must_use]
    pub fn protection_of(&self, psdu_len_b: usize) -> Protection {
        if self.rts_threshold_b.is_some_and(|limit_b| psdu_len_b > limit_b) {
            Protection::RtsCts
        } else {
            self.protection
        }
    }

    /// The fragmentation of MSDUs to station `to`; `None` for group-addressed MSDUs. The station does not
    /// fragment group-addressed MSDUs and MSDUs under an HT-immediate block ack agreement (10.4).
    pub(super) fn fragmentation(&self, to: Option<usize>) -> Fragmentation<'_> {
        let is_fragmented = to.is_some() && self.aggregation.max_mpdus == 1;
        Fragmentation {
            framing: &self.framing,
            threshold_b: self.fragmentation_threshold_b.filter(|_| is_fragmented),
        }
    }
}

/// The frame that a station sends before a data PPDU that not all stations can decode (10.27.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protection {
    /// No frame.
    #[default]
    None,
    /// A CTS-to-self.
    CtsToSelf,
    /// An RTS, which the receiver answers with a CTS.
    RtsCts,
}

impl Protection {
    /// Time that the protection takes before a PPDU of this mode, until the start of the PPDU.
    #[must_use]
    pub fn duration(self, bss: &Bss, mode: &Mode) -> Nanos {
        let sifs = bss.sifs();
        match self {
            Protection::RtsCts => bss.rts_duration(mode) + sifs + bss.cts_duration(mode) + sifs,
            Protection::CtsToSelf => bss.cts_to_self_mode(mode).ppdu_duration(CTS_LEN_B) + sifs,
            Protection::None => Nanos::ZERO,
        }
    }
}

/// The stations that hear each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hearing {
    /// Every station hears every other station.
    #[default]
    All,
    /// `matrix[a][b]`: whether station b hears station a. One row and one column per station; the diagonal is
    /// ignored.
    Matrix(Vec<Vec<bool>>),
}

impl Hearing {
    /// The stations, of `count`, that hear station `from`.
    pub(super) fn heard_by(&self, from: usize, count: usize) -> Vec<usize> {
        let hears = |to: usize| match self {
            Hearing::All => true,
            Hearing::Matrix(rows) => rows[from][to],
        };
        (0..count).filter(|&to| to != from && hears(to)).collect()
    }
}

/// Beacons (11.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacons {
    /// Time between two target beacon transmission times.
    pub interval: Nanos,
    /// Length of a beacon in octets, including MAC header and FCS.
    pub len_b: usize,
}

impl Beacons {
    /// A time unit, 1024 us (3.1).
    pub const TU: Nanos = Nanos::from_us(1024);
}

impl MediumConfig {
    /// `stations` equal stations that all hear each other, without losses other than collisions.
    #[must_use]
    pub fn new(bss: Bss, station: &StationConfig, stations: usize, seed: u64) -> MediumConfig {
        MediumConfig {
            bss,
            stations: vec![station.clone(); stations],
            hearing: Hearing::All,
            channel: None,
            beacons: None,
            eifs: true,
            seed,
        }
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// [`ConfigError`] if the configuration is inconsistent or violates the standard.
    pub fn check(&self) -> Result<(), ConfigError> {
        let stations = self.stations.len();
        if stations == 0 {
            return Err(ConfigError::Stations);
        }
        for station in &self.stations {
            let categories = station.access.strip_suffix(&[Access::beacon()]);
            let categories = categories.unwrap_or(&station.access).len();
            if !(1..=4).contains(&categories) {
                return Err(ConfigError::AccessCategories(categories));
            }
            for access in &station.access {
                access.check()?;
            }
            Queue::<()>::new(station.discipline, station.queue_limit)?;
            if station.rate == RateControl::Driver {
                station.check_driver()?;
            } else if station.rate.modes().is_empty() {
                return Err(ConfigError::NoRate);
            }
            for mode in station.rate.modes() {
                if !self.bss.carries(mode) {
                    return Err(ConfigError::NotInBss(*mode));
                }
                if mode.max_ampdu_len_b().is_some() || matches!(station.rate, RateControl::Fixed(_)) {
                    station.aggregation.check(mode, &station.framing)?;
                }
            }
            if let Some(threshold_b) = station.fragmentation_threshold_b
                && (!(256..=11_500).contains(&threshold_b) || threshold_b % 2 == 1)
            {
                return Err(ConfigError::FragmentationThreshold(threshold_b));
            }
        }
        if let Hearing::Matrix(rows) = &self.hearing
            && (rows.len() != stations || rows.iter().any(|row| row.len() != stations))
        {
            return Err(ConfigError::HearingMatrix { stations });
        }
        if let Some(channel) = &self.channel
            && channel.stations() != stations
        {
            return Err(ConfigError::ChannelStations {
                channel: channel.stations(),
                stations,
            });
        }
        if let Some(beacons) = &self.beacons
            && beacons.interval == Nanos::ZERO
        {
            return Err(ConfigError::Beacons);
        }
        Ok(())
    }
}
