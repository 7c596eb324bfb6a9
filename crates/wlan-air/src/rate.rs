//! The PHY rate of a station's transmissions.
//!
//! [`RateControl::Minstrel`] follows `minstrel_ht` of Linux mac80211 (`net/mac80211/rc80211_minstrel_ht.c`
//! since 5.12), which also serves stations without HT, with the rules for drivers that aggregate in software
//! (ath9k, mt76):
//!
//! 1. Every exchange whose payload was sent reports the MPDUs sent and acknowledged. An unanswered RTS says
//!    nothing about the rate of the payload.
//! 2. Every 50 ms, each rate that was used gets a new success probability, through Linux's low-pass filter.
//!    Rates are ranked by probability divided by the airtime of an A-MPDU of average length and its answer. A
//!    probability below 10 % counts as zero; a probability above 90 % counts as 90 %, so that collisions do
//!    not decide.
//! 3. Retries of an exchange follow a chain: the best rate, the second best, the most reliable one. Any
//!    answer restarts the chain, even if it reports losses, because the lost MPDUs join a new A-MPDU.
//! 4. Every 20 ms, regardless of losses, one sample is due: a single MPDU without aggregation. The samples
//!    alternate between the next faster rate and any faster rate; every sixth sample uses a rate between the
//!    slowest and the fastest of the chain.
//!
//! There are two differences from Linux. The retries of a chain do not request RTS and CTS, and the samples
//! follow a fixed permutation instead of a random table. All modes of a station form one group (one class,
//! width, guard interval and number of streams).

use crate::Nanos;
use crate::phy::{Bss, Mode};

/// The algorithm that chooses the rate of a station's data PPDUs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateControl {
    /// A fixed mode.
    Fixed(Mode),
    /// The mode with the highest expected throughput, estimated from acknowledgments and from samples of
    /// other modes, as minstrel_ht in Linux does. At least one mode, in ascending order of rate.
    Minstrel(Vec<Mode>),
    /// The driver of the medium requests the mode of each transmission of each frame:
    /// [`Medium::with_driver`](crate::Medium::with_driver).
    Driver,
}

impl RateControl {
    /// The modes that may be used; empty for [`RateControl::Driver`], which may use any mode of the BSS.
    #[must_use]
    pub fn modes(&self) -> &[Mode] {
        match self {
            RateControl::Driver => &[],
            RateControl::Fixed(mode) => std::slice::from_ref(mode),
            RateControl::Minstrel(modes) => modes,
        }
    }
}

/// Time between two estimates (`update_interval`, HZ / 20).
const UPDATE_INTERVAL: Nanos = Nanos::from_ms(50);
/// Time between two samples (`MINSTREL_SAMPLE_INTERVAL`, HZ / 50).
const SAMPLE_INTERVAL: Nanos = Nanos::from_ms(20);
/// The order of the kinds of samples (`minstrel_sample_seq`).
const SAMPLE_SEQUENCE: [Sample; 6] = [
    Sample::Increment,
    Sample::Jump,
    Sample::Increment,
    Sample::Jump,
    Sample::Increment,
    Sample::Slow,
];
/// Rates that wait for a sample, per kind of sample (`MINSTREL_SAMPLE_RATES`).
const SAMPLE_RATES: usize = 5;
/// The rows of column n of the table of samples are the multiples of n modulo this prime. The prime exceeds
/// the number of modes of one class.
const SAMPLE_PRIME: usize = 67;
/// A probability of one (`MINSTREL_SCALE`).
const ONE: u32 = 1 << 12;
/// Coefficients of the filter of probabilities, in 1/[`ONE`], of the newest value and of the last two results
/// (`MINSTREL_AVG_COEFF1` to 3, a low-pass of period 16).
const FILTER: [i64; 3] = [ONE as i64 - 0x1499 + 0x92e, 0x1499, -0x92e];
/// Weight of the old value in the average length of A-MPDUs, in 1/128 (`EWMA_LEVEL`).
const OLD_IN_128: u32 = 96;
/// Octets of the MPDU that is used to compare rates (`AVG_PKT_SIZE`).
const REFERENCE_LEN_B: usize = 1200;
/// Tries at one rate end after this time (`segment_size`) or after [`MAX_TRIES`] (`max_retry`).
const SEGMENT: Nanos = Nanos::from_ms(6);
const MAX_TRIES: u8 = 7;
/// Contention window for the estimated time of a try, slots (`cw_min`, `cw_max`).
const CONTENTION_WINDOW: (u64, u64) = (15, 1023);

