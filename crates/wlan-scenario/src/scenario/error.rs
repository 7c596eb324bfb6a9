//! Why a scenario is invalid, and the conversion of numbers with a unit.

use wlan_air::Nanos;
use wlan_air::channel::ChannelError;
use wlan_air::sim::ScenarioError;

use crate::air::AirError;

/// An invalid, missing or unknown key.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", .key.as_deref().unwrap_or("scenario"))]
pub struct KeyError {
    /// The key in study files, and a parameter of its table. `None` if the error concerns the complete scenario.
    pub(super) key: Option<String>,
    pub(super) reason: String,
}

/// Why a scenario is invalid.
#[derive(Debug, thiserror::Error)]
pub enum BadScenario {
    /// The text is not the JSON of an object.
    #[error("scenario: {0}")]
    Json(#[from] serde_json::Error),
    /// A key is invalid, missing or unknown.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The standard does not allow the air.
    #[error(transparent)]
    Air(#[from] AirError),
    /// The scenario contradicts itself or the standard.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The channel is invalid.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A number is out of range.
    #[error("{key}: {value} is not allowed: {reason}")]
    Number {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// The reason.
        reason: &'static str,
    },
    /// Words that exclude each other, or that require another word.
    #[error("{0}")]
    Together(String),
}

impl BadScenario {
    pub(super) fn together(text: impl Into<String>) -> BadScenario {
        BadScenario::Together(text.into())
    }

    pub(super) fn number(key: &'static str, value: impl ToString, reason: &'static str) -> BadScenario {
        BadScenario::Number {
            key,
            value: value.to_string(),
            reason,
        }
    }
}

/// Converts `value` in units of `unit_s` seconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the range is checked
pub(super) fn span(key: &'static str, value: f64, unit_s: f64) -> Result<Nanos, BadScenario> {
    let ns = value * unit_s * 1e9;
    if !(0.0..=1e18).contains(&ns) {
        return Err(BadScenario::number(key, value, "expected 0 to 10^9 s"));
    }
    Ok(Nanos((ns + 0.5) as u64))
}

/// Converts Mbit/s to bit/s.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the range is checked
pub(super) fn rate_bps(key: &'static str, mbps: f64) -> Result<u64, BadScenario> {
    let bps = mbps * 1e6;
    if !(1.0..=1e15).contains(&bps) {
        return Err(BadScenario::number(key, mbps, "expected 1 bit/s to 10^9 Mbit/s"));
    }
    Ok((bps + 0.5) as u64)
}
