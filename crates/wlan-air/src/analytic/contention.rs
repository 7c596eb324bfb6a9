//! Several saturated stations: Bianchi's fixed point.
//!
//! Time is divided into slots of the model: an idle slot, a success or a collision. In each slot, a station
//! transmits with the same probability `tau`, independently of the past; this independence is the
//! approximation. With the conditional collision probability p of a transmission,
//!
//! ```text
//! p   = 1 - (1 - tau)^(n - 1)
//! tau = transmissions per MPDU / slots of the model per MPDU
//!     = sum p^i / sum p^i * (mean slots of stage i),   i = 0 .. retry limit - 1
//! ```
//!
//! The only solution gives the probability of each kind of slot; the lengths of the slots give all other
//! results. Sources: G. Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function",
//! IEEE JSAC 18 (2000); the retry limit from H. Wu et al., INFOCOM 2002; the delay from P. Chatzimisios et
//! al., GLOBECOM 2003; the stations that may transmit right after a busy period from I. Tinnirello, G.
//! Bianchi, Y. Xiao, "Refinements on IEEE 802.11 distributed coordination function modeling approaches", IEEE
//! TVT 59 (2010).

use super::{Timing, full_psdu};
use crate::phy::{Bss, Mode};
use crate::{Access, Aggregation, Countdown, Nanos, Protection};

/// The countdown rule that a model assumes for the slots after a busy period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentionModel {
    /// Bianchi (2000): a busy period is an ordinary slot. EDCA counts down this way
    /// ([`Countdown::PerBoundary`]); for DCF the error is 3 % with 50 stations.
    Bianchi,
    /// The model behind the figures of ns-3's wifi-bianchi.cc: Bianchi's fixed point with one change. A
    /// station that succeeded transmits again at once with probability 1 / (CWmin + 1), in a slot that all
    /// other stations leave idle. With [`Contention::eifs`], all stations wait for SIFS and the answer at its
    /// own rate after a collision.
    Ns3,
    /// The rule of [`Access::countdown`]. With DCF, no frozen counter reaches zero in the first slot after a
    /// busy period, so only stations that transmitted and drew a new backoff may use this slot. With
    /// [`Contention::eifs`], they may also use the slots by which `AckTimeout` ends before EIFS. Exact for
    /// one station; within 1 % of the simulated medium for 2 to 50 stations.
    Countdown,
}

/// Saturated stations in contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contention {
    /// Stations that always have a frame to send; at least 1.
    pub stations: usize,
    /// The protection that all stations use. With RTS and CTS, only RTS frames collide (10.3.2.4); otherwise, a
    /// collision lasts until the end of the data PPDU.
    pub protection: Protection,
    /// The model.
    pub model: ContentionModel,
    /// Whether stations wait for EIFS after a collision instead of DIFS
    /// ([`MediumConfig::eifs`](crate::MediumConfig::eifs)).
    pub eifs: bool,
}

/// The total of all saturated stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contended {
    /// MPDUs per data PPDU: above 1 with aggregation.
    pub mpdus_per_ppdu: usize,
    /// MPDUs that all stations deliver per second; 0 if two or more stations have no backoff, even after a
    /// collision.
    pub mpdus_per_s: f64,
    /// Probability that a station transmits in a slot of the model, `tau`.
    pub transmit_probability: f64,
    /// Probability that a transmission collides, including transmissions right after a busy period.
    pub collision_probability: f64,
    /// Probability that an MPDU is dropped at the retry limit.
    pub drop_probability: f64,
    /// Mean time that a delivered MPDU spends at the head of its queue, until the end of the interframe space
    /// after its answer, in us; infinite if no MPDU is delivered.
    pub access_delay_us: f64,
    /// Fraction of the time that collisions take, including the interframe spaces after them.
    pub collision_share: f64,
}

impl Contended {
    /// Goodput of all stations in Mbit/s if each MPDU carries `payload_len_b` counted octets.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // MPDUs are shorter than 2^53 octets
    pub fn goodput_mbps(&self, payload_len_b: usize) -> f64 {
        self.mpdus_per_s * payload_len_b as f64 * 8.0 / 1e6
    }
}

