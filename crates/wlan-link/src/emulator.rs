//! The emulated link in real time: two hosts, two TUN devices, one medium.
//!
//! The hot path, on one thread:
//! 1. read IP packets from the TUN devices, encapsulate, queue at the station (sequential)
//! 2. wait for the medium's next event (its time comes from the ideal previous event, never from the clock)
//! 3. a transmission starts: sequence and packet numbers (sequential), seal the batch
//! 4. capture what an observer would see
//! 5. open the batch, still during its airtime
//! 6. the transmission ends: replay check (sequential), decapsulate, write to the peer's TUN device

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use wlan_air::{Event, Medium, MediumConfig, Mpdu, Nanos};

use crate::capture::Capture;
use crate::clock::Clock;
use crate::config::{Config, ConfigError, suite};
use crate::counters::{Counters, Lateness};
use crate::netns;
use crate::schedule::{Scheduling, claim_real_time};
use crate::station::{Arrival, Frame, Role, Station, Undelivered};
use crate::tun::Tun;

/// Packets read from one device before the medium's time is looked at again.
const DRAIN_LIMIT: usize = 1024;

/// Why a link did not come up, or did not go on.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The configuration asks for something that there is not.
    #[error(transparent)]
    Config(#[from] ConfigError),
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
    /// How late frames were delivered, after the ideal end of their PPDU; none before the first delivery.
    pub lateness_us: Option<Lateness>,
    /// Deliveries later than 5 ms.
    pub slips: u64,
    /// Frames that the receiver rejected: wrong header or MIC, or replayed.
    pub open_errors: u64,
    /// Packets that a host's stack refused.
    pub refused: u64,
    /// Packets from a host that were neither IPv4 nor IPv6.
    pub unclassified: u64,
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
        let (mode, access, aggregation) = config.air.mode()?;
        let suite = suite(&config.security)?;
        let medium = Medium::new(MediumConfig {
            mode,
            access,
            aggregation,
            stations: 2,
            queue_limit: config.queue_limit_mpdus,
            seed: config.seed,
        })?;
        let key = suite.map(|suite| config.temporal_key(suite)).transpose()?;
        let host = |role| {
            let (namespace, tun) = netns::create(Tun::create).map_err(EmulatorError::Setup)?;
            Ok::<_, EmulatorError>((namespace, Station::new(role, tun, &mode, key.as_ref())))
        };
        let ((ap_namespace, ap), (sta_namespace, sta)) = (host(Role::Ap)?, host(Role::Sta)?);
        let capture = config
            .pcap
            .as_deref()
            .map(|path| Capture::create(path, mode, config.air.radiotap_mcs()))
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
            transmitting: false,
            wake: Arc::clone(&wake),
            requests: queue,
            spare: Vec::new(),
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
            cipher: suite.map_or("open", |_| "ccmp"),
            scheduling: scheduling.recv().unwrap_or(Scheduling::Other),
            rate_kbit_per_s: mode.rate_kbps(),
            queue_limit_mpdus: config.queue_limit_mpdus,
            ampdu: aggregation != wlan_air::Aggregation::None,
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
    /// Between the start and the end of a transmission.
    transmitting: bool,
    wake: Arc<EventFd>,
    requests: Receiver<Sender<Report>>,
    /// Frames to use again.
    spare: Vec<Frame>,
}

/// Whether the link goes on.
#[derive(PartialEq, Eq)]
enum Next {
    Go,
    Stop,
}

impl Mac {
    fn run(&mut self) -> io::Result<()> {
        while self.answer_requests() == Next::Go {
            let due = self.medium.next_event();
            if self.transmitting {
                // Whatever arrives now waits for the end anyway: no need to look.
                self.clock.wait_until(due.unwrap_or(Nanos::ZERO));
            } else if self.wait_for_arrival(due)? {
                // Empty unless a request woke us.
                let _ = self.wake.read();
                let now = self.clock.now();
                // What came after the next event was due must not change it.
                if due.is_none_or(|at| now < at) {
                    self.read_arrivals(now)?;
                    continue;
                }
            }
            self.perform_event()?;
        }
        Ok(())
    }

