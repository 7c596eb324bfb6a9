//! The medium: who sends when, what arrives, what collides.

use std::collections::VecDeque;
use std::mem;
use std::vec::Drain;

use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

use crate::access::Packer;
use crate::phy::Mode;
use crate::{Access, Aggregation, ConfigError, Countdown, Nanos};

/// Stream of the generator. Any constant will do: one medium has one stream, told apart by the seed.
const PCG_STREAM: u64 = 0x8021_1000;

/// What a medium is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumConfig {
    /// PHY rate of every data PPDU.
    pub mode: Mode,
    /// Access parameters of every station.
    pub access: Access,
    /// How MPDUs are joined.
    pub aggregation: Aggregation,
    /// Stations, the access point included; they are numbered from 0.
    pub stations: usize,
    /// MPDUs that a station holds, those on the air included: an MPDU leaves when it is delivered or given
    /// up.
    pub queue_limit: usize,
    /// Seed of the backoff draws. Equal seeds and equal calls give equal events on every platform.
    pub seed: u64,
}

/// An MPDU that leaves the medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mpdu<F> {
    /// The station that sent it.
    pub station: usize,
    /// When it was queued.
    pub arrival: Nanos,
    /// Transmissions before the last one: above zero, the Retry bit was set.
    pub retries: u8,
    /// The frame.
    pub frame: F,
}

/// What happened on the medium. Frames that are not taken out of an event are dropped with it.
#[derive(Debug)]
pub enum Event<'a, F> {
    /// A transmission starts; its frames are in [`Medium::on_air_mut`] until it ends.
    TxStart {
        /// When.
        at: Nanos,
        /// When its last PPDU ends, as far as is known: another station may still join within aCCATime.
        ppdu_end: Nanos,
    },
    /// A transmission ends.
    TxEnd {
        /// When.
        at: Nanos,
        /// Whether PPDUs collided, so that none arrived.
        collision: bool,
        /// The MPDUs that arrived now, in the order in which they were queued.
        delivered: Drain<'a, Mpdu<F>>,
        /// The MPDUs given up at the retry limit.
        given_up: Drain<'a, Mpdu<F>>,
    },
}

/// What one station did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// PPDUs sent.
    pub txops: u64,
    /// PPDUs that collided.
    pub collisions: u64,
    /// MPDUs accepted by [`Medium::enqueue`].
    pub enqueued: u64,
    /// MPDUs delivered.
    pub mpdus: u64,
    /// Octets of the MPDUs delivered, headers and security included.
    pub octets: u64,
    /// MPDUs sent again.
    pub retries: u64,
    /// MPDUs refused because the queue was full.
    pub drops_queue: u64,
    /// MPDUs given up at the retry limit.
    pub drops_retry: u64,
}

/// What happened on the medium so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Transmissions, collisions included (a collision is one).
    pub transmissions: u64,
    /// Transmissions in which PPDUs collided.
    pub collisions: u64,
    /// Time in which the medium was busy: PPDUs, and SIFS and the answer where there was one.
    pub busy: Nanos,
    /// By station.
    pub stations: Vec<StationCounters>,
}

/// What the medium keeps of an MPDU beside its frame.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    arrival: Nanos,
    len_b: usize,
    retries: u8,
}

#[derive(Debug)]
struct Station<F> {
    /// MPDUs not yet delivered or given up, oldest first. The frames stand apart so that a driver gets them
    /// as slices.
    frames: VecDeque<F>,
    waiting: VecDeque<Waiting>,
    /// How many of them are on the air.
    on_air: usize,
    /// When its PPDU on the air ends.
    ppdu_end: Nanos,
    /// Contention window, slots.
    cw: u16,
    /// Slots left of a backoff, counted from `slots_from`. None: no backoff is pending, a frame may go at
    /// once.
    backoff: Option<u16>,
    /// When the interframe space after the last exchange ends. Differs between stations after a collision
    /// (EIFS).
    slots_from: Nanos,
}

impl<F> Station<F> {
    fn backoff_end(&self, slot: Nanos, slots: u16) -> Nanos {
        self.slots_from + slot * u64::from(slots)
    }

    /// When the station transmits if no other does before.
    fn tx_start(&self, slot: Nanos) -> Option<Nanos> {
        let oldest = self.waiting.front()?;
        Some(match self.backoff {
            Some(slots) => self.backoff_end(slot, slots),
            None => self.slots_from.max(oldest.arrival),
        })
    }