/// Saturated stations that send MPDUs of `mpdu_len_b` octets (including header, security fields and FCS) at
/// one rate. All stations hear each other, and only collisions lose frames.
///
/// [`Access::retry_limit`] is the number of transmissions of an MPDU; its largest value, 255, is practically
/// no limit. [`Contention::eifs`] selects DIFS or EIFS after a collision. `access` and `aggregation` are not
/// checked: values that [`crate::Medium::new`] rejects give a meaningless result.
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
    let timing = Timing::new(bss, mode, access, contention.protection);
    let spans = Spans::new(&timing, access, contention, mpdus, mode.ppdu_duration(psdu_b));
    let chain = |tau: f64| Chain::new(power(1.0 - tau, contention.stations - 1), access, &spans);
    let tau = fixed_point(|tau| chain(tau).transmit_probability());
    let chain = chain(tau);
    let n = contention.stations as f64;

    // Probabilities of the kinds of slots, as sums over the binomial number of transmitting stations. After a
    // collision, none, one or several of the colliding stations transmit in the slots that are reserved for
    // them.
    let idle = power(1.0 - tau, contention.stations);
    let success = n * tau * power(1.0 - tau, contention.stations - 1);
    let collision = (1.0 - idle - success).max(0.0);
    let head = chain.head_start;
    let nobody = power(1.0 - tau * head, contention.stations) - idle - success * (1.0 - head);
    let one = n * tau * head * power(1.0 - tau * head, contention.stations - 1) - success * head;
    // Clamped: rounding leaves small differences instead of zero, and no probability may become negative.
    let nobody = nobody.clamp(0.0, collision);
    let one = one.clamp(0.0, collision - nobody);
    let more = collision - nobody - one;
    let again = more * chain.same_slot;
    let one = one + (more - again);

    // The station that succeeded may transmit again at once, repeatedly.
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
        // A chain that ends in a success delivers a run of exchanges. Without backoff, a run never ends and
        // takes all of the time.
        access_delay_us: if delivered > 0.0 {
            (chain.slots_of_success * slot_us / run).max(spans.success_us)
        } else {
            f64::INFINITY
        },
        collision_share: collisions_us / slot_us,
    }
}

/// Lengths of the model's slots, and the number of slots after a busy period that are reserved for some
/// stations.
struct Spans {
    slot_us: f64,
    success_us: f64,
    /// From the start of a collision until the stations that heard it resume their countdowns.
    heard_us: f64,
    /// From the start of a collision until the colliding stations may transmit again.
    collided_us: f64,
    /// Slots after a success in which only the successful station may transmit.
    reserved_slots: u16,
    /// Slots after a collision in which no station that heard it may transmit.
    frozen_slots: u16,
    /// Slots after a collision in which only the colliding stations may transmit.
    collided_slots: u16,
    /// Whether the stages exclude the reserved slots.
    stages_apart: bool,
}

impl Spans {
    fn new(timing: &Timing, access: &Access, contention: &Contention, mpdus: usize, ppdu: Nanos) -> Spans {
        let answer = timing.sifs + timing.answer(mpdus);
        let (first, rest, first_answer) = match contention.protection {
            Protection::RtsCts => {
                let cts = timing.sifs + timing.cts;
                (timing.rts, cts + timing.sifs + ppdu + answer, cts)
            }
            Protection::CtsToSelf | Protection::None => (timing.protection + ppdu, answer, answer),
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

    /// Probability that the successful station draws a slot reserved for it. Kept below 1, because at 1 no
    /// other station would ever transmit.
    fn again_probability(&self, access: &Access) -> f64 {
        (f64::from(self.reserved_slots) / (f64::from(access.cw_min) + 1.0)).min(1.0 - 1e-9)
    }
}

/// The life of one MPDU: stage i follows i collisions and has a doubled contention window.
struct Chain {
    /// Mean number of transmissions, except transmissions in reserved slots.
    transmissions: f64,
    /// Mean number of slots of the model.
    slots: f64,
    /// Mean number of slots of the model for a delivered MPDU.
    slots_of_success: f64,
    /// Probability that the MPDU is dropped.
    drop: f64,
    /// Probability that a colliding station transmits in the slots reserved for colliding stations.
    head_start: f64,
    /// Probability that two such stations choose the same reserved slot.
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
            // A station that uses the reserved slots meets few other stations: it is assumed to succeed.
            let went_on = chain.drop * head_start;
            successes += went_on;
            chain.slots_of_success += went_on * waited;

            let entered = chain.drop - went_on;
            // Uniform from 0 to the window minus 1, given that it is not a reserved slot.
            let slots = ((window - 1.0 - ahead) / 2.0).max(0.0) + 1.0;
            chain.transmissions += entered;
            chain.slots += entered * slots;
            waited += slots;
            successes += entered * alone;
            chain.slots_of_success += entered * alone * waited;
            chain.drop = entered * (1.0 - alone);

            // The next MPDU follows the last stage.
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

/// The fixed point of `f`, which decreases on 0 to 1: bisection to the last bit.
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

/// `base` to the power of `exponent`, by squaring: `f64::powi` may differ between platforms.
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
