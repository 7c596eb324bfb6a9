//! Pairwise keys that were replaced, and are kept for the frames that are still on their way under them.

use std::collections::VecDeque;
use std::time::Duration;

use wlan_frames::MacAddr;

use crate::Key;
use crate::output::{Output, Timing};

/// No more are kept, however fast keys are replaced.
const MAX: usize = 4;

#[derive(Default)]
pub(crate) struct Retiring(VecDeque<(Duration, Key)>);

impl Retiring {
    /// Keeps a key for a while.
    pub(crate) fn push(
        &mut self,
        key: Key,
        peer: MacAddr,
        timing: &Timing,
        now: Duration,
        outputs: &mut VecDeque<Output>,
    ) {
        if self.0.len() == MAX
            && let Some((_, key)) = self.0.pop_front()
        {
            outputs.push_back(Output::Retire { peer, key });
        }
        self.0.push_back((now.saturating_add(timing.overlap), key));
    }

    /// Has those forgotten whose while is over.
    pub(crate) fn expire(
        &mut self,
        peer: MacAddr,
        timing: &Timing,
        now: Duration,
        outputs: &mut VecDeque<Output>,
    ) {
        while self.next().is_some_and(|at| timing.is_due(at, now))
            && let Some((_, key)) = self.0.pop_front()
        {
            outputs.push_back(Output::Retire { peer, key });
        }
    }

    /// When the first is over.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.0.front().map(|(at, _)| *at)
    }
}
