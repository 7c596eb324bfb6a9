//! Where frames are sealed and opened, and the octets and the time that this takes: the host's engine as measured, a
//! card's processor as modelled.

use serde::Deserialize;
use wlan_air::Nanos;
use wlan_air::sim::{FrameTime, Processor};
use wlan_ciphers::{Lanes, Suite, michael};
use wlan_frames::link;

use super::BadScenario;
use super::error::span;
use crate::words::{CryptoAt, ProcessorKind};

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sealing {
    crypto_at: CryptoAt,
    pub processor: Option<ProcessorWords>,
}

/// Overrides of the processor's times. Each frame is forwarded, with any security; the other times are of sealing and
/// opening.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct ProcessorWords {
    forward_us: Option<f64>,
    forward_byte_ns: Option<f64>,
    forward_latency_us: Option<f64>,
    pub frame_us: Option<f64>,
    pub byte_ns: Option<f64>,
    latency_ns: Option<f64>,
    clock_mhz: Option<f64>,
    kind: Option<ProcessorKind>,
}

/// Octets that a security level adds.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecurityOctets {
    /// To an MPDU. The octets of a link are part of the air's payload (`docs/reference/link-protocol.md`).
    pub of_mpdu: usize,
    /// The part of `of_mpdu` that belongs to the MSDU and is fragmented with it.
    pub of_msdu: usize,
}

impl Sealing {
    /// Whether `airtoll link` seals the frames on the hosts.
    pub fn is_by_link(&self, suite: Option<Suite>) -> bool {
        suite.is_some_and(|suite| suite.lanes().is_some()) && self.crypto_at == CryptoAt::Host
    }

    /// The octets that the suite adds.
    pub fn octets(&self, suite: Option<Suite>) -> SecurityOctets {
        let (of_mpdu, of_msdu) = match suite {
            None => (0, 0),
            Some(suite) if self.is_by_link(Some(suite)) => {
                let of_link = link::overhead_b(suite.mic_len());
                (of_link, of_link)
            }
            Some(Suite::Tkip) => (Suite::Tkip.overhead(), michael::MIC_LEN),
            Some(suite) => (suite.overhead(), 0),
        };
        SecurityOctets { of_mpdu, of_msdu }
    }

    /// The processor that forwards the frames of each station, and seals and opens them.
    pub fn processor(&self, suite: Option<Suite>) -> Result<Processor, BadScenario> {
        let words = self.processor.unwrap_or_default();
        let forward = FrameTime {
            frame: span(
                "forward_ipv4 or forward_ipv6",
                words.forward_us.unwrap_or(0.0),
                1e-6,
            )?,
            octet_ns: octet_ns("forward_byte", words.forward_byte_ns.unwrap_or(0.0))?,
        };
        let latency = FrameTime {
            frame: span("forward_latency", words.forward_latency_us.unwrap_or(0.0), 1e-6)?,
            octet_ns: 0.0,
        };
        let crypto = self.crypto(suite)?;
        Ok(Processor {
            interval: forward + crypto.interval,
            latency: latency + crypto.latency,
        })
    }

    /// The part of the processor's time that security causes.
    pub fn crypto(&self, suite: Option<Suite>) -> Result<Processor, BadScenario> {
        let Some(&(suite, host, card)) = COSTS.iter().find(|(of, ..)| Some(*of) == suite) else {
            return Ok(Processor::NONE);
        };
        let (frame_ns, byte_ns) = match self.crypto_at {
            CryptoAt::Host => host,
            CryptoAt::Card => card,
        };
        let words = self.processor.unwrap_or_default();
        let (frame_ns, byte_ns) = match (self.crypto_at, words.kind) {
            (CryptoAt::Card, Some(kind)) => of_kind(kind, suite, frame_ns, byte_ns),
            _ => (f64::from(frame_ns), byte_ns),
        };
        let slower = match (self.crypto_at, words.clock_mhz) {
            (CryptoAt::Card, Some(clock_mhz)) if (1.0..=1e6).contains(&clock_mhz) => {
                CARD_CLOCK_MHZ / clock_mhz
            }
            (CryptoAt::Card, Some(clock_mhz)) => {
                return Err(BadScenario::number(
                    "processor_clock",
                    clock_mhz,
                    "expected 1 to 10^6 MHz",
                ));
            }
            _ => 1.0,
        };
        Ok(Processor {
            interval: FrameTime {
                frame: match words.frame_us {
                    Some(frame_us) => span("processor_frame", frame_us, 1e-6)?,
                    None => span("processor_clock", frame_ns * slower, 1e-9)?,
                },
                octet_ns: octet_ns("processor_byte", words.byte_ns.unwrap_or(byte_ns * slower))?,
            },
            latency: FrameTime {
                frame: Nanos::ZERO,
                octet_ns: octet_ns("processor_latency", words.latency_ns.unwrap_or(0.0))?,
            },
        })
    }

