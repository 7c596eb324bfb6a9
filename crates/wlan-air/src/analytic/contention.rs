//! Several saturated stations: Bianchi's fixed point.
//!
//! Time is cut into slots of the model: an idle slot, a success or a collision. A station transmits in each with
//! the same probability `tau`, whatever happened before; that independence is the approximation. With the
//! conditional collision probability p of a transmission,
//!
//! ```text
//! p   = 1 - (1 - tau)^(n - 1)
//! tau = transmissions an MPDU / slots of the model an MPDU
//!     = sum p^i / sum p^i * (mean slots of stage i),   i = 0 .. retry limit - 1
//! ```
//!
//! whose one solution gives the odds of what a slot is, and with their lengths all else. Sources: G. Bianchi,
//! "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE JSAC 18 (2000); the retry
//! limit after H. Wu et al., INFOCOM 2002; the delay after P. Chatzimisios et al., GLOBECOM 2003; who may
//! transmit right after a busy period after I. Tinnirello, G. Bianchi, Y. Xiao, "Refinements on IEEE 802.11
//! distributed coordination function modeling approaches", IEEE TVT 59 (2010).

use super::{Timing, full_psdu};
use crate::phy::{Bss, Mode};
use crate::{Access, Aggregation, Countdown, Nanos};

/// How far a model follows the countdown of the standard in the slots after a busy period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContentionModel {
    /// Bianchi (2000): a busy period is a slot like any other. That is how EDCA counts down
    /// ([`Countdown::PerBoundary`]); for DCF it is 3 % off with 50 stations.
    Bianchi,
    /// As the figures of ns-3's wifi-bianchi.cc: Bianchi's fixed point, but the station that succeeded goes on
    /// at once with probability 1 / (CWmin + 1), in a slot that all others leave idle. With
    /// [`Contention::eifs`], all wait SIFS and the answer at its own rate after a collision.
    Ns3,
    /// By [`Access::countdown`]. With DCF no counter that was frozen ends with the first slot after a busy
    /// period, so only those that transmitted and drew anew may use it; with [`Contention::eifs`] they have the
    /// further slots by which `AckTimeout` ends before EIFS. Exact for one station; within a hundredth of the
    /// medium from 2 to 50.
    Countdown,
}

/// What a station sends for a data PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exchange {
    /// The data PPDU: a collision lasts as long as that.
    Basic,
    /// RTS first, after CTS the data PPDU: only RTS frames collide (10.3.2.4).
    RtsCts,
}

/// Saturated stations in contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contention {
    /// Stations that always have a frame to send, 1 or more.
    pub stations: usize,
    /// What they send.
    pub exchange: Exchange,
    /// How it is modelled.
    pub model: ContentionModel,
    /// Whether stations leave EIFS free after a collision, or go on after DIFS
    /// ([`MediumConfig::eifs`](crate::MediumConfig::eifs)).
    pub eifs: bool,
}

/// What saturated stations reach together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contended {
    /// MPDUs in a data PPDU: above 1 with aggregation.
    pub mpdus_per_ppdu: usize,
    /// MPDUs delivered a second, all stations; 0 where two or more have no backoff, not even after a collision.
    pub mpdus_per_s: f64,
    /// Probability that a station transmits in a slot of the model, `tau`.
    pub transmit_probability: f64,
    /// Probability that a transmission collides, those right after a busy period included.
    pub collision_probability: f64,
    /// Probability that an MPDU is given up at the retry limit.
    pub drop_probability: f64,
    /// Mean time that a delivered MPDU stands at the head of its queue, to the end of the interframe space
    /// after its answer, us; infinite where none is delivered.
    pub access_delay_us: f64,
    /// Share of the time that collisions take, with the interframe spaces after them.
    pub collision_share: f64,
}

impl Contended {
    /// Goodput of all stations in Mbit/s when each MPDU carries `payload_len_b` octets of what is counted.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // MPDUs are shorter than 2^53 octets
    pub fn goodput_mbps(&self, payload_len_b: usize) -> f64 {
        self.mpdus_per_s * payload_len_b as f64 * 8.0 / 1e6
    }
}

