//! The medium: transmissions, receptions and collisions.
//!
//! The medium consists of stations and the PPDUs on the air. Each station has one contender (DCF) or one per
//! access category (EDCA). [`Medium::advance`] executes the earliest of four events: a PPDU ends, an action
//! after a SIFS or a timeout is due, a beacon is due, a station's countdown ends. Each event depends only on
//! earlier events:
//!
//! 1. A countdown ends. The contender takes MSDUs from its queues, and the exchange starts with an RTS, a
//!    CTS-to-self or the data.
//! 2. A PPDU starts. Every station that hears it stops its countdowns, unless the station is about to start
//!    within aCCATime. A station that is already receiving a PPDU can decode neither PPDU.
//! 3. A PPDU ends. If its receiver could decode it, the receiver answers after a SIFS. Other stations set
//!    their NAV, or wait for EIFS if they could not decode the PPDU.
//! 4. The answer ends or does not arrive. MPDUs are acknowledged, retransmitted or dropped, and a backoff is
//!    drawn.
//!
//! [`Medium::deliver`] returns received frames, in the order in which the receiver delivers them.
//! [`Medium::take_completions`] returns the frames that have left their sender.

mod arrival;
mod config;
mod counters;
mod event;
mod exchange;
mod flow;
mod fragment;
mod fragments;
mod reception;
mod settle;
mod station;

use std::vec::Drain;

use rand_pcg::Pcg32;

use self::flow::{Flow, Receipt};
use self::station::{Exchange, Payload, Station};
use crate::phy::Mode;
use crate::queue::{Discipline, Packet, Queue};
use crate::rate::Rate;
use crate::{ConfigError, Nanos};

pub use config::{Beacons, Hearing, MediumConfig, Protection, StationConfig};
pub use counters::{Airtime, Counters, StationCounters};
pub use event::{Completion, Delivery, Event, Kind, Outcome, Ppdu, Route};
pub use fragment::Fragment;

/// Streams of the random generators, separate so that losses do not change the backoffs of a seed.
const BACKOFF_STREAM: u64 = 0x8021_1000;
const LOSS_STREAM: u64 = 0x8021_1001;

/// A PPDU on the air.
#[derive(Clone, Copy, Debug)]
struct OnAir {
    id: u64,
    ppdu: Ppdu,
    /// End of the time that the PPDU reserves for its exchange.
    nav_until: Nanos,
}

/// An action at a given time, unless another event cancels it.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// A station sends an answer.
    Answer {
        station: usize,
        to: usize,
        kind: Kind,
        mode: Mode,
        nav_until: Nanos,
    },
    /// A station continues its exchange.
    Continue { station: usize },
    /// The answer did not arrive.
    Timeout { station: usize },
    /// The target beacon transmission time.
    Beacon,
}

/// Durations of the BSS, computed once.
#[derive(Clone, Copy, Debug)]
struct Spans {
    slot: Nanos,
    sifs: Nanos,
    pifs: Nanos,
    cca: Nanos,
    /// EIFS minus DIFS.
    eifs: Nanos,
    /// The shortest time from the end of a PPDU to a start that does not answer the PPDU.
    soonest: Nanos,
}

impl Spans {
    fn new(config: &MediumConfig) -> Spans {
        let bss = &config.bss;
        let pifs = bss.sifs() + bss.slot();
        let accesses = config.stations.iter().flat_map(|station| &station.access);
        Spans {
            slot: bss.slot(),
            sifs: bss.sifs(),
            pifs,
            cca: bss.cca_time(),
            eifs: if config.eifs {
                bss.eifs_less_difs()
            } else {
                Nanos::ZERO
            },
            soonest: accesses.map(|access| access.ifs(bss)).fold(pifs, Nanos::min),
        }
    }
}

/// The next event.
#[derive(Clone, Copy, Debug)]
enum Next {
    End(usize),
    Act(usize),
    Start(usize),
}