    /// Hands the `mpdus` oldest MPDUs over to `sink`.
    fn leave(&mut self, index: usize, mpdus: usize, sink: &mut Vec<Mpdu<F>>) {
        let leaving = self.waiting.drain(..mpdus).zip(self.frames.drain(..mpdus));
        sink.extend(leaving.map(|(w, frame)| Mpdu {
            station: index,
            arrival: w.arrival,
            retries: w.retries,
            frame,
        }));
    }
}

/// A transmission on the air: one PPDU, or several that collide.
#[derive(Clone, Copy, Debug)]
struct OnAir {
    start: Nanos,
    end: Nanos,
    /// SIFS and the answer; none follows a collision.
    answer: Option<Nanos>,
}

/// Spans of the configured mode, computed once.
#[derive(Clone, Copy, Debug)]
struct Spans {
    slot: Nanos,
    ifs: Nanos,
    cca: Nanos,
    /// SIFS and Ack, SIFS and `BlockAck`.
    ack: Nanos,
    block_ack: Nanos,
    /// What comes before the interframe space after a collision, for stations that took part and for those
    /// that heard it.
    after_own_collision: Nanos,
    after_heard_collision: Nanos,
}

/// A medium that all stations hear. `F` is a frame, which the medium carries without looking at it.
///
/// A station transmits when its backoff has run down, at the earliest when the interframe space after the
/// last exchange has passed. A frame that finds the medium idle and no backoff pending goes without one. A
/// station draws a backoff after each own transmission, when a frame arrives while the medium is busy, and
/// when a busy medium cuts short the interframe space of a frame that needed none (10.3.4.2, 10.3.4.3;
/// 10.23.2.2). EDCA's rule that an idle station's late first frame waits for the next slot boundary is not
/// modelled: such a frame goes at once, as with DCF.
#[derive(Debug)]
pub struct Medium<F> {
    config: MediumConfig,
    spans: Spans,
    packer: Packer,
    /// PCG-XSH-RR 64/32 with the seed as its state: the draws are defined by the algorithm, not by a crate's
    /// version.
    rng: Pcg32,
    stations: Vec<Station<F>>,
    now: Nanos,
    idle_since: Nanos,
    on_air: Option<OnAir>,
    next_event: Option<Nanos>,
    // Reused by every TxEnd, so that no event allocates.
    delivered: Vec<Mpdu<F>>,
    given_up: Vec<Mpdu<F>>,
    counters: Counters,
}

impl<F> Medium<F> {
    /// An idle medium at time zero, with no backoff pending and every interframe space over.
    ///
    /// # Errors
    /// [`ConfigError`] where the configuration contradicts itself or the standard.
    pub fn new(config: MediumConfig) -> Result<Medium<F>, ConfigError> {
        let MediumConfig {
            mode,
            access,
            aggregation,
            ..
        } = config;
        if config.stations == 0 {
            return Err(ConfigError::Stations);
        }
        if config.queue_limit == 0 {
            return Err(ConfigError::QueueLimit);
        }
        access.check()?;
        aggregation.check(&mode)?;
        let after_collision = |span: Nanos| if access.eifs { span } else { Nanos::ZERO };
        let spans = Spans {
            slot: mode.slot(),
            ifs: access.ifs(&mode),
            cca: mode.cca_time(),
            ack: mode.sifs() + mode.ack_duration(),
            block_ack: mode.sifs() + mode.block_ack_duration(),
            after_own_collision: after_collision(mode.ack_timeout()),
            after_heard_collision: after_collision(mode.eifs_less_difs()),
        };
        let station = || Station {
            frames: VecDeque::new(),
            waiting: VecDeque::new(),
            on_air: 0,
            ppdu_end: Nanos::ZERO,
            cw: access.cw_min,
            backoff: None,
            slots_from: Nanos::ZERO,
        };
        Ok(Medium {
            config,
            spans,
            packer: Packer::new(&aggregation, &mode),
            rng: Pcg32::new(config.seed, PCG_STREAM),
            stations: (0..config.stations).map(|_| station()).collect(),
            now: Nanos::ZERO,
            idle_since: Nanos::ZERO,
            on_air: None,
            next_event: None,
            delivered: Vec::new(),
            given_up: Vec::new(),
            counters: Counters {
                stations: vec![StationCounters::default(); config.stations],
                ..Counters::default()
            },
        })
    }