/// The kinds of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sample {
    /// The next rate above the best rate.
    Increment,
    /// Any rate above the rates of the chain.
    Jump,
    /// A rate between the slowest and the fastest of the chain.
    Slow,
}

/// The mode of the next exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub mode: Mode,
    /// Whether this is a sample: one MPDU without aggregation.
    pub sample: bool,
    index: usize,
    /// Whether a sample was due, even if no rate waited for a sample.
    turn: bool,
}

impl Choice {
    /// A mode that no rate control chose.
    pub fn given(mode: Mode) -> Choice {
        Choice {
            mode,
            sample: false,
            index: 0,
            turn: false,
        }
    }
}

/// The result of an exchange whose payload was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// MPDUs sent.
    pub sent: u32,
    /// MPDUs acknowledged.
    pub acked: u32,
    /// Whether no answer came, so that the same MPDUs are sent again.
    pub retried: bool,
}

/// The state of the rate control towards one receiver.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    rates: Vec<RateStats>,
    /// The best rate, the second best and the most reliable one, each with its tries.
    chain: [(usize, u8); 3],
    /// Exchanges since the chain was started.
    tries: u8,
    /// Average number of MPDUs per PPDU, in 1/[`ONE`].
    ampdu_len: u32,
    /// PPDUs since the last estimate, and their MPDUs.
    ppdus: u32,
    mpdus: u32,
    update_at: Nanos,
    sample_at: Nanos,
    /// Samples that were due so far.
    turns: usize,
    /// Rates that wait for a sample of each kind.
    waiting: [Vec<usize>; 3],
    /// Column of the table of samples, from 1.
    column: usize,
    slot: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct RateStats {
    mode: Mode,
    /// A SIFS and the Ack, and a SIFS and the `BlockAck`.
    ack: Nanos,
    block_ack: Nanos,
    attempts: u32,
    successes: u32,
    /// Whether the rate was ever used.
    known: bool,
    /// Success probability in 1/[`ONE`], and the previous one. A rate that was never used has the probability
    /// of the best known faster rate.
    probability: u32,
    before: u32,
}

impl Rate {
    pub fn new(control: &RateControl, bss: &Bss) -> Rate {
        let unused = |&mode: &Mode| RateStats {
            mode,
            ack: bss.sifs() + bss.ack_duration(&mode),
            block_ack: bss.sifs() + bss.block_ack_duration(&mode),
            attempts: 0,
            successes: 0,
            known: false,
            probability: 0,
            before: 0,
        };
        let mut rate = Rate {
            rates: control.modes().iter().map(unused).collect(),
            chain: [(0, 0); 3],
            tries: 0,
            ampdu_len: ONE,
            ppdus: 0,
            mpdus: 0,
            update_at: Nanos::ZERO,
            sample_at: Nanos::ZERO,
            turns: 0,
            waiting: std::array::from_fn(|_| Vec::with_capacity(SAMPLE_RATES)),
            column: 1,
            slot: bss.slot(),
        };
        rate.update(Nanos::ZERO);
        rate
    }