/// `contention.stations` saturated stations that send MPDUs of `mpdu_len_b` octets (header, security fields and
/// FCS included), all hearing each other, at one rate, without loss but by collision.
///
/// [`Access::retry_limit`] is the number of transmissions of an MPDU; its greatest value, 255, is no limit in
/// practice. [`Contention::eifs`] says whether stations go on after DIFS or after EIFS when PPDUs collided.
/// `access` and `aggregation` are taken as they are: what [`crate::Medium::new`] refuses gives no sensible
/// result.
#[must_use]
#[allow(clippy::cast_precision_loss)] // stations and MPDUs are few
pub fn saturated_stations(
    bss: &Bss,
    mode: &Mode,
    access: &Access,
    aggregation: &Aggregation,
    mpdu_len_b: usize,
    contention: &Contention,
) -> Contended {
    let (mpdus, psdu_b) = full_psdu(aggregation, mode, mpdu_len_b);
    let timing = Timing::new(bss, mode, access);
    let spans = Spans::new(&timing, access, contention, mpdus, mode.ppdu_duration(psdu_b));
    let chain = |tau: f64| Chain::new(power(1.0 - tau, contention.stations - 1), access, &spans);
    let tau = fixed_point(|tau| chain(tau).transmit_probability());
    let chain = chain(tau);
    let n = contention.stations as f64;

    // What a slot of the model is, and how often those that collided go on in the slots that only they may use:
    // one of them, or two or more. Sums over the binomial number of those that transmit.
    let idle = power(1.0 - tau, contention.stations);
    let success = n * tau * power(1.0 - tau, contention.stations - 1);
    let collision = (1.0 - idle - success).max(0.0);
    let head = chain.head_start;
    let nobody = power(1.0 - tau * head, contention.stations) - idle - success * (1.0 - head);
    let one = n * tau * head * power(1.0 - tau * head, contention.stations - 1) - success * head;
    // Clamped, for what rounding leaves of differences that are zero must not make a share negative.
    let nobody = nobody.clamp(0.0, collision);
    let one = one.clamp(0.0, collision - nobody);
    let more = collision - nobody - one;
    let again = more * chain.same_slot;
    let one = one + (more - again);

    // The station that succeeded goes on at once, and again.
    let run = 1.0 / (1.0 - spans.again_probability(access));
    let success_us = run * spans.success_us + spans.slot_us * f64::from(spans.reserved_slots);
    let head_us = spans.collided_us + spans.slot_us * (f64::from(spans.collided_slots) - 1.0) / 2.0;
    let heard_us = spans.heard_us + spans.slot_us * f64::from(spans.frozen_slots);
    let collisions_us = nobody * heard_us + one * head_us + again * (head_us + heard_us);
    let slot_us = idle * spans.slot_us + (success + one) * success_us + collisions_us;

    let delivered = (success + one) * run;
    let collided = n * tau - success + 2.0 * again;
    let packets = 1.0 + (1.0 - chain.drop) * (run - 1.0);
    let drop = chain.drop / packets;
    Contended {
        mpdus_per_ppdu: mpdus,
        mpdus_per_s: delivered * mpdus as f64 * 1e6 / slot_us,
        transmit_probability: tau,
        collision_probability: collided / (delivered + collided),
        drop_probability: drop,
        // A chain that ends in a success delivers a run. Without backoff a run has no end, and its exchanges are all
        // there is.
        access_delay_us: if delivered > 0.0 {
            (chain.slots_of_success * slot_us / run).max(spans.success_us)
        } else {
            f64::INFINITY
        },
        collision_share: collisions_us / slot_us,
    }
}

/// Lengths of the slots of the model, and who may use those after a busy period.
struct Spans {
    slot_us: f64,
    success_us: f64,
    /// Collision, to when those that heard it count down again.
    heard_us: f64,
    /// Collision, to when those that took part may transmit again.
    collided_us: f64,
    /// Slots after a success in which only the station that succeeded may transmit.
    reserved_slots: u16,
    /// Slots after a collision in which none of those that heard it may transmit.
    frozen_slots: u16,
    /// Slots after a collision in which only those that took part may transmit.
    collided_slots: u16,
    /// Whether stages count the slots that only some may use apart.
    stages_apart: bool,
}