    /// Waits for a packet at a station that has none queued (only those can change what comes next), or a
    /// request (`true`), or until the next event is due (`false`).
    fn wait_for_arrival(&self, due: Option<Nanos>) -> io::Result<bool> {
        let mut descriptors: Vec<BorrowedFd<'_>> = vec![self.wake.as_fd()];
        for (index, station) in self.stations.iter().enumerate() {
            if self.medium.queue_len(index) == 0 {
                descriptors.push(station.tun().as_fd());
            }
        }
        self.clock.wait_readable(&descriptors, due)
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
            air_busy_s: medium.busy.as_secs_f64(),
            lateness_us: self.counters.lateness_us(),
            slips: self.counters.slips(),
            open_errors: self.counters.open_errors,
            refused: self.counters.refused,
            unclassified: self.counters.unclassified,
            transmissions: medium.transmissions,
            collisions: medium.collisions,
            ap,
            sta,
        }
    }

    /// Step 1: queues all that waits in the devices, as having arrived at `arrival`.
    fn read_arrivals(&mut self, arrival: Nanos) -> io::Result<()> {
        for (index, station) in self.stations.iter().enumerate() {
            // A host that sends faster than it is read must not hold up the air.
            for _ in 0..DRAIN_LIMIT {
                let mut frame = self.spare.pop().unwrap_or_default();
                match station.read(&mut frame)? {
                    Arrival::Packet => {
                        let len_b = frame.mpdu_len_b();
                        if let Err(dropped) = self.medium.enqueue(index, arrival, len_b, frame) {
                            self.spare.push(dropped);
                        }
                        continue;
                    }
                    Arrival::Unclassified => self.counters.unclassified += 1,
                    Arrival::Nothing => {
                        self.spare.push(frame);
                        break;
                    }
                }
                self.spare.push(frame);
            }
        }
        Ok(())
    }

    /// Steps 3 to 6.
    fn perform_event(&mut self) -> io::Result<()> {
        let at = match self.medium.advance() {
            None => return Ok(()),
            Some(Event::TxStart { at, .. }) => {
                self.transmitting = true;
                at
            }
            Some(Event::TxEnd {
                at,
                collision,
                delivered,
                given_up,
            }) => {
                self.transmitting = false;
                if let Some(capture) = &mut self.capture {
                    capture.end(at, !collision);
                }
                if delivered.len() > 0 {
                    self.counters.record_lateness(self.clock.now().saturating_sub(at));
                }
                for Mpdu { station, frame, .. } in delivered {
                    match self.stations[peer(station)].deliver(&frame) {
                        Ok(()) => {}
                        Err(Undelivered::Rejected) => self.counters.open_errors += 1,
                        Err(Undelivered::Refused) => self.counters.refused += 1,
                    }
                    self.spare.push(frame);
                }
                self.spare.extend(given_up.map(|mpdu| mpdu.frame));
                at
            }
        };
        if self.transmitting {
            self.protect(at);
            Ok(())
        } else {
            // What waits in the devices came at some time since the last look; the end of the transmission is
            // the latest that does not make a sender seem idle when it was not.
            self.read_arrivals(at)
        }
    }

    /// Steps 3 to 5, for the frames on the air.
    fn protect(&mut self, at: Nanos) {
        let start = self.clock.now();
        let mut senders = 0_u8;
        for (station, frames) in self.medium.on_air_mut() {
            self.stations[station].seal(frames);
            senders |= 1 << station;
        }
        self.counters.crypto += self.clock.now() - start;
        if let Some(capture) = &mut self.capture {
            let frames = self
                .medium
                .on_air_mut()
                .flat_map(|(_, frames)| frames.iter().map(Frame::mpdu));
            capture.begin(at, &frames.collect::<Vec<_>>());
        }
        if senders.count_ones() == 1 {
            let start = self.clock.now();
            for (station, frames) in self.medium.on_air_mut() {
                self.stations[peer(station)].open(frames);
            }
            self.counters.crypto += self.clock.now() - start;
        }
    }
}

/// The other station of the two.
fn peer(station: usize) -> usize {
    1 - station
}