/// A medium. `F` is a frame, which the medium never inspects.
///
/// A station transmits when its backoff has ended, at the earliest when the interframe space after the last
/// exchange is over. A frame that finds the medium idle and no backoff pending is sent without a backoff. A
/// station draws a backoff in three cases (10.3.4.2, 10.3.4.3; 10.23.2.2):
///
/// - after each of its own transmissions;
/// - when a frame arrives while the medium is busy;
/// - when the medium becomes busy during the interframe space of a frame that required no backoff.
///
/// EDCA's rule that the late first frame of an idle station waits for the next slot boundary is not modelled:
/// such a frame is sent at once, as with DCF.
#[derive(Debug)]
pub struct Medium<F> {
    config: MediumConfig,
    spans: Spans,
    /// PCG-XSH-RR 64/32 with the seed as its state: the algorithm defines the draws, so they do not depend on
    /// a crate's version.
    backoffs: Pcg32,
    losses: Pcg32,
    stations: Vec<Station<F>>,
    /// The next start of each station, as far as it is known. The start of a [`Station::stale`] station is
    /// not computed yet.
    starts: Vec<Nanos>,
    /// No stale station starts before this time.
    stale_from: Nanos,
    /// The stations that hear each station.
    heard_by: Vec<Vec<usize>>,
    on_air: Vec<OnAir>,
    actions: Vec<(Nanos, Action)>,
    next_id: u64,
    now: Nanos,
    next: Option<(Nanos, Next)>,
    /// Time at which the medium became busy, and whether PPDUs have overlapped since then.
    taken_at: Nanos,
    overlap: bool,
    /// End of the last PPDU, while no PPDU is on the air.
    silent_from: Nanos,
    /// The flow, by sender and contender, whose MSDUs the last event made ready.
    fresh: Option<(usize, usize, usize)>,
    /// The flow whose ready MSDUs the driver took last.
    taken: Option<(usize, usize, usize)>,
    // Reused, so that no event allocates memory.
    completions: Vec<Completion<F>>,
    dropped: Vec<Packet<F>>,
    counters: Counters,
}

impl<F> Medium<F> {
    /// Creates a medium that becomes idle at time zero, with no backoff pending.
    ///
    /// # Errors
    /// [`ConfigError`] if the configuration is inconsistent or violates the standard.
    pub fn new(config: MediumConfig) -> Result<Medium<F>, ConfigError> {
        config.check()?;
        let count = config.stations.len();
        let stations = config.stations.iter();
        let mut medium = Medium {
            spans: Spans::new(&config),
            backoffs: Pcg32::new(config.seed, BACKOFF_STREAM),
            losses: Pcg32::new(config.seed, LOSS_STREAM),
            stations: stations
                .map(|station| Station::new(station, &config.bss))
                .collect(),
            starts: vec![Nanos::MAX; count],
            stale_from: Nanos::MAX,
            heard_by: (0..count)
                .map(|from| config.hearing.heard_by(from, count))
                .collect(),
            on_air: Vec::new(),
            actions: Vec::new(),
            next_id: 0,
            now: Nanos::ZERO,
            next: None,
            taken_at: Nanos::ZERO,
            overlap: false,
            silent_from: Nanos::ZERO,
            fresh: None,
            taken: None,
            completions: Vec::new(),
            dropped: Vec::new(),
            counters: Counters {
                stations: vec![StationCounters::default(); count],
                ..Counters::default()
            },
            config,
        };
        if let Some(beacons) = medium.config.beacons {
            medium.actions.push((beacons.interval, Action::Beacon));
        }
        medium.next = medium.find_next();
        Ok(medium)
    }

    /// Queues an MSDU (including its LLC/SNAP header) that arrives at the station at `msdu.arrival`. If the
    /// MSDU is dropped, now or later, [`Medium::take_completions`] returns it.
    ///
    /// The caller first executes all events before the arrival. An arrival outside [last event, next event]
    /// is moved to the nearer end: past events cannot change, and the state after the next event is not
    /// decided yet. The medium accepts any length that fits the PHY; the caller must respect the MTU.
    ///
    /// # Panics
    /// If the station or contender does not exist.
    pub fn enqueue(&mut self, route: Route, mut msdu: Packet<F>) {
        let next = self.next.map_or(Nanos::MAX, |(at, _)| at);
        let late = msdu.arrival < self.now;
        let arrival = msdu.arrival.max(self.now).min(next);
        msdu.arrival = arrival;
        let Route { from, to, contender } = route;
        let config = &self.config.stations[from];
        let is_full = self.stations[from].contenders[contender].backlog >= config.queue_limit;
        if is_full && config.discipline == Discipline::Fifo {
            self.drop_from_queue(from, msdu.frame);
            return;
        }
        self.counters.stations[from].enqueued += 1;
        let flow = self.flow_to(to, from, contender);
        let sender = &mut self.stations[from].contenders[contender];
        match sender.flows[flow].queue.push(msdu) {
            None => sender.backlog += 1,
            // The queue dropped this MSDU or another one in its place.
            Some(dropped) => self.drop_from_queue(from, dropped.frame),
        }
        if self.stations[from].contenders[contender].backlog == 1 {
            self.contend(from, contender, arrival, late);
            self.next = self.find_next();
        }
    }