    /// The processor of the cards; `None` if the hosts seal and open the frames, or the cards take no time.
    pub fn card(&self, suite: Option<Suite>) -> Result<Option<Processor>, BadScenario> {
        let processor = self.processor(suite)?;
        Ok((self.crypto_at == CryptoAt::Card && processor != Processor::NONE).then_some(processor))
    }
}

/// A time per octet.
fn octet_ns(key: &'static str, ns: f64) -> Result<f64, BadScenario> {
    if (0.0..=1e9).contains(&ns) {
        Ok(ns)
    } else {
        Err(BadScenario::number(key, ns, "expected 0 to 10^9 ns"))
    }
}

/// The cost of sealing or opening a frame: ns per frame and ns per octet.
type Cost = (u32, f64);

/// Clock of the card in [`COSTS`], in MHz.
const CARD_CLOCK_MHZ: f64 = 400.0;

/// CCMP with AES-128 on the card in [`COSTS`], in ns per octet.
const CARD_CCMP_NS: f64 = 225.0;

/// The cost by suite on a host and on a card. The table makes a simulation give the same result on every machine.
///
/// Host: the engine of `wlan-ciphers` on one core, with batches of frames under one key: a line through the measurements
/// of `airtoll ciphers` at 128 and 1500 octets (docs/measurements/ciphers.md).
///
/// Card: a wireless card whose own 32-bit processor runs the ciphers in software at 400 MHz. This is a model, not a
/// measurement, of the "low-performance processor" of Hayajneh et al., which gives no rates. Cycles per octet: RC4 12,
/// Michael 6, AES-128 45, AES-256 40 % more, GHASH with tables 60. In addition, 1200 cycles per RC4 key and 2000 cycles
/// per frame. TKIP's other 1600 cycles per frame are an allowance for its key mixing, which WEP does not have. Lanes have
/// no effect on a single processor that handles one frame at a time. The word `processor` of a scenario overrides these
/// values.
const COSTS: &[(Suite, Cost, Cost)] = &[
    (Suite::Wep40, (188, 0.675), (8_000, 30.0)),
    (Suite::Wep104, (190, 0.673), (8_000, 30.0)),
    (Suite::Tkip, (353, 0.763), (12_000, 45.0)),
    (Suite::Ccmp128, (20, 0.090), (5_000, CARD_CCMP_NS)),
    (Suite::Ccmp256, (23, 0.125), (5_000, 315.0)),
    (Suite::Gcmp128, (37, 0.104), (5_000, 262.0)),
    (Suite::Gcmp256, (32, 0.090), (5_000, 308.0)),
    (Suite::Enhanced(Lanes::One), (20, 0.090), (5_000, 225.0)),
    (Suite::Enhanced(Lanes::Two), (25, 0.098), (5_000, 225.0)),
    (Suite::Enhanced(Lanes::Four), (32, 0.086), (5_000, 225.0)),
    (Suite::Enhanced(Lanes::Eight), (35, 0.084), (5_000, 225.0)),
];

/// The cost of a suite on a measured kind of processor at [`CARD_CLOCK_MHZ`]. The measurements are of CCMP with AES-128.
/// They scale every suite with AES; the cycles of RC4 and Michael are those of the model.
fn of_kind(kind: ProcessorKind, suite: Suite, frame_ns: u32, byte_ns: f64) -> (f64, f64) {
    let (frame_cycles, ccmp_cycles) = match kind {
        ProcessorKind::Model => return (f64::from(frame_ns), byte_ns),
        // Linux 5.4 (mac80211, generic AES) on a Ralink RT2880 at 266 MHz, saturated to 95 %: TCP of 7.5 Mbit/s sealed and of
        // 10.2 Mbit/s opened, 270 and 198 cycles per octet. Without encryption the same board takes 5 to 7 (14 % of the CPU
        // for 41 to 56 Mbit/s). The value is the mean of the differences, 263 and 192. The cycles per frame are part of it.
        // https://github.com/openwrt/openwrt/issues/25041
        ProcessorKind::Mips24k => (0.0, 228.0),
        // OpenSSL's AES-128-CBC on a MediaTek MT7621 at 880 MHz: 35535 messages of 1024 octets in 3.01 s, 72.8 cycles per
        // octet. CCM takes two such passes. The cycles per frame are those of the model.
        // https://github.com/vschagen/mtk-eip93/issues/16
        ProcessorKind::Mips1004k => (2_000.0, 146.0),
        // Linux 5.10 (ccm_base with generic AES) on a MediaTek MT7622 at 1350 MHz: 169145 messages of 64 octets and 73909 of
        // 256 octets per second, a line of 4550 cycles and 53.6 cycles per octet.
        // https://github.com/openwrt/openwrt/pull/9756
        ProcessorKind::CortexA53 => (4_550.0, 53.6),
    };
    if suite.is_rc4() {
        return (f64::from(frame_ns), byte_ns);
    }
    let ns_per_cycle = 1e3 / CARD_CLOCK_MHZ;
    (
        frame_cycles * ns_per_cycle,
        ccmp_cycles * ns_per_cycle * byte_ns / CARD_CCMP_NS,
    )
}
