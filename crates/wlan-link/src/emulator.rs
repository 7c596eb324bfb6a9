//! The emulated link in real time: two hosts, two TUN devices, one medium.
//!
//! The hot path, on one thread:
//! 1. read IP packets from the TUN devices, split super-packets, encapsulate, queue at the station (sequential)
//! 2. wait for the medium's next event (its time comes from the ideal previous event, never from the clock)
//! 3. a transmission starts: sequence and packet numbers (sequential), seal the batch
//! 4. capture what an observer would see
//! 5. open the batch, still during its airtime
//! 6. the transmission ends: replay check (sequential), decapsulate, join to super-packets where that is asked for,
//!    write to the peer's TUN device
//!
//! Only the end of a transmission has to be met to the microsecond, for then a host sees something. Its start may come
//! late as long as sealing and opening are done by the end. Once the frames have grown, nothing here allocates but for
//! the queue of the capture, whose buffers come back.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use arrayvec::ArrayVec;
use nix::poll::{PollFd, PollFlags};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use wlan_air::queue::Packet;
use wlan_air::{Event, Kind, Medium, Nanos, Ppdu, Route};
use wlan_ciphers::Suite;

use crate::beacon::AccessPoint;
use crate::capture::{Capture, Names, duration_us};
use crate::clock::Clock;
use crate::config::{Config, ConfigError};
use crate::counters::{Counters, Lateness};
use crate::frame::{Frame, Pool};
use crate::netns;
use crate::protection::Protection;
use crate::scenario::BadScenario;
use crate::schedule::{Scheduling, claim_real_time};
use crate::station::{Arrival, Role, Station};
use crate::tun::{Offloads, Tun};
use crate::words::WordError;

/// Packets for the air that are read from one device before the medium's time is looked at again: a host that sends
/// faster than it is read must not hold up the air.
const DRAIN_LIMIT: usize = 512;

/// Why a link did not come up, or did not go on.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The configuration asks for something that there is not.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The air cannot be like that.
    #[error(transparent)]
    Scenario(#[from] BadScenario),
    /// A word of it stands for nothing.
    #[error(transparent)]
    Word(#[from] WordError),
    /// The medium cannot be like that.
    #[error(transparent)]
    Medium(#[from] wlan_air::ConfigError),
    /// A namespace or a device was refused.
    #[error("{0}")]
    Setup(io::Error),
    /// The capture could not be written.
    #[error("the capture of the air: {0}")]
    Capture(io::Error),
    /// The MAC thread met an error that it cannot go on after.
    #[error("the MAC thread: {0}")]
    Mac(io::Error),
}

/// What the link is, as far as the emulator decides it.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The cipher that seals the frames, by hostapd's name; `open` without one.
    pub cipher: &'static str,
    /// How the MAC thread is scheduled.
    pub scheduling: Scheduling,
    /// PHY rate in kbit/s.
    pub rate_kbit_per_s: u64,
    /// MPDUs that each end queues.
    pub queue_limit_mpdus: usize,
    /// Whether MPDUs are joined to A-MPDUs.
    pub ampdu: bool,
    /// Whether hosts get packets joined to super-packets, as far as `offloads` allow.
    pub coalesce: bool,
    /// What the hosts' stacks leave to their devices.
    pub offloads: Offloads,
}

/// Totals since the link came up.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Age of the link.
    pub elapsed_s: f64,
    /// CPU time of the emulator process. Writing to a TUN device runs the receiving host's IP stack in it.
    pub emulator_cpu_s: f64,
    /// Part of it spent sealing and opening frames.
    pub crypto_s: f64,
    /// Time in which the medium was busy.
    pub air_busy_s: f64,
    /// How late the first frame of each PPDU was delivered, after the ideal end of the PPDU; none before the first
    /// delivery.
    pub lateness_us: Option<Lateness>,
    /// PPDUs later than 5 ms.
    pub slips: u64,
    /// Frames that the receiver rejected: wrong header or MIC, or replayed.
    pub open_errors: u64,
    /// Packets that a host's stack refused.
    pub refused: u64,
    /// Packets from a host that were neither IPv4 nor IPv6.
    pub unclassified: u64,
    /// Packets from a host that could not be made into MSDUs: too long, or split in a way that nobody knows.
    pub unsplittable: u64,
    /// PPDUs that the capture lacks because the disk did not keep up; none without a capture.
    pub capture_lost: Option<u64>,
    /// Transmissions, collisions included.
    pub transmissions: u64,
    /// Transmissions in which PPDUs collided.
    pub collisions: u64,
    /// What the access point sent.
    pub ap: Sent,
    /// What the station sent.
    pub sta: Sent,
}

