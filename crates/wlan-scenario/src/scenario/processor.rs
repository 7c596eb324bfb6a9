//! The cost of protecting a frame: the host's engine as measured, a card's processor as modelled.

use wlan_air::sim::Processor;

use super::{BadScenario, Scenario, span};
use crate::words::WordError;

impl Scenario {
    /// The processor that seals and opens the frames of each station.
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
            .ok_or_else(|| WordError::unknown("security", suite.name(), "the suites with a known cost"))?;
        let slower = match (self.crypto_at.as_str(), words.clock_mhz) {
            ("card", Some(clock_mhz)) if (1.0..=1e6).contains(&clock_mhz) => CARD_CLOCK_MHZ / clock_mhz,
            ("card", Some(clock_mhz)) => {
                return Err(BadScenario::Number {
                    key: "processor_clock",
                    value: clock_mhz.to_string(),
                    reason: "expected 1 to 10^6 MHz",
                });
            }
            _ => 1.0,
        };
        let octet_ns = words.byte_ns.unwrap_or(octet_ns * slower);
        if !(0.0..=1e9).contains(&octet_ns) {
            return Err(BadScenario::Number {
                key: "processor_byte",
                value: octet_ns.to_string(),
                reason: "expected 0 to 10^9 ns",
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

    /// The processor of the cards that seal and open frames; `None` if the hosts do so, or the link is open.
    pub fn card(&self) -> Result<Option<Processor>, BadScenario> {
        let processor = self.processor()?;
        Ok((self.crypto_at == "card" && processor != Processor::NONE).then_some(processor))
    }
}

/// The cost of sealing or opening a frame, by suite: ns per frame and ns per octet.
type Cost = (&'static str, u64, f64);

/// The engine of `wlan-ciphers` on one core, with batches of frames under one key: a line through the measurements of
/// `airtoll ciphers` at 128 and 1500 octets (docs/measurements/ciphers.md). The table makes a simulation give the same
/// result on every machine.
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

/// Clock of the card in the table, in MHz.
const CARD_CLOCK_MHZ: f64 = 400.0;

/// A wireless card whose own 32-bit processor runs the ciphers in software at 400 MHz. This is a model, not a
/// measurement, of the "low-performance processor" of Hayajneh et al., which gives no rates. Cycles per octet: RC4 12,
/// Michael 6, AES-128 45, AES-256 40 % more, GHASH with tables 60. In addition, 1200 cycles per RC4 key and 2000 cycles
/// per frame. Lanes have no effect on a single processor that handles one frame at a time. The word `processor` of a
/// scenario overrides these values.
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
