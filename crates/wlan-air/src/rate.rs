//! Which PHY rate a station sends at.

use crate::Nanos;
use crate::phy::Mode;

/// How a station chooses the rate of its data PPDUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateControl {
    /// Always this one.
    Fixed(Mode),
    /// The one with the highest expected throughput by what has been acknowledged lately, with occasional trials
    /// of others, in the manner of minstrel (Linux mac80211). At least one mode; the lowest rate first.
    Minstrel(Vec<Mode>),
}

impl RateControl {
    /// The modes that may be used.
    #[must_use]
    pub fn modes(&self) -> &[Mode] {
        match self {
            RateControl::Fixed(mode) => std::slice::from_ref(mode),
            RateControl::Minstrel(modes) => modes,
        }
    }
}

/// After this time the success of each rate is reckoned anew (minstrel's update interval of 50 ms).
const UPDATE_INTERVAL: Nanos = Nanos::from_ms(50);
/// One PPDU in so many tries another rate (minstrel's 10 %).
const TRIAL_EVERY: u32 = 10;
/// One such try in so many goes to a slower rate: it takes long, and can win only where the best one fails. Minstrel
/// tries it after a failure of the best.
const SLOWER_EVERY: u32 = 10;
/// Share of the old value in the moving average, in 1/128 (minstrel's EWMA_LEVEL 96).
const OLD_IN_128: u32 = 96;
/// A probability of one, as minstrel counts it.
const ONE: u32 = 1 << 16;
/// Octets of the MPDU by which rates are compared (minstrel's AVG_PKT_SIZE).
const REFERENCE_LEN_B: usize = 1200;
/// Failures in a row after which a lower rate is taken for the next try.
const FALL_BACK_AFTER: u8 = 2;

/// The state of the rate control towards one receiver.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    modes: Vec<Tried>,
    best: usize,
    /// The most reliable rate: what the last tries of an MPDU go at.
    safest: usize,
    /// PPDUs sent without a retry before, tries of other rates, and those of slower ones.
    ppdus: u32,
    trials: u32,
    slower_trials: u32,
    update_at: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Tried {
    mode: Mode,
    attempts: u32,
    successes: u32,
    /// Moving average of the share that was acknowledged, in 1/65536; none: never tried.
    probability: Option<u32>,
}

impl Rate {
    pub fn new(control: &RateControl) -> Rate {
        let modes: Vec<Tried> = control
            .modes()
            .iter()
            .map(|&mode| Tried {
                mode,
                attempts: 0,
                successes: 0,
                probability: None,
            })
            .collect();
        Rate {
            best: modes.len() / 2,
            modes,
            safest: 0,
            ppdus: 0,
            trials: 0,
            slower_trials: 0,
            update_at: UPDATE_INTERVAL,
        }
    }

    /// The mode of the next PPDU, whose oldest MPDU was sent `retries` times before.
    pub fn select(&mut self, now: Nanos, retries: u8) -> Mode {
        if self.modes.len() == 1 {
            return self.modes[0].mode;
        }
        if now >= self.update_at {
            self.update(now);
        }
        let index = if retries >= 2 * FALL_BACK_AFTER {
            self.safest.min(self.best)
        } else if retries >= FALL_BACK_AFTER {
            self.best.saturating_sub(1)
        } else if retries == 0 {
            self.best_or_trial()
        } else {
            self.best
        };
        self.modes[index].mode
    }

    fn best_or_trial(&mut self) -> usize {
        self.ppdus = self.ppdus.wrapping_add(1);
        if !self.ppdus.is_multiple_of(TRIAL_EVERY) {
            return self.best;
        }
        self.trials = self.trials.wrapping_add(1);
        let (turn, others) = if self.trials.is_multiple_of(SLOWER_EVERY) {
            self.slower_trials = self.slower_trials.wrapping_add(1);
            (self.slower_trials, 0..self.best)
        } else {
            (
                self.trials - self.trials / SLOWER_EVERY,
                self.best + 1..self.modes.len(),
            )
        };
        if others.is_empty() {
            self.best
        } else {
            others.start + turn as usize % others.len()
        }
    }

    /// What became of a PPDU sent at `mode`: MPDUs sent, and acknowledged.
    pub fn report(&mut self, mode: &Mode, sent: usize, acked: usize) {
        if self.modes.len() == 1 {
            return;
        }
        if let Some(tried) = self.modes.iter_mut().find(|tried| tried.mode == *mode) {
            tried.attempts += u32::try_from(sent).unwrap_or(0);
            tried.successes += u32::try_from(acked).unwrap_or(0);
        }
    }

    fn update(&mut self, now: Nanos) {
        self.update_at = now + UPDATE_INTERVAL;
        for tried in &mut self.modes {
            if tried.attempts > 0 {
                let share = u64::from(tried.successes) * u64::from(ONE) / u64::from(tried.attempts);
                let lately = u32::try_from(share).unwrap_or(ONE);
                tried.probability = Some(match tried.probability {
                    None => lately,
                    Some(old) => (old * OLD_IN_128 + lately * (128 - OLD_IN_128)) / 128,
                });
                tried.attempts = 0;
                tried.successes = 0;
            }
        }
        let known = || {
            self.modes
                .iter()
                .enumerate()
                .filter(|(_, t)| t.probability.is_some())
        };
        if let Some((best, _)) = known().max_by_key(|(_, tried)| tried.throughput()) {
            self.best = best;
        }
        if let Some((safest, _)) = known().max_by_key(|(index, tried)| (tried.probability, *index)) {
            self.safest = safest;
        }
    }
}

impl Tried {
    /// A number that grows with the expected throughput. Below 10 % success it counts nothing.
    fn throughput(&self) -> u64 {
        let probability = self.probability.unwrap_or(0);
        if probability < ONE / 10 {
            return 0;
        }
        u64::from(probability) * 1_000_000 / self.mode.ppdu_duration(REFERENCE_LEN_B).0
    }
}