/// What one end sent.
#[derive(Debug, Serialize)]
pub struct Sent {
    /// PPDUs.
    pub ppdus: u64,
    /// MPDUs that arrived.
    pub mpdus: u64,
    /// Octets of these, headers and security included.
    pub octets: u64,
    /// MPDUs sent again.
    pub retries: u64,
    /// MPDUs dropped at the full queue.
    pub drops_queue: u64,
    /// MPDUs given up at the retry limit.
    pub drops_retry: u64,
}

impl From<wlan_air::StationCounters> for Sent {
    fn from(of: wlan_air::StationCounters) -> Self {
        Self {
            ppdus: of.txops,
            mpdus: of.mpdus,
            octets: of.octets,
            retries: of.retries,
            drops_queue: of.drops_queue,
            drops_retry: of.drops_retry,
        }
    }
}

/// A running link.
pub struct Emulator {
    namespaces: [OwnedFd; 2],
    facts: Facts,
    requests: Sender<Sender<Report>>,
    wake: Arc<EventFd>,
    mac: JoinHandle<Result<(), EmulatorError>>,
}

impl Emulator {
    /// Makes both hosts' namespaces and devices and starts the MAC thread.
    ///
    /// # Errors
    /// The configuration is wrong, or the kernel refuses a namespace, a device or the capture file.
    pub fn start(config: &Config) -> Result<Self, EmulatorError> {
        let scenario = config.scenario.build()?;
        let mode = config.scenario.air().mode()?;
        let suite = config.scenario.suite()?;
        let coalesce = config.scenario.coalesce();
        let tid = config.scenario.tid()?;
        let station = scenario.medium.stations[0].clone();
        let names = Names {
            addresses: [Role::Ap, Role::Sta].map(Role::address).into(),
            tid: tid.unwrap_or_default(),
            access_point: AccessPoint::new(Role::Ap.address(), &scenario.medium, tid, suite),
        };
        let medium = Medium::new(scenario.medium)?;
        let host = |role| {
            let protection = suite
                .map(|suite| {
                    let key = config.temporal_key(suite)?;
                    Protection::new(suite, &key, role).ok_or(ConfigError::TemporalKey(suite))
                })
                .transpose()?;
            let (namespace, tun) = netns::create(Tun::create).map_err(EmulatorError::Setup)?;
            let offloads = tun.offloads();
            let station = Station::new(role, tun, tid, protection, coalesce);
            Ok::<_, EmulatorError>((namespace, station, offloads))
        };
        let ((ap_namespace, ap, offloads), (sta_namespace, sta, _)) = (host(Role::Ap)?, host(Role::Sta)?);
        let capture = config
            .pcap
            .as_deref()
            .map(|path| Capture::create(path, names))
            .transpose()
            .map_err(EmulatorError::Capture)?;
        let wake = Arc::new(
            EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
                .map_err(|error| EmulatorError::Setup(error.into()))?,
        );
        let (requests, queue) = channel();
        let (started, scheduling) = channel();
        let mut mac = Mac {
            clock: Clock::start(),
            stations: [ap, sta],
            medium,
            counters: Counters::default(),
            capture,
            data_on_air: 0,
            wake: Arc::clone(&wake),
            requests: queue,
            // Both queues, and what is being read.
            pool: Pool::new(2 * station.queue_limit + 2),
        };
        let mac = std::thread::Builder::new()
            .name("mac".into())
            .spawn(move || {
                // The other end waits for this one message.
                let _ = started.send(claim_real_time());
                let outcome = mac.run().map_err(EmulatorError::Mac);
                let written = mac
                    .capture
                    .map_or(Ok(()), Capture::finish)
                    .map_err(EmulatorError::Capture);
                outcome.and(written)
            })
            .map_err(EmulatorError::Setup)?;
        let facts = Facts {
            cipher: suite.map_or("open", Suite::name),
            scheduling: scheduling.recv().unwrap_or(Scheduling::Other),
            rate_kbit_per_s: mode.rate_kbps(),
            queue_limit_mpdus: station.queue_limit,
            ampdu: station.aggregation.max_mpdus > 1,
            coalesce,
            offloads,
        };
        Ok(Self {
            namespaces: [ap_namespace, sta_namespace],
            facts,
            requests,
            wake,
            mac,
        })
    }

    /// The access point's and the station's network namespaces.
    pub fn namespaces(&self) -> [&OwnedFd; 2] {
        self.namespaces.each_ref()
    }

    /// What the link is.
    pub fn facts(&self) -> Facts {
        self.facts.clone()
    }

