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
mod request;
mod settle;
mod station;

use std::vec::Drain;

use rand_pcg::Pcg32;

use self::flow::Flow;
use self::station::{Exchange, Payload, Station};
use crate::channel::Signal;
use crate::phy::Mode;
use crate::queue::{Discipline, Packet, Queue};
use crate::rate::{Rate, RateControl};
use crate::{ConfigError, Nanos};

pub use config::{Beacons, Hearing, MediumConfig, Protection, StationConfig};
pub use counters::{Airtime, Counters, StationCounters};
pub use event::{Completion, Delivery, Event, Kind, Outcome, Ppdu, Route};
pub use fragment::Fragment;
pub use request::{RequestFn, TxRequest};

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
    /// Requests the transmissions of the stations with [`RateControl::Driver`].
    request: Option<RequestFn<F>>,
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
    /// The stations that received the last group-addressed frame.
    group_receivers: Vec<usize>,
    // Reused, so that no event allocates memory.
    completions: Vec<Completion<F>>,
    dropped: Vec<Packet<F>>,
    counters: Counters,
}

impl<F> Medium<F> {
    /// Creates a medium that becomes idle at time zero, with no backoff pending.
    ///
    /// # Errors
    /// [`ConfigError`] if the configuration is inconsistent or violates the standard, or if a station has
    /// [`RateControl::Driver`].
    pub fn new(config: MediumConfig) -> Result<Medium<F>, ConfigError> {
        if config.stations.iter().any(|s| s.rate == RateControl::Driver) {
            return Err(ConfigError::NoDriver);
        }
        Medium::create(config, None)
    }

    /// Creates a medium whose driver chooses the mode of each transmission of the stations with
    /// [`RateControl::Driver`], as the rate control of Linux does with its multi-rate retry chains.
    ///
    /// `request` gets a frame and the number of its previous transmissions, and returns the next transmission.
    /// `None` ends the chain: the frame is dropped with [`Outcome::Retries`]. The rules are:
    ///
    /// 1. The oldest MPDU that is not acknowledged determines the mode and the protection of an exchange. If it
    ///    is aggregable, the following MPDUs join its A-MPDU as long as they are aggregable and request the
    ///    same mode, within the limits of [`Aggregation`](crate::Aggregation). Otherwise it is sent alone.
    /// 2. Only transmissions of the payload count. If an RTS is not answered, the MPDU keeps its place in the
    ///    chain; it is dropped after [`Access::retry_limit`](crate::Access::retry_limit) consecutive
    ///    unanswered RTSs. An MPDU is dropped after 255 transmissions even if the chain continues.
    /// 3. The contention window doubles after each failed exchange. It is reset by an answer, and if the
    ///    exchange drops an MPDU.
    /// 4. A group-addressed frame is transmitted once, in the mode of its first request.
    ///
    /// The medium calls `request` several times per transmission. The result must depend only on the count and
    /// on parts of the frame that do not change while the medium holds it. A frame without a first
    /// transmission is dropped when it is queued.
    ///
    /// A driver that builds whole MPDUs configures [`Framing`](crate::Framing) with the octets that its frames
    /// lack: `mac_b` is 4 if only the FCS is missing. It also builds A-MSDUs and fragments itself, and sends
    /// beacons through the contender [`Access::beacon`](crate::Access::beacon). After each event, it calls
    /// [`Medium::deliver`] and then [`Medium::take_completions`]. [`Completion::transmissions`] tells the
    /// tries of each entry of the frame's chain: the entries were used in order.
    ///
    /// # Errors
    /// [`ConfigError`] if the configuration is inconsistent or violates the standard.
    ///
    /// # Panics
    /// [`Medium::advance`] panics if the driver requests a mode that the BSS does not carry, or if it ends the
    /// chain of a frame at a count for which it requested a transmission before.
    pub fn with_driver(config: MediumConfig, request: RequestFn<F>) -> Result<Medium<F>, ConfigError> {
        Medium::create(config, Some(request))
    }

    fn create(config: MediumConfig, request: Option<RequestFn<F>>) -> Result<Medium<F>, ConfigError> {
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
            group_receivers: Vec::new(),
            request,
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
    /// A group-addressed MSDU is sent once, without RTS, Ack, A-MPDU, A-MSDU and fragments, in the BSS's mode
    /// of beacons unless a driver requests another mode. It reserves no time after its PPDU. Then the station
    /// continues its TXOP or draws a backoff, as after an acknowledged MSDU.
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
        if let Some(request) = self.driver_of(from)
            && request(&msdu.frame, 0).is_none()
        {
            self.counters.stations[from].drops_retry += 1;
            self.drop_unsent(from, msdu.frame, Outcome::Retries);
            return;
        }
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
    fn flow_to(&mut self, to: Option<usize>, from: usize, contender: usize) -> usize {
        let flows = &mut self.stations[from].contenders[contender].flows;
        if let Some(index) = flows.iter().position(|flow| flow.to == to) {
            return index;
        }
        let config = &self.config.stations[from];
        let queue = Queue::new(config.discipline, config.queue_limit).expect("the configuration was checked");
        let has_rate = to.is_some() && config.rate != RateControl::Driver;
        let rate = has_rate.then(|| Rate::new(&config.rate, &self.config.bss));
        flows.push(Flow::new(to, queue, rate));
        flows.len() - 1
    }

    /// Counts and returns an MSDU that the queue of a station dropped.
    fn drop_from_queue(&mut self, station: usize, frame: F) {
        self.counters.stations[station].drops_queue += 1;
        self.drop_unsent(station, frame, Outcome::Queue);
    }

    /// Returns an MSDU that was never on the air.
    fn drop_unsent(&mut self, station: usize, frame: F, outcome: Outcome) {
        self.completions.push(Completion {
            station,
            frame,
            outcome,
            transmissions: 0,
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

    /// The signal of a PPDU at a station; `None` on a medium without a channel.
    ///
    /// # Panics
    /// If the station is not in the channel.
    #[must_use]
    pub fn signal(&self, ppdu: &Ppdu, station: usize) -> Option<Signal> {
        let channel = self.config.channel.as_ref()?;
        Some(channel.signal(ppdu.sender, station, ppdu.mode.bandwidth_mhz(), ppdu.start))
    }

    /// The signal of a received data PPDU at its receiver, if the event is the end of such a PPDU on a medium with a
    /// channel. The receiver has decoded at least one of its MPDUs.
    #[must_use]
    pub fn received_signal(&self, event: &Event) -> Option<(usize, Signal)> {
        match event {
            Event::PpduEnd { ppdu, received: true } if matches!(ppdu.kind, Kind::Data { .. }) => {
                let receiver = ppdu.receiver?;
                Some((receiver, self.signal(ppdu, receiver)?))
            }
            _ => None,
        }
    }

    /// The MPDUs of the current exchange of `sender`, oldest first. The flag tells whether the receiver has
    /// the MPDU, from this PPDU or an earlier one. The first MSDU represents an A-MSDU. Empty without an
    /// exchange; the exchange of a group-addressed frame ends with its PPDU.
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
    /// it arrived. A group-addressed MSDU is one item with all its receivers.
    pub fn deliver(&mut self) -> impl Iterator<Item = (Delivery<'_>, &mut F)> {
        let Self {
            fresh,
            taken,
            stations,
            group_receivers,
            ..
        } = self;
        let fresh = fresh.take();
        *taken = fresh.or(*taken);
        let ready = fresh.map(|(from, contender, index)| {
            let flow = &mut stations[from].contenders[contender].flows[index];
            flow.ready(from, contender, group_receivers)
        });
        ready.into_iter().flatten()
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
