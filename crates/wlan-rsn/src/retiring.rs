//! Replaced pairwise keys, which are kept for frames still in flight under them.

use std::collections::VecDeque;
use std::time::Duration;

use crate::Key;
use crate::output::{Output, Timing};

/// Maximum number of kept keys. A further key retires the oldest one.
const MAX: usize = 4;

#[derive(Default)]
pub(crate) struct Retiring(VecDeque<(Duration, Key)>);

impl Retiring {
    /// Keeps a key for [`Timing::overlap`].
    pub(crate) fn push<P>(
        &mut self,
        key: Key,
        peer: P,
        timing: &Timing,
        now: Duration,
        outputs: &mut VecDeque<Output<P>>,
    ) {
        if self.0.len() == MAX
            && let Some((_, key)) = self.0.pop_front()
        {
            outputs.push_back(Output::Retire { peer, key });
        }
        self.0.push_back((now.saturating_add(timing.overlap), key));
    }

    /// Retires all keys whose time is over.
    pub(crate) fn expire<P: Copy>(
        &mut self,
        peer: P,
        timing: &Timing,
        now: Duration,
        outputs: &mut VecDeque<Output<P>>,
    ) {
        while self.next().is_some_and(|at| timing.is_due(at, now))
            && let Some((_, key)) = self.0.pop_front()
        {
            outputs.push_back(Output::Retire { peer, key });
        }
    }

    /// The time at which the first key expires.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.0.front().map(|(at, _)| *at)
    }
}