impl Spans {
    fn new(timing: &Timing, access: &Access, contention: &Contention, mpdus: usize, ppdu: Nanos) -> Spans {
        let answer = timing.sifs + timing.answer(mpdus);
        let (first, rest, first_answer) = match contention.exchange {
            Exchange::Basic => (ppdu, answer, answer),
            Exchange::RtsCts => {
                let cts = timing.sifs + timing.cts;
                (timing.rts, cts + timing.sifs + ppdu + answer, cts)
            }
        };
        let after = |span: Nanos| if contention.eifs { span } else { Nanos::ZERO };
        let (heard, collided) = match contention.model {
            ContentionModel::Countdown => (after(timing.eifs_less_difs), after(timing.answer_timeout)),
            _ => (after(first_answer), after(first_answer)),
        };
        let frozen = match (contention.model, access.countdown) {
            (ContentionModel::Countdown, Countdown::PerIdleSlot) => 1,
            _ => 0,
        };
        let ahead = (heard + timing.slot * frozen).saturating_sub(collided);
        Spans {
            slot_us: timing.slot.as_us_f64(),
            success_us: (first + rest + timing.ifs).as_us_f64(),
            heard_us: (first + timing.ifs + heard).as_us_f64(),
            collided_us: (first + timing.ifs + collided).as_us_f64(),
            reserved_slots: u16::from(frozen == 1 || contention.model == ContentionModel::Ns3),
            frozen_slots: u16::from(frozen == 1),
            collided_slots: u16::try_from(ahead.0.div_ceil(timing.slot.0)).unwrap_or(u16::MAX),
            stages_apart: contention.model == ContentionModel::Countdown,
        }
    }

    /// Probability that the station that succeeded draws a slot that only it may use. Never quite 1, where no
    /// other would ever transmit.
    fn again_probability(&self, access: &Access) -> f64 {
        (f64::from(self.reserved_slots) / (f64::from(access.cw_min) + 1.0)).min(1.0 - 1e-9)
    }
}

/// The life of one MPDU: stage i is entered after i collisions, with a contention window that doubles.
struct Chain {
    /// Mean number of transmissions but those in the slots that only some may use.
    transmissions: f64,
    /// Mean number of slots of the model.
    slots: f64,
    /// Mean number of slots of the model of an MPDU that is delivered.
    slots_of_success: f64,
    /// Probability that it is given up.
    drop: f64,
    /// Probability that a station that collided goes on in the slots that only such may use.
    head_start: f64,
    /// Probability that two that do so choose the same slot.
    same_slot: f64,
}

impl Chain {
    /// `alone` is the probability that no other station transmits in a slot.
    fn new(alone: f64, access: &Access, spans: &Spans) -> Chain {
        let first = f64::from(access.cw_min) + 1.0;
        let largest = f64::from(access.cw_max) + 1.0;
        let (reserved, collided) = if spans.stages_apart {
            (f64::from(spans.reserved_slots), f64::from(spans.collided_slots))
        } else {
            (0.0, 0.0)
        };
        let head_start_in = |window: f64| (collided / window).min(1.0);
        let mut chain = Chain {
            transmissions: 0.0,
            slots: 0.0,
            slots_of_success: 0.0,
            drop: 1.0,
            head_start: 0.0,
            same_slot: 0.0,
        };
        let (mut window, mut ahead, mut head_start) = (first, reserved, 0.0);
        let (mut successes, mut waited) = (0.0, 0.0);
        for stage in 1..=access.retry_limit {
            // One that uses the slots ahead meets few others: it is taken to succeed.
            let went_on = chain.drop * head_start;
            successes += went_on;
            chain.slots_of_success += went_on * waited;

            let entered = chain.drop - went_on;
            // Uniform from 0 to the window less 1, given that it is none of the slots ahead.
            let slots = ((window - 1.0 - ahead) / 2.0).max(0.0) + 1.0;
            chain.transmissions += entered;
            chain.slots += entered * slots;
            waited += slots;
            successes += entered * alone;
            chain.slots_of_success += entered * alone * waited;
            chain.drop = entered * (1.0 - alone);

            // After the last stage the next MPDU has its turn.
            window = if stage == access.retry_limit {
                first
            } else {
                (window * 2.0).min(largest)
            };
            ahead = collided;
            head_start = head_start_in(window);
            chain.head_start += entered * head_start;
            chain.same_slot += entered * head_start / collided.min(window).max(1.0);
        }
        if chain.head_start > 0.0 {
            chain.same_slot /= chain.head_start;
        }
        chain.head_start /= chain.transmissions;
        chain.slots_of_success /= successes;
        chain
    }

    fn transmit_probability(&self) -> f64 {
        self.transmissions / self.slots
    }
}

/// Where `f`, which falls in 0 to 1, equals its argument: bisection to the last bit.
fn fixed_point(f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if middle < f(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// `base` to the power `exponent`, by squaring: `f64::powi` may differ between platforms.
fn power(mut base: f64, mut exponent: usize) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            product *= base;
        }
        base *= base;
        exponent /= 2;
    }
    product
}
