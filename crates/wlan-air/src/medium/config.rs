//! What a medium is like.

use crate::access::{Access, Aggregation, Framing};
use crate::channel::Channel;
use crate::phy::{Bss, Mode};
use crate::queue::{Discipline, Queue};
use crate::rate::RateControl;
use crate::{ConfigError, Nanos};

/// What a medium is like.
#[derive(Clone, Debug)]
pub struct MediumConfig {
    /// What all stations agree on: band, slot, basic rates.
    pub bss: Bss,
    /// The stations, the access point included; they are numbered from 0.
    pub stations: Vec<StationConfig>,
    /// Who hears whom.
    pub hearing: Hearing,
    /// What is lost without a collision; none: nothing.
    pub channel: Option<Channel>,
    /// The beacons of station 0; none: it sends none.
    pub beacons: Option<Beacons>,
    /// Whether a station that heard a collision waits EIFS, as 10.3.7 says, and one that took part waits
    /// `AckTimeout`. Models after Bianchi let every station go on after a plain interframe space: `false` is
    /// for checks against them.
    pub eifs: bool,
    /// Seed of every draw. Equal seeds and equal calls give equal events on every platform.
    pub seed: u64,
}

/// What one station is like.
#[derive(Clone, Debug)]
pub struct StationConfig {
    /// DCF, or the access categories that it uses, the lowest priority first.
    pub access: Vec<Access>,
    /// PHY rate of its data PPDUs.
    pub rate: RateControl,
    /// How MSDUs and MPDUs are joined.
    pub aggregation: Aggregation,
    /// What surrounds its MSDUs.
    pub framing: Framing,
    /// How MSDUs wait.
    pub discipline: Discipline,
    /// MSDUs that each access category holds, those on the air included: an MSDU leaves when it is acknowledged
    /// or given up.
    pub queue_limit: usize,
    /// An exchange whose PSDU is longer than so many octets starts with RTS and CTS (dot11RTSThreshold); none: no
    /// exchange does.
    pub rts_threshold_b: Option<usize>,
    /// An MSDU whose MPDU were longer than so many octets is sent in fragments (dot11FragmentationThreshold).
    pub fragmentation_threshold_b: Option<usize>,
    /// What keeps stations that cannot read its data PPDUs off the air (10.27).
    pub protection: Protection,
}

impl StationConfig {
    /// A station that sends in one mode: the access and the aggregation that are usual with it, a FIFO of 128
    /// MSDUs, nothing in front of its data PPDUs.
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

    /// Whether an exchange with a PSDU of `psdu_len_b` octets starts with RTS and CTS (10.3.1, 10.27).
    #[must_use]
    pub fn sends_rts(&self, psdu_len_b: usize) -> bool {
        self.protection == Protection::RtsCts
            || self.rts_threshold_b.is_some_and(|limit_b| psdu_len_b > limit_b)
    }
}

/// What a station sends before a data PPDU that not all stations can read (10.27.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protection {
    /// Nothing.
    #[default]
    None,
    /// A CTS to itself.
    CtsToSelf,
    /// An RTS, which the receiver answers with a CTS.
    RtsCts,
}

/// Who hears whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hearing {
    /// Every station hears every other.
    #[default]
    All,
    /// `matrix[a][b]`: whether station b hears station a. Square, of as many rows as there are stations; the
    /// diagonal says nothing.
    Matrix(Vec<Vec<bool>>),
}

/// Beacons (11.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacons {
    /// From one target beacon transmission time to the next.
    pub interval: Nanos,
    /// Octets of a beacon, MAC header and FCS included.
    pub len_b: usize,
}

impl Beacons {
    /// A time unit, 1024 us (3.1).
    pub const TU: Nanos = Nanos::from_us(1024);
}

impl MediumConfig {
    /// So many equal stations that all hear each other, and nothing lost but by collision.
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

    /// Says whether a medium can be like that.
    ///
    /// # Errors
    /// [`ConfigError`] where it contradicts itself or the standard.
    pub fn check(&self) -> Result<(), ConfigError> {
        let stations = self.stations.len();
        if stations == 0 {
            return Err(ConfigError::Stations);
        }
        for station in &self.stations {
            if station.access.is_empty() || station.access.len() > 4 {
                return Err(ConfigError::AccessCategories(station.access.len()));
            }
            for access in &station.access {
                access.check()?;
            }
            Queue::<()>::new(station.discipline, station.queue_limit)?;
            if station.rate.modes().is_empty() {
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