    /// The index of a contender's flow to a station, which is created for its first MSDU.
    fn flow_to(&mut self, to: usize, from: usize, contender: usize) -> usize {
        let flows = &mut self.stations[from].contenders[contender].flows;
        if let Some(index) = flows.iter().position(|flow| flow.to == to) {
            return index;
        }
        let config = &self.config.stations[from];
        let queue = Queue::new(config.discipline, config.queue_limit).expect("the configuration was checked");
        let rate = Rate::new(&config.rate, &self.config.bss);
        flows.push(Flow::new(to, queue, rate));
        flows.len() - 1
    }

    /// Counts and returns an MSDU that the queue of a station dropped.
    fn drop_from_queue(&mut self, station: usize, frame: F) {
        self.counters.stations[station].drops_queue += 1;
        self.completions.push(Completion {
            station,
            frame,
            outcome: Outcome::Queue,
        });
    }

    /// A contender has a frame to send again, since `arrival`. If `late`, the frame arrived before the last
    /// event.
    fn contend(&mut self, index: usize, contender: usize, arrival: Nanos, late: bool) {
        let Spans { slot, cca, eifs, .. } = self.spans;
        let station = &mut self.stations[index];
        let free = station.is_free();
        let from = station.access_from(eifs);
        let sensed_until = station.idle_from.max(station.nav.end());
        let senses = station.heard > 0 && !station.transmitting && station.exchange.is_none();
        let busy_from = station.busy_from;
        let sender = &mut station.contenders[contender];
        sender.since = arrival;
        match (free, sender.backoff) {
            (true, Some(slots)) if from + sender.ifs + slot * u64::from(slots) <= arrival => {
                sender.backoff = None;
            }
            (true, None) if arrival < sensed_until || (late && arrival == sensed_until) => {
                sender.draw(&mut self.backoffs);
            }
            (false, None) => {
                // The station transmits as well, because it cannot sense the other PPDUs yet.
                let start = (from + sender.ifs).max(arrival);
                if senses && start < busy_from + cca {
                    sender.committed = Some(start);
                } else {
                    sender.draw(&mut self.backoffs);
                }
            }
            _ => {}
        }
        self.reschedule(index);
    }

