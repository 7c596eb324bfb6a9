//! The channel: SNR or path loss, fading and error model.

use serde::Deserialize;
use wlan_air::channel::{Channel, ChannelConfig, ErrorModel, Fading, PathLoss, PerPair, Snr};
use wlan_air::phy::Band;

use super::BadScenario;
use super::error::span;
use crate::words::{FadingKind, Word};

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ChannelWords {
    error_model: Word<ErrorModel>,
    snr_db: Option<OneOrMatrix>,
    path_loss: Option<PathLossWords>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number or a matrix of numbers")]
enum OneOrMatrix {
    One(f64),
    Matrix(Vec<Vec<f64>>),
}

impl From<OneOrMatrix> for PerPair {
    fn from(of: OneOrMatrix) -> PerPair {
        match of {
            OneOrMatrix::One(value) => PerPair::Same(value),
            OneOrMatrix::Matrix(rows) => PerPair::Matrix(rows),
        }
    }
}

/// Path loss and fading. The defaults are those of [`PathLoss::indoors`].
#[derive(Clone, Debug, Deserialize)]
struct PathLossWords {
    distance_m: OneOrMatrix,
    exponent: Option<f64>,
    tx_power_dbm: Option<f64>,
    noise_figure_db: Option<f64>,
    reference_distance_m: Option<f64>,
    reference_loss_db: Option<f64>,
    shadowing_db: Option<f64>,
    fading: Option<FadingKind>,
    k_factor_db: Option<f64>,
    coherence_ms: Option<f64>,
}

impl ChannelWords {
    /// The channel between `stations` stations; `None` if noise causes no errors.
    pub fn build(&self, band: Band, stations: usize, seed: u64) -> Result<Option<Channel>, BadScenario> {
        let Word(error_model) = self.error_model;
        if error_model == ErrorModel::None {
            return Ok(None);
        }
        let (snr, fading) = match (&self.snr_db, &self.path_loss) {
            (Some(snr), None) => (Snr::Db(snr.clone().into()), Fading::None),
            (None, Some(words)) => (Snr::PathLoss(words.loss(band)), words.fading()?),
            (Some(_), Some(_)) => return Err(BadScenario::Together("snr and path_loss exclude each other")),
            (None, None) => {
                return Err(BadScenario::Together("error_model requires snr or path_loss"));
            }
        };
        let config = ChannelConfig {
            stations,
            snr,
            fading,
            error_model,
            seed,
        };
        Ok(Some(Channel::new(&config)?))
    }
}

impl PathLossWords {
    fn loss(&self, band: Band) -> PathLoss {
        let usual = PathLoss::indoors(band, self.distance_m.clone().into());
        PathLoss {
            tx_power_dbm: self.tx_power_dbm.unwrap_or(usual.tx_power_dbm),
            noise_figure_db: self.noise_figure_db.unwrap_or(usual.noise_figure_db),
            exponent: self.exponent.unwrap_or(usual.exponent),
            reference_distance_m: self.reference_distance_m.unwrap_or(usual.reference_distance_m),
            reference_loss_db: self.reference_loss_db.unwrap_or(usual.reference_loss_db),
            shadowing_db: self.shadowing_db.unwrap_or(usual.shadowing_db),
            distance_m: usual.distance_m,
        }
    }

    fn fading(&self) -> Result<Fading, BadScenario> {
        let coherence_time = span("path_loss.coherence_ms", self.coherence_ms.unwrap_or(50.0), 1e-3)?;
        Ok(match self.fading {
            None | Some(FadingKind::None) => Fading::None,
            Some(FadingKind::Rayleigh) => Fading::Rayleigh { coherence_time },
            Some(FadingKind::Rician) => Fading::Rician {
                k_factor_db: self.k_factor_db.unwrap_or(6.0),
                coherence_time,
            },
        })
    }
}