    /// The mode of the next exchange. It does not change until a payload is sent and reported.
    pub fn choose(&self, now: Nanos) -> Choice {
        let mut tries = self.tries;
        let mut index = self.chain[0].0;
        for (link, count) in self.chain {
            index = link;
            if tries < count {
                break;
            }
            tries -= count;
        }
        // Only the first try of a chain may be a sample.
        let turn = self.rates.len() > 1 && self.tries == 0 && now >= self.sample_at;
        let sample = if turn {
            self.waiting[self.kind() as usize].first().copied()
        } else {
            None
        };
        let index = sample.unwrap_or(index);
        Choice {
            mode: self.rates[index].mode,
            sample: sample.is_some(),
            index,
            turn,
        }
    }

    /// The kind of the sample that is due.
    fn kind(&self) -> Sample {
        SAMPLE_SEQUENCE[self.turns % SAMPLE_SEQUENCE.len()]
    }

    /// Records the result of an exchange whose payload was sent. Other exchanges are not reported.
    pub fn report(&mut self, now: Nanos, choice: &Choice, report: Report) {
        if self.rates.len() == 1 {
            return;
        }
        if choice.turn {
            if choice.sample {
                let kind = self.kind() as usize;
                self.waiting[kind].retain(|&waiting| waiting != choice.index);
            }
            self.turns += 1;
            self.sample_at = now + SAMPLE_INTERVAL;
        }
        let rate = &mut self.rates[choice.index];
        rate.attempts += report.sent;
        rate.successes += report.acked;
        self.ppdus += 1;
        self.mpdus += report.sent;
        let chain: u8 = self.chain.iter().map(|(_, count)| count).sum();
        // The whole chain follows a failed sample.
        self.tries = if report.retried && !choice.sample {
            (self.tries + 1) % chain
        } else {
            0
        };
        if now >= self.update_at {
            self.update(now);
        }
    }

    /// Estimates the probabilities, ranks the rates and selects the rates to sample.
    fn update(&mut self, now: Nanos) {
        self.update_at = now + UPDATE_INTERVAL;
        if let Some(lately) = (self.mpdus * ONE).checked_div(self.ppdus) {
            self.ampdu_len = (self.ampdu_len * OLD_IN_128 + lately * (128 - OLD_IN_128)) / 128;
            (self.ppdus, self.mpdus) = (0, 0);
        }
        // A rate that was never used counts as equal to the best faster rate.
        let mut faster = 0;
        for rate in self.rates.iter_mut().rev() {
            rate.estimate();
            if rate.known {
                faster = rate.probability.max(faster);
            } else {
                rate.probability = faster;
            }
        }
        let [best, second, safest] = self.rank();
        self.chain = [best, second, safest].map(|index| (index, self.tries_at(index)));
        self.tries = 0;
        self.refill(best, second, safest);
    }

    /// The best rate, the second best and the most reliable one.
    fn rank(&self) -> [usize; 3] {
        let score = |index: usize| (self.throughput(index), self.rates[index].probability);
        let mut top = [0, 0];
        for index in (0..self.rates.len()).rev() {
            if self.throughput(index) == 0 {
                continue;
            }
            if score(index) > score(top[0]) {
                top = [index, top[0]];
            } else if index != top[0] && score(index) > score(top[1]) {
                top[1] = index;
            }
        }
        let [best, second] = top;
        let mut safest = 0;
        for (index, rate) in self.rates.iter().enumerate() {
            if index > best && rate.probability < self.rates[best].probability {
                continue;
            }
            // Among reliable rates, a faster rate is better.
            let better = if rate.probability > ONE / 4 * 3 {
                self.throughput(index) > self.throughput(safest)
            } else {
                rate.probability > self.rates[safest].probability
            };
            if better {
                safest = index;
            }
        }
        [best, second, safest]
    }

    /// MPDUs per average A-MPDU.
    fn mpdus(&self) -> u32 {
        (self.ampdu_len / ONE).max(1)
    }

    /// Airtime of an average A-MPDU and its answer.
    fn airtime(&self, index: usize) -> Nanos {
        let rate = &self.rates[index];
        let mpdus = self.mpdus();
        let answer = if mpdus == 1 { rate.ack } else { rate.block_ack };
        rate.mode.ppdu_duration(mpdus as usize * REFERENCE_LEN_B) + answer
    }