    /// Totals so far; `None` when the MAC thread has ended, and [`Emulator::stop`] says why.
    pub fn report(&self) -> Option<Report> {
        let (answer, report) = channel();
        self.requests.send(answer).ok()?;
        self.wake.write(1).ok()?;
        report.recv().ok()
    }

    /// Takes the link down.
    ///
    /// # Errors
    /// What ended the MAC thread early, or that the capture did not reach the disk.
    pub fn stop(self) -> Result<(), EmulatorError> {
        drop(self.requests);
        // The write wakes the thread, which then finds that no one can ask it any more.
        self.wake
            .write(1)
            .map_err(|error| EmulatorError::Mac(error.into()))?;
        self.mac
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The state of the MAC thread.
struct Mac {
    clock: Clock,
    stations: [Station; 2],
    medium: Medium<Frame>,
    counters: Counters,
    capture: Option<Capture>,
    /// Data PPDUs on the air.
    data_on_air: usize,
    wake: Arc<EventFd>,
    requests: Receiver<Sender<Report>>,
    /// Frames to use again.
    pool: Pool,
}

/// Whether the link goes on.
#[derive(PartialEq, Eq)]
enum Next {
    Go,
    Stop,
}

/// Whose packets are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Everyone's.
    All,
    /// Those of stations that contend already, of which more packets change nothing but the length of their queue.
    Contending,
}

impl Mac {
    fn run(&mut self) -> io::Result<()> {
        while self.answer_requests() == Next::Go {
            let due = self.medium.next_event();
            if self.data_on_air > 0 {
                // Whatever arrives now waits for the end anyway: no need to look.
                self.clock.wait_until(due.unwrap_or(Nanos::ZERO));
            } else if !self.medium.is_busy() {
                if self.wait_for_arrival(due)? {
                    // Empty unless a request woke us.
                    let _ = self.wake.read();
                    let now = self.clock.now();
                    // What came after the next event was due must not change it.
                    if due.is_none_or(|at| now < at) {
                        self.read_arrivals(Whose::All, now)?;
                        continue;
                    }
                }
                if let Some(due) = due {
                    // A card fills its aggregate when it gets at the air, not when it begins to contend.
                    self.read_arrivals(Whose::Contending, due)?;
                }
            }
            // An exchange whose data is not on the air goes on by itself: no host notices when.
            self.perform_event()?;
        }
        Ok(())
    }

    /// Waits for a packet at a station that has none queued (only those can change what comes next), or a
    /// request (`true`), or until the next event is due (`false`).
    fn wait_for_arrival(&self, due: Option<Nanos>) -> io::Result<bool> {
        let idle = self
            .stations
            .iter()
            .enumerate()
            .filter(|(index, _)| self.medium.queue_len(*index) == 0);
        let descriptors = idle
            .map(|(_, station)| station.device())
            .chain([self.wake.as_fd()]);
        let mut polled: ArrayVec<PollFd<'_>, 3> = descriptors
            .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
            .collect();
        self.clock.wait_readable(&mut polled, due)
    }
}

impl Mac {
    fn answer_requests(&self) -> Next {
        loop {
            match self.requests.try_recv() {
                // Who asked may have gone meanwhile.
                Ok(answer) => drop(answer.send(self.report())),
                Err(TryRecvError::Empty) => return Next::Go,
                Err(TryRecvError::Disconnected) => return Next::Stop,
            }
        }
    }

    fn report(&self) -> Report {
        let cpu = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has this clock");
        let medium = self.medium.counters();
        let [ap, sta] = [0, 1].map(|station| medium.stations[station].into());
        Report {
            elapsed_s: self.clock.now().as_secs_f64(),
            emulator_cpu_s: Duration::from(cpu).as_secs_f64(),
            crypto_s: self.counters.crypto.as_secs_f64(),
            air_busy_s: medium.airtime.busy().as_secs_f64(),
            lateness_us: self.counters.lateness_us(),
            slips: self.counters.slips(),
            open_errors: self.counters.open_errors,
            refused: self.counters.refused,
            unclassified: self.counters.unclassified,
            unsplittable: self.counters.unsplittable,
            capture_lost: self.capture.as_ref().map(Capture::lost),
            transmissions: medium.transmissions,
            collisions: medium.collisions,
            ap,
            sta,
        }
    }