    /// Queues an MPDU of `mpdu_len_b` octets (MAC header, security fields and FCS included) that reaches
    /// `station` at `arrival`.
    ///
    /// The caller performs all events before `arrival` first. An arrival outside [last event, next event] is
    /// moved to the nearer end: what has happened stays, and what comes after the next event is not decided
    /// yet. Each length that fits the PHY is taken; the caller keeps to the MTU.
    ///
    /// # Errors
    /// Gives the frame back when the queue is full, and counts it.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn enqueue(&mut self, station: usize, arrival: Nanos, mpdu_len_b: usize, frame: F) -> Result<(), F> {
        let arrival = arrival.max(self.now).min(self.next_event.unwrap_or(Nanos::MAX));
        let Spans { slot, cca, .. } = self.spans;
        let sender = &mut self.stations[station];
        let counters = &mut self.counters.stations[station];
        if sender.frames.len() == self.config.queue_limit {
            counters.drops_queue += 1;
            return Err(frame);
        }
        counters.enqueued += 1;
        sender.frames.push_back(frame);
        sender.waiting.push_back(Waiting {
            arrival,
            len_b: mpdu_len_b,
            retries: 0,
        });
        if sender.frames.len() > 1 {
            return Ok(()); // contends already
        }

        match (self.on_air, sender.backoff) {
            (None, Some(slots)) if sender.backoff_end(slot, slots) <= arrival => sender.backoff = None,
            (Some(air), None) => {
                // Too early to sense the others, it transmits as well.
                let start = sender.slots_from.max(arrival);
                if start < air.start + cca {
                    self.put_on_air(station, start);
                } else {
                    sender.backoff = Some(draw(&mut self.rng, sender.cw));
                }
            }
            (None, None) if arrival < self.idle_since => {
                sender.backoff = Some(draw(&mut self.rng, sender.cw));
            }
            _ => {}
        }
        self.next_event = match self.on_air {
            Some(air) => Some(air.end),
            None => [self.next_event, self.stations[station].tx_start(slot)]
                .into_iter()
                .flatten()
                .min(),
        };
        Ok(())
    }

    /// When [`Medium::advance`] has something to do; `None` while the medium and all queues are empty.
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        self.next_event
    }

    /// Performs the next event; `None` when there is none. The caller has queued all that arrived before it.
    pub fn advance(&mut self) -> Option<Event<'_, F>> {
        self.now = self.next_event?;
        Some(match self.on_air.take() {
            None => self.start_transmission(),
            Some(air) => self.end_transmission(air),
        })
    }

    /// The frames now on the air, oldest first, by station: a driver seals and opens them during their
    /// airtime. A station's frames come in one slice or in two (its queue is a ring).
    pub fn on_air_mut(&mut self) -> impl Iterator<Item = (usize, &mut [F])> {
        self.stations
            .iter_mut()
            .enumerate()
            .filter(|(_, s)| s.on_air > 0)
            .flat_map(|(index, station)| {
                let on_air = station.on_air;
                let (head, tail) = station.frames.as_mut_slices();
                let in_head = on_air.min(head.len());
                [
                    (index, &mut head[..in_head]),
                    (index, &mut tail[..on_air - in_head]),
                ]
                .into_iter()
                .filter(|(_, frames)| !frames.is_empty())
            })
    }

    /// MPDUs that the station holds, those on the air included.
    ///
    /// # Panics
    /// If there is no such station.
    #[must_use]
    pub fn queue_len(&self, station: usize) -> usize {
        self.stations[station].frames.len()
    }

    /// The time of the last event performed.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The end of the last exchange: its answer, or its PPDUs where they collided. Before it, the medium is
    /// busy.
    #[must_use]
    pub fn idle_since(&self) -> Nanos {
        self.idle_since
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn start_transmission(&mut self) -> Event<'_, F> {
        let Spans { slot, cca, .. } = self.spans;
        let start = self.now;
        let sensed_from = start + cca;
        for index in 0..self.stations.len() {
            let station = &mut self.stations[index];
            match station.tx_start(slot) {
                Some(own_start) if own_start < sensed_from => self.put_on_air(index, own_start),
                _ => self.freeze(index, start),
            }
        }
        let air = self
            .on_air
            .as_ref()
            .expect("an event without a transmission on the air starts one");
        self.counters.transmissions += 1;
        self.next_event = Some(air.end);
        Event::TxStart {
            at: start,
            ppdu_end: air.end,
        }
    }

    /// Starts the PPDU of one station, beside those that are on the air already.
    fn put_on_air(&mut self, index: usize, start: Nanos) {
        let station = &mut self.stations[index];
        let (mpdus, psdu_b) = self.packer.pack(station.waiting.iter().map(|w| w.len_b));
        let answer = if mpdus == 1 {
            self.spans.ack
        } else {
            self.spans.block_ack
        };
        station.on_air = mpdus;
        station.ppdu_end = start + self.config.mode.ppdu_duration(psdu_b);
        self.on_air = Some(match self.on_air {
            None => OnAir {
                start: self.now,
                end: station.ppdu_end,
                answer: Some(answer),
            },
            Some(air) => OnAir {
                end: air.end.max(station.ppdu_end),
                answer: None,
                ..air
            },
        });
        self.counters.stations[index].txops += 1;
    }

    /// Stops the countdown of a station that senses a transmission which started at `busy_from`.
    fn freeze(&mut self, index: usize, busy_from: Nanos) {
        let Spans { slot, cca, .. } = self.spans;
        let station = &mut self.stations[index];
        let Some(slots) = station.backoff else {
            if !station.waiting.is_empty() {
                station.backoff = Some(draw(&mut self.rng, station.cw));
            }
            return;
        };
        let passed = if busy_from < station.slots_from {
            0
        } else {
            let boundary = u64::from(self.config.access.countdown == Countdown::PerBoundary);
            (busy_from - station.slots_from).0 / slot.0 + boundary
        };
        let left = slots.saturating_sub(u16::try_from(passed).unwrap_or(u16::MAX));
        let end = station.backoff_end(slot, slots);
        if station.waiting.is_empty() && (left == 0 || end < busy_from + cca) {
            station.backoff = None;
            station.slots_from = end;
        } else {
            station.backoff = Some(left);
        }
    }

    fn end_transmission(&mut self, air: OnAir) -> Event<'_, F> {
        let Spans {
            slot,
            ifs,
            after_heard_collision,
            ..
        } = self.spans;
        self.delivered.clear();
        self.given_up.clear();
        self.idle_since = air.end + air.answer.unwrap_or(Nanos::ZERO);
        self.counters.busy += self.idle_since - air.start;
        self.counters.collisions += u64::from(air.answer.is_none());
        let slots_from = if air.answer.is_some() {
            self.idle_since
        } else {
            air.end + after_heard_collision
        } + ifs;
        for index in 0..self.stations.len() {
            self.stations[index].slots_from = slots_from;
            let mpdus = mem::take(&mut self.stations[index].on_air);
            if mpdus == 0 {
                continue;
            }
            match air.answer {
                Some(_) => self.succeed(index, mpdus),
                None => self.fail(index, mpdus, air.end),
            }
            // A backoff follows each transmission, whether or not another MPDU waits (10.3.4.3, 10.23.2.2).
            let station = &mut self.stations[index];
            station.backoff = Some(draw(&mut self.rng, station.cw));
        }
        self.next_event = self.stations.iter().filter_map(|s| s.tx_start(slot)).min();
        Event::TxEnd {
            at: self.now,
            collision: air.answer.is_none(),
            delivered: self.delivered.drain(..),
            given_up: self.given_up.drain(..),
        }
    }

    fn succeed(&mut self, index: usize, mpdus: usize) {
        let station = &mut self.stations[index];
        station.cw = self.config.access.cw_min;
        let counters = &mut self.counters.stations[index];
        counters.mpdus += mpdus as u64;
        counters.octets += station
            .waiting
            .range(..mpdus)
            .map(|w| w.len_b as u64)
            .sum::<u64>();
        station.leave(index, mpdus, &mut self.delivered);
    }

    fn fail(&mut self, index: usize, mpdus: usize, medium_idle: Nanos) {
        let access = self.config.access;
        let station = &mut self.stations[index];
        // Older MPDUs were sent as often as younger ones or more often, so those at the limit stand first.
        let given_up = station
            .waiting
            .range(..mpdus)
            .take_while(|w| w.retries + 1 == access.retry_limit)
            .count();
        let counters = &mut self.counters.stations[index];
        counters.collisions += 1;
        counters.drops_retry += given_up as u64;
        counters.retries += (mpdus - given_up) as u64;
        station.leave(index, given_up, &mut self.given_up);
        for waiting in station.waiting.range_mut(..mpdus - given_up) {
            waiting.retries += 1;
        }
        // The window starts afresh once the MPDU that it grew for is given up (10.3.3, 10.23.2.2).
        station.cw = if given_up > 0 {
            access.cw_min
        } else {
            access.cw_max.min(2 * station.cw + 1)
        };
        station.slots_from =
            (station.ppdu_end + self.spans.after_own_collision).max(medium_idle) + self.spans.ifs;
    }
}

/// A backoff uniform on 0 to `cw` slots; `cw` is a power of two less one, so the mask is exact.
fn draw(rng: &mut Pcg32, cw: u16) -> u16 {
    let [low, high, ..] = rng.next_u32().to_le_bytes();
    u16::from_le_bytes([low, high]) & cw
}