    /// A value that increases with the expected throughput.
    fn throughput(&self, index: usize) -> u64 {
        let probability = self.rates[index].probability;
        if probability < ONE / 10 {
            return 0;
        }
        let probability = u64::from(probability.min(ONE / 10 * 9));
        probability * u64::from(self.mpdus()) * 1_000_000_000 / self.airtime(index).0
    }

    /// The number of tries at a rate before the chain continues with the next rate.
    fn tries_at(&self, index: usize) -> u8 {
        if self.rates[index].probability < ONE / 5 {
            return 2;
        }
        let airtime = self.airtime(index);
        let (mut cw, max) = CONTENTION_WINDOW;
        let mut time = Nanos::ZERO;
        let mut tries = 0;
        while tries < MAX_TRIES {
            time += Nanos(self.slot.0 * cw / 2) + airtime;
            cw = (2 * cw + 1).min(max);
            if tries >= 2 && time >= SEGMENT {
                break;
            }
            tries += 1;
        }
        tries
    }

    /// Fills the lists of rates to sample. A waiting rate stays in its list as long as it matches the kind.
    fn refill(&mut self, best: usize, second: usize, safest: usize) {
        let fastest = best.max(second).max(safest);
        let slowest = best.min(second).min(safest);
        let [increment, jump, slow] = &mut self.waiting;
        increment.clear();
        increment.extend((best + 1 < self.rates.len()).then_some(best + 1));
        jump.retain(|&index| index > fastest);
        slow.retain(|&index| index > slowest && index < fastest);
        self.column = self.column % (SAMPLE_PRIME - 1) + 1;
        for row in 1..SAMPLE_PRIME {
            let index = self.column * row % SAMPLE_PRIME - 1;
            let Some(rate) = self.rates.get(index) else {
                continue;
            };
            let list = if index > fastest {
                &mut *jump
            } else if index > slowest && index < fastest && rate.probability <= ONE / 20 * 19 {
                &mut *slow
            } else {
                continue;
            };
            if list.len() < SAMPLE_RATES && !list.contains(&index) {
                list.push(index);
            }
        }
    }
}