    /// Time of the next event of [`Medium::advance`]; `None` while the medium and all queues are empty.
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        self.next.map(|(at, _)| at)
    }

    /// Executes the next event; `None` if there is none. The caller must have queued all earlier arrivals.
    pub fn advance(&mut self) -> Option<Event> {
        let (at, next) = self.next?;
        self.now = at;
        let event = match next {
            Next::End(index) => self.end_ppdu(index),
            Next::Act(index) => {
                let (_, action) = self.actions.swap_remove(index);
                self.act(at, action)
            }
            Next::Start(station) => self.start_exchange(at, station),
        };
        self.next = self.find_next();
        Some(event)
    }

    /// At equal times, ends precede starts, and lower stations precede higher stations.
    fn find_next(&mut self) -> Option<(Nanos, Next)> {
        let mut next: Option<(Nanos, Next)> = None;
        let mut take = |at: Nanos, event: Next| {
            if next.is_none_or(|(earliest, _)| at < earliest) {
                next = Some((at, event));
            }
        };
        for (index, air) in self.on_air.iter().enumerate() {
            take(air.ppdu.end, Next::End(index));
        }
        for (index, (at, _)) in self.actions.iter().enumerate() {
            take(*at, Next::Act(index));
        }
        if next.is_none_or(|(at, _)| self.stale_from < at) {
            self.reschedule_stale();
        }
        let earliest = self.starts.iter().copied().min().unwrap_or(Nanos::MAX);
        if earliest < Nanos::MAX && next.is_none_or(|(at, _)| earliest < at) {
            let station = self.starts.iter().position(|start| *start == earliest)?;
            next = Some((earliest, Next::Start(station)));
        }
        next
    }

    /// Computes the next start of a station.
    fn reschedule(&mut self, index: usize) {
        let Spans { slot, pifs, eifs, .. } = self.spans;
        let station = &mut self.stations[index];
        station.stale = false;
        self.starts[index] = station
            .next_start(eifs, slot, pifs)
            .map_or(Nanos::MAX, |(at, _)| at);
    }

    /// A station becomes idle at `end`. An answer usually follows before the station could start, so its
    /// start is computed only when no earlier event remains.
    fn fall_idle(&mut self, index: usize, end: Nanos) {
        self.stations[index].stale = true;
        self.starts[index] = Nanos::MAX;
        self.stale_from = self.stale_from.min(end + self.spans.soonest);
    }

    /// Computes the next start of each stale station.
    fn reschedule_stale(&mut self) {
        if self.stale_from == Nanos::MAX {
            return;
        }
        self.stale_from = Nanos::MAX;
        for index in 0..self.stations.len() {
            if self.stations[index].stale {
                self.reschedule(index);
            }
        }
    }

    /// The frames of the data PPDU that `sender` has on the air, oldest first. A driver seals and opens them
    /// during their airtime. Every MSDU of an A-MSDU is a separate item.
    ///
    /// # Panics
    /// If the station does not exist.
    pub fn on_air(&mut self, sender: usize) -> impl Iterator<Item = &mut F> {
        let sends_data =
            |air: &OnAir| air.ppdu.sender == sender && matches!(air.ppdu.kind, Kind::Data { .. });
        let station = &mut self.stations[sender];
        let flow = match station.exchange {
            Some(Exchange { contender, flow, .. }) if self.on_air.iter().any(sends_data) => {
                Some(&mut station.contenders[contender].flows[flow])
            }
            _ => None,
        };
        flow.into_iter()
            .flat_map(|flow| flow.window.iter_mut())
            .filter(|slot| slot.on_air)
            .flat_map(|slot| {
                std::iter::once(&mut slot.msdu.frame)
                    .chain(slot.joined.iter_mut().map(|msdu| &mut msdu.frame))
            })
    }

    /// The Duration field of the PPDU that `sender` has on the air (9.2.5): the time after its end that is
    /// reserved for the exchange. Zero if the station is not transmitting.
    #[must_use]
    pub fn duration(&self, sender: usize) -> Nanos {
        let air = self.on_air.iter().find(|air| air.ppdu.sender == sender);
        air.map_or(Nanos::ZERO, |air| air.nav_until.saturating_sub(air.ppdu.end))
    }

    /// The MPDUs of the current exchange of `sender`, oldest first. The flag tells whether the receiver has
    /// the MPDU, from this PPDU or an earlier one. The first MSDU represents an A-MSDU. Empty without an
    /// exchange.
    ///
    /// # Panics
    /// If the station does not exist.
    pub fn outstanding(&self, sender: usize) -> impl Iterator<Item = (&F, bool)> {
        let station = &self.stations[sender];
        let exchange = station
            .exchange
            .filter(|exchange| exchange.kind != Payload::Beacon);
        exchange.into_iter().flat_map(|exchange| {
            let flow = &station.contenders[exchange.contender].flows[exchange.flow];
            let slots = flow.window.iter();
            slots
                .filter(|slot| slot.on_air)
                .map(|slot| (&slot.msdu.frame, slot.arrived() || slot.fragment_received))
        })
    }

    /// Every MSDU that its receiver can deliver since the last event, in order. The caller must call this
    /// after each [`Event::PpduEnd`] and each [`Event::Elapsed`]. The frame stays until its sender knows that
    /// it arrived.
    pub fn deliver(&mut self) -> impl Iterator<Item = (Delivery, &mut F)> {
        let fresh = self.fresh.take();
        self.taken = fresh.or(self.taken);
        let flow = fresh.map(|(from, contender, index)| {
            let flow = &mut self.stations[from].contenders[contender].flows[index];
            let route = Route {
                from,
                to: flow.to,
                contender,
            };
            (route, &mut flow.window)
        });
        flow.into_iter().flat_map(|(route, window)| {
            let ready = window.iter_mut().filter(|slot| slot.receipt == Receipt::Ready);
            ready.flat_map(move |slot| {
                slot.receipt = Receipt::Taken;
                let retries = slot.sent;
                let msdus = std::iter::once(&mut slot.msdu).chain(&mut slot.joined);
                msdus.map(move |msdu| {
                    let delivery = Delivery {
                        route,
                        arrival: msdu.arrival,
                        retries,
                    };
                    (delivery, &mut msdu.frame)
                })
            })
        })
    }

    /// The frames that have left the medium since the last call. Call it after [`Medium::deliver`].
    pub fn take_completions(&mut self) -> Drain<'_, Completion<F>> {
        if let Some((from, contender, flow)) = self.taken.take() {
            self.reap(from, contender, flow);
        }
        self.completions.drain(..)
    }

    /// Number of MSDUs that the station holds, including MSDUs on the air.
    ///
    /// # Panics
    /// If the station does not exist.
    #[must_use]
    pub fn queue_len(&self, station: usize) -> usize {
        self.stations[station].contenders.iter().map(|c| c.backlog).sum()
    }

    /// Whether a PPDU is on the air or an exchange is in progress. A frame that arrives in this time affects
    /// only later transmissions.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.on_air.is_empty() || self.stations.iter().any(|station| station.exchange.is_some())
    }

    /// The time of the last executed event.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The counters since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}
