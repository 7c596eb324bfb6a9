//! What protecting a frame costs: the host's engine as measured, a card's processor as modelled.

use wlan_air::sim::Processor;

use super::{BadScenario, Scenario, span};
use crate::words::WordError;

impl Scenario {
    /// What seals and opens the frames of each station.
    pub(super) fn processor(&self) -> Result<Processor, BadScenario> {
        let suite = self.suite()?;
        let table = match self.crypto_at.as_str() {
            "host" => HOST,
            "card" => CARD,
            other => return Err(WordError::unknown("crypto_at", other, "host, card").into()),
        };
        let Some(suite) = suite else {
            return Ok(Processor::NONE);
        };
        let words = self.processor.unwrap_or_default();
        let (_, frame_ns, octet_ns) = table
            .iter()
            .find(|(name, ..)| *name == suite.name())
            .ok_or_else(|| WordError::unknown("security", suite.name(), "those with a measured processor"))?;
        let slower = match (self.crypto_at.as_str(), words.clock_mhz) {
            ("card", Some(clock_mhz)) if (1.0..=1e6).contains(&clock_mhz) => CARD_CLOCK_MHZ / clock_mhz,
            ("card", Some(clock_mhz)) => {
                return Err(BadScenario::Number {
                    key: "processor_clock",
                    value: clock_mhz.to_string(),
                    reason: "from 1 to 10^6 MHz",
                });
            }
            _ => 1.0,
        };
        let octet_ns = words.byte_ns.unwrap_or(octet_ns * slower);
        if !(0.0..=1e9).contains(&octet_ns) {
            return Err(BadScenario::Number {
                key: "processor_byte",
                value: octet_ns.to_string(),
                reason: "from 0 to 10^9 ns",
            });
        }
        Ok(Processor {
            frame: match words.frame_us {
                Some(frame_us) => span("processor_frame", frame_us, 1e-6)?,
                #[allow(clippy::cast_precision_loss)] // some microseconds
                None => span("processor_clock", *frame_ns as f64 * slower, 1e-9)?,
            },
            octet_ns,
        })
    }

    /// The processor of the cards that seal and open frames; none where hosts do it, or nothing is to be done.
    pub fn card(&self) -> Result<Option<Processor>, BadScenario> {
        let processor = self.processor()?;
        Ok((self.crypto_at == "card" && processor != Processor::NONE).then_some(processor))
    }
}

/// What sealing or opening a frame costs, by suite: ns for each frame, ns for each octet.
type Cost = (&'static str, u64, f64);

/// The engine of `wlan-ciphers` on one core, batches of frames under one key: a line through what `airtoll ciphers`
/// measured at 128 and 1500 octets (docs/measurements/ciphers.md), so that a simulation is the same on every machine.
const HOST: &[Cost] = &[
    ("wep40", 188, 0.675),
    ("wep104", 190, 0.673),
    ("tkip", 353, 0.763),
    ("ccmp", 20, 0.090),
    ("ccmp256", 23, 0.125),
    ("gcmp", 37, 0.104),
    ("gcmp256", 32, 0.090),
    ("enhanced1", 20, 0.090),
    ("enhanced2", 25, 0.098),
    ("enhanced4", 32, 0.086),
    ("enhanced8", 35, 0.084),
];

/// Of the card in the table.
const CARD_CLOCK_MHZ: f64 = 400.0;

/// A wireless card whose own 32-bit processor, at 400 MHz, runs the ciphers as software: a model, not a measurement, of the
/// "low-performance processor" of Hayajneh et al., which gives no rates. Cycles: RC4 12 an octet and 1200 for its key,
/// Michael 6 an octet, AES-128 45 an octet and 256 40 % more, GHASH by tables 60; 2000 for each frame. Lanes change nothing
/// on one processor that takes one frame at a time. `processor` in a scenario takes their place.
const CARD: &[Cost] = &[
    ("wep40", 8_000, 30.0),
    ("wep104", 8_000, 30.0),
    ("tkip", 12_000, 45.0),
    ("ccmp", 5_000, 225.0),
    ("ccmp256", 5_000, 315.0),
    ("gcmp", 5_000, 262.0),
    ("gcmp256", 5_000, 308.0),
    ("enhanced1", 5_000, 225.0),
    ("enhanced2", 5_000, 225.0),
    ("enhanced4", 5_000, 225.0),
    ("enhanced8", 5_000, 225.0),
];