    /// Step 1: queues what waits in the devices, as having arrived at `arrival`.
    fn read_arrivals(&mut self, whose: Whose, arrival: Nanos) -> io::Result<()> {
        for (index, station) in self.stations.iter_mut().enumerate() {
            if whose == Whose::Contending && self.medium.queue_len(index) == 0 {
                continue;
            }
            let mut read = 0;
            while read < DRAIN_LIMIT {
                let medium = &mut self.medium;
                let msdu_b = station.msdu_around_b();
                let found = station.read(&mut self.pool, |frame| {
                    let route = Route {
                        from: index,
                        to: Some(peer(index)),
                        contender: 0,
                    };
                    let msdu = Packet {
                        arrival,
                        len_b: frame.mpdu().len() - msdu_b,
                        flow: 0,
                        frame,
                    };
                    medium.enqueue(route, msdu);
                })?;
                recycle(&mut self.medium, &mut self.pool);
                read += match found {
                    Arrival::Packets(packets) => packets,
                    Arrival::Unclassified => {
                        self.counters.unclassified += 1;
                        1
                    }
                    Arrival::Unsplittable => {
                        self.counters.unsplittable += 1;
                        1
                    }
                    Arrival::Nothing => break,
                };
            }
        }
        Ok(())
    }

    /// Steps 3 to 6.
    fn perform_event(&mut self) -> io::Result<()> {
        match self.medium.advance() {
            Some(Event::PpduStart(ppdu)) if is_data(&ppdu) => {
                self.data_on_air += 1;
                self.protect(&ppdu);
            }
            Some(Event::PpduStart(ppdu)) => {
                if let Some(capture) = &mut self.capture {
                    let asked = self.medium.outstanding(ppdu.sender).next();
                    let asked = asked.and_then(|(frame, _)| frame.numbers.map(|numbers| numbers.sequence));
                    capture.begin(&ppdu, self.medium.duration(ppdu.sender), asked);
                }
            }
            Some(Event::PpduEnd { ppdu, received }) => {
                if let Some(capture) = &mut self.capture {
                    let outstanding = self.medium.outstanding(ppdu.sender);
                    let arrived = outstanding.filter(|&(_, arrived)| arrived && is_data(&ppdu));
                    let numbers = arrived.filter_map(|(frame, _)| frame.numbers);
                    capture.end(&ppdu, numbers.map(|numbers| numbers.sequence));
                }
                if is_data(&ppdu) {
                    self.data_on_air -= 1;
                    if received {
                        self.counters
                            .record_lateness(self.clock.now().saturating_sub(ppdu.end));
                    }
                }
                self.hand_up();
                if is_data(&ppdu) {
                    // What waits in the devices came at some time since the last look; the end of the transmission is
                    // the latest that does not make a sender seem idle when it was not.
                    self.read_arrivals(Whose::All, ppdu.end)?;
                }
            }
            Some(Event::Elapsed { .. }) => self.hand_up(),
            None => {}
        }
        recycle(&mut self.medium, &mut self.pool);
        Ok(())
    }

    /// Gives hosts what their stations can hand on since the last event: what a data PPDU brought, and what waited for
    /// an MPDU that was given up.
    fn hand_up(&mut self) {
        let now = self.medium.now();
        let mut arrived = self.medium.deliver().peekable();
        let Some((first, _)) = arrived.peek() else { return };
        let station = peer(first.route.from);
        // Events without data are performed ahead of their time.
        self.clock.wait_until(now);
        let undelivered = self.stations[station].deliver(arrived.map(|(_, frame)| &*frame));
        self.counters.open_errors += undelivered.rejected as u64;
        self.counters.refused += undelivered.refused as u64;
    }

    /// Steps 3 to 5, for the frames on the air.
    fn protect(&mut self, ppdu: &Ppdu) {
        let duration_us = duration_us(self.medium.duration(ppdu.sender));
        let start = self.clock.now();
        self.stations[ppdu.sender].seal(self.medium.on_air(ppdu.sender), duration_us);
        if let Some(capture) = &mut self.capture {
            let sealed = self.clock.now();
            self.counters.crypto += sealed - start;
            capture.begin_data(ppdu, self.medium.on_air(ppdu.sender).map(|frame| frame.mpdu()));
        }
        let start = if self.capture.is_some() {
            self.clock.now()
        } else {
            start
        };
        self.stations[peer(ppdu.sender)].open(self.medium.on_air(ppdu.sender));
        self.counters.crypto += self.clock.now() - start;
    }
}

/// Takes back the frames that have left the medium.
fn recycle(medium: &mut Medium<Frame>, pool: &mut Pool) {
    for gone in medium.take_gone() {
        pool.give(gone.frame);
    }
}

fn is_data(ppdu: &Ppdu) -> bool {
    matches!(ppdu.kind, Kind::Data { .. })
}

/// The other station of the two.
fn peer(station: usize) -> usize {
    1 - station
}
