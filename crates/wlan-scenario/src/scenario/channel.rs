//! The channel: SNR or path loss, fading and error model.

use serde::Deserialize;
use wlan_air::channel::{Channel, ChannelConfig, ErrorModel, Fading, PathLoss, PerPair, Snr, Tgn};
use wlan_air::phy::Band;

use super::BadScenario;
use super::error::span;
use crate::words::{FadingKind, PathLossModel, Word};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChannelWords {
    error_model: Word<ErrorModel>,
    snr_db: Option<OneOrMatrix>,
    path_loss: Option<PathLossWords>,
    pub fading: Option<FadingKind>,
    k_factor_db: Option<f64>,
    coherence_time_us: Option<f64>,
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

/// Path loss. The defaults are those of [`PathLoss::indoors`], or of [`PathLoss::tgn`] with such a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct PathLossWords {
    model: Option<PathLossModel>,
    distance_m: OneOrMatrix,
    exponent: Option<f64>,
    tx_power_dbm: Option<f64>,
    noise_figure_db: Option<f64>,
    reference_distance_m: Option<f64>,
    reference_loss_db: Option<f64>,
    shadowing_db: Option<f64>,
    // Fading, by the names of versions before 0.3.
    fading: Option<FadingKind>,
    k_factor_db: Option<f64>,
    coherence_ms: Option<f64>,
}

impl ChannelWords {
    /// The channel between `stations` stations; `None` without an SNR or a path loss.
    pub fn build(&self, band: Band, stations: usize, seed: u64) -> Result<Option<Channel>, BadScenario> {
        let Word(error_model) = self.error_model;
        let snr = match (&self.snr_db, &self.path_loss) {
            (Some(snr), None) => Snr::Db(snr.clone().into()),
            (None, Some(words)) => Snr::PathLoss(words.loss(band)),
            (Some(_), Some(_)) => return Err(BadScenario::together("snr and path_loss exclude each other")),
            (None, None) if error_model != ErrorModel::None => {
                return Err(BadScenario::together("error_model requires snr or path_loss"));
            }
            (None, None) if self.fading.is_some() => {
                return Err(BadScenario::together("fading requires snr or path_loss"));
            }
            (None, None) => return Ok(None),
        };
        let fading = self.fading()?;
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

impl ChannelWords {
    fn fading(&self) -> Result<Fading, BadScenario> {
        let (kind, k_factor_db, coherence_time) = match (self.fading, &self.path_loss) {
            (Some(_), Some(PathLossWords { fading: Some(_), .. })) => {
                return Err(BadScenario::together(
                    "fading and path_loss.fading exclude each other",
                ));
            }
            (None, Some(words)) if words.fading.is_some() => (
                words.fading,
                words.k_factor_db,
                span("path_loss.coherence_ms", words.coherence_ms.unwrap_or(50.0), 1e-3)?,
            ),
            (kind, _) => (
                kind,
                self.k_factor_db,
                span("coherence_time", self.coherence_time_us.unwrap_or(50_000.0), 1e-6)?,
            ),
        };
        Ok(match kind {
            None | Some(FadingKind::None) => Fading::None,
            Some(FadingKind::Rayleigh) => Fading::Rayleigh { coherence_time },
            Some(FadingKind::Rician) => Fading::Rician {
                k_factor_db: k_factor_db.unwrap_or(6.0),
                coherence_time,
            },
        })
    }
}

impl PathLossWords {
    fn loss(&self, band: Band) -> PathLoss {
        let distance_m: PerPair = self.distance_m.clone().into();
        let tgn = |model| PathLoss::tgn(model, band, distance_m.clone());
        let usual = match self.model {
            None | Some(PathLossModel::LogDistance) => PathLoss::indoors(band, distance_m),
            Some(PathLossModel::TgnA) => tgn(Tgn::A),
            Some(PathLossModel::TgnB) => tgn(Tgn::B),
            Some(PathLossModel::TgnC) => tgn(Tgn::C),
            Some(PathLossModel::TgnD) => tgn(Tgn::D),
            Some(PathLossModel::TgnE) => tgn(Tgn::E),
            Some(PathLossModel::TgnF) => tgn(Tgn::F),
        };
        PathLoss {
            tx_power_dbm: self.tx_power_dbm.unwrap_or(usual.tx_power_dbm),
            noise_figure_db: self.noise_figure_db.unwrap_or(usual.noise_figure_db),
            exponent: self.exponent.unwrap_or(usual.exponent),
            reference_distance_m: self.reference_distance_m.unwrap_or(usual.reference_distance_m),
            reference_loss_db: self.reference_loss_db.unwrap_or(usual.reference_loss_db),
            shadowing_db: self.shadowing_db.unwrap_or(usual.shadowing_db),
            ..usual
        }
    }
}