impl RateStats {
    /// Updates the probability with the reports since the last estimate.
    fn estimate(&mut self) {
        if self.attempts == 0 {
            return;
        }
        let lately = self.successes * ONE / self.attempts;
        let last = self.probability;
        if self.known {
            let [new, one, two] = FILTER;
            let sum = new * i64::from(lately) + one * i64::from(last) + two * i64::from(self.before);
            let filtered = (sum / i64::from(ONE)).clamp(0, i64::from(ONE));
            self.probability = u32::try_from(filtered).unwrap_or(ONE);
            self.before = last;
        } else {
            self.known = true;
            self.probability = lately;
            self.before = lately;
        }
        (self.attempts, self.successes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::GuardInterval;

    fn vht(mcs: u8) -> Mode {
        Mode::vht(mcs, 1, 80, GuardInterval::Long).unwrap()
    }

    fn minstrel(modes: Vec<Mode>) -> Rate {
        let bss = Bss::for_mode(&modes[0]);
        Rate::new(&RateControl::Minstrel(modes), &bss)
    }

    /// Reports one exchange of `mpdus` MPDUs per millisecond, in which `delivered(mode)` percent arrive, and
    /// returns the choices.
    fn exchanges(rate: &mut Rate, from_ms: u64, mpdus: u32, delivered: impl Fn(Mode) -> u32) -> Vec<Choice> {
        let exchange = |ms| {
            let now = Nanos::from_ms(from_ms + ms);
            let choice = rate.choose(now);
            let sent = if choice.sample { 1 } else { mpdus };
            // Of every hundred exchanges of a single MPDU, `delivered(mode)` succeed.
            let whole = u32::try_from(ms * 37 % 100).unwrap() < delivered(choice.mode);
            let acked = if sent == 1 {
                u32::from(whole)
            } else {
                sent * delivered(choice.mode) / 100
            };
            let retried = acked == 0;
            rate.report(now, &choice, Report { sent, acked, retried });
            choice
        };
        (0..2000).map(exchange).collect()
    }

    /// MCS 9 delivers 60 %. Because of its preamble and answer, it is slower than MCS 4 for one MPDU of 1200
    /// octets, and faster for 32 MPDUs.
    #[test]
    fn rates_are_ranked_by_the_airtime_of_the_average_a_mpdu() {
        let delivered = |mode| if mode == vht(9) { 60 } else { 100 };
        for (mpdus, best) in [(1, vht(4)), (32, vht(9))] {
            let mut rate = minstrel(vec![vht(4), vht(9)]);
            let choices = exchanges(&mut rate, 0, mpdus, delivered);
            let late = &choices[500..];
            let at_best = late.iter().filter(|choice| choice.mode == best).count();
            assert!(
                at_best * 10 > late.len() * 9,
                "{mpdus} MPDUs: {at_best} of {}",
                late.len()
            );
        }
    }

    /// While every MPDU is lost, all faster rates are sampled. Once all MPDUs arrive, the fastest rate is
    /// found.
    #[test]
    fn sampling_continues_under_loss() {
        let modes: Vec<Mode> = (0..10).map(vht).collect();
        let mut rate = minstrel(modes.clone());
        let lost = exchanges(&mut rate, 0, 16, |_| 0);
        for mode in &modes[1..] {
            let samples = lost
                .iter()
                .filter(|choice| choice.sample && choice.mode == *mode)
                .count();
            assert!(samples >= 2, "{samples} samples of {mode}");
        }
        let found = exchanges(&mut rate, 2000, 16, |_| 100);
        assert!(
            found[1000..]
                .iter()
                .all(|choice| choice.sample || choice.mode == modes[9])
        );
    }

    /// There is at most one sample per 20 ms.
    #[test]
    fn samples_are_sent_at_their_interval() {
        let mut rate = minstrel((0..10).map(vht).collect());
        let choices = exchanges(&mut rate, 0, 16, |mode| if mode == vht(9) { 0 } else { 100 });
        let samples: Vec<usize> = (0..choices.len()).filter(|ms| choices[*ms].sample).collect();
        assert!(
            samples.windows(2).all(|pair| pair[1] - pair[0] >= 20),
            "{samples:?}"
        );
        assert!(samples.len() > 50, "{}", samples.len());
    }

    /// Unanswered exchanges step through the chain; an answer restarts it, even if MPDUs were lost.
    #[test]
    fn unanswered_exchanges_follow_the_rate_chain() {
        let mut rate = minstrel((0..10).map(vht).collect());
        let delivered = |mode: Mode| match mode.mcs() {
            Some(0..=5) => 100,
            Some(6) => 80,
            _ => 0,
        };
        exchanges(&mut rate, 0, 16, delivered);
        let [best, second, safest] = rate.chain;
        assert_eq!([best.0, second.0, safest.0], [6, 5, 6]);
        // Disable estimates and samples.
        (rate.update_at, rate.sample_at) = (Nanos::MAX, Nanos::MAX);
        let now = Nanos::from_secs(3);
        let mut tried = Vec::new();
        let mut next = |acked| {
            let choice = rate.choose(now);
            tried.push(choice.index);
            let retried = acked == 0;
            rate.report(
                now,
                &choice,
                Report {
                    sent: 16,
                    acked,
                    retried,
                },
            );
        };
        for _ in 0..best.1 + second.1 {
            next(0);
        }
        next(1);
        next(0);
        let expected = [vec![6; best.1.into()], vec![5; second.1.into()], vec![6, 6]].concat();
        assert_eq!(tried, expected);
    }
}
