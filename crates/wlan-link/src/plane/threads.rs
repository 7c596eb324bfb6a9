//! The threads of an end: two per worker.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arrayvec::ArrayVec;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::socket::{LinkAddr, getsockopt, recvfrom, sockopt};
use nix::sys::time::TimeSpec;
use wlan_frames::MacAddr;
use wlan_host::sys::datagrams::Inbox;
use wlan_host::sys::ring::Ring;
use wlan_host::sys::work_in_batches;
use wlan_host::tun::Tun;

use super::control::Handle;
use super::egress::Egress;
use super::endpoint::{Endpoint, Socket};
use super::ingress::{BATCH, Ingress};
use super::shared::{LinkError, Shared, Worker};
use super::source::Source;
use super::table::{Table, View};
use super::waiting::{ControlBody, Waiting};
use super::wire::Tid;

/// Delay before a thread uses a socket or device again after an error.
const PAUSE: Duration = Duration::from_millis(50);

/// Duration for which a thread rests without being woken, after it took at least [`THICK`] frames before its input
/// was empty. This is similar to interrupt moderation of a network card. Waking a thread costs more than carrying a
/// frame, mostly on the waking side, and the frames that arrive during the rest are sealed, opened and delivered as
/// one batch. A single packet is never delayed.
const REST: Duration = Duration::from_micros(100);
const THICK: u64 = 4;

/// Receptions between two polls of the EAPOL socket while the data socket always has frames.
const RECEPTIONS: usize = 16;

/// A running link. It ends when it is dropped.
pub struct Running {
    handle: Handle,
    control: Arc<Waiting>,
    threads: Vec<JoinHandle<Result<(), LinkError>>>,
}

impl Running {
    pub(super) fn start(shared: Arc<Shared>, control_frames: usize) -> Result<Self, LinkError> {
        let control = Arc::new(Waiting::new(control_frames));
        let incoming: Result<Vec<Incoming>, LinkError> = (0..shared.workers.len())
            .map(|number| Incoming::new(&shared, number))
            .collect();
        let incoming = incoming?;
        let mut running = Self {
            handle: Handle::new(Arc::clone(&shared)),
            control,
            threads: Vec::new(),
        };
        for (number, incoming) in incoming.into_iter().enumerate() {
            let (out, inward) = (Arc::clone(&shared), Arc::clone(&shared));
            let closing = Closing(Arc::clone(&running.control));
            running.spawn(&format!("link-out-{number}"), move || {
                ending(&out, run_outbound(&out, number))
            })?;
            running.spawn(&format!("link-in-{number}"), move || {
                ending(&inward, run_inbound(&inward, number, incoming, &closing.0))
            })?;
        }
        Ok(running)
    }

    fn spawn(
        &mut self,
        name: &str,
        run: impl FnOnce() -> Result<(), LinkError> + Send + 'static,
    ) -> Result<(), LinkError> {
        let thread = thread::Builder::new()
            .name(name.into())
            .spawn(|| {
                work_in_batches();
                run()
            })
            .map_err(LinkError::Start)?;
        self.threads.push(thread);
        Ok(())
    }

    /// The control plane's operations on the link; usable from any thread.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Frames for the control plane: all frames other than data. Closed once the link has ended.
    #[must_use]
    pub fn control(&self) -> &Arc<Waiting> {
        &self.control
    }

    /// Ends the link and waits for its threads.
    ///
    /// # Errors
    /// The reason why the link had already ended: [`LinkError::Device`].
    pub fn end(mut self) -> Result<(), LinkError> {
        self.join()
    }

    fn join(&mut self) -> Result<(), LinkError> {
        self.handle.end();
        let mut ended = Ok(());
        for thread in self.threads.drain(..) {
            let of_thread = thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ended = ended.and(of_thread);
        }
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Use `end` to learn why the link ended.
        let _ = self.join();
    }
}

/// Closes the control plane's queues when the thread ends for any reason, so that no receiver waits forever.
struct Closing(Arc<Waiting>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Ends the other threads too.
fn ending(shared: &Shared, ended: Result<(), LinkError>) -> Result<(), LinkError> {
    shared.end();
    ended
}

/// Waits until a descriptor is readable, the thread is kicked, or the timeout expires. Returns each one's events.
fn wait<const N: usize>(
    kick: &EventFd,
    others: [Option<BorrowedFd<'_>>; N],
    timeout: Option<Duration>,
) -> [PollFlags; N] {
    let mut polled = ArrayVec::<PollFd<'_>, 3>::from_iter([PollFd::new(kick.as_fd(), PollFlags::POLLIN)]);
    let given = others.iter().flatten();
    polled.extend(given.map(|other| PollFd::new(*other, PollFlags::POLLIN)));
    // An interruption by a signal is treated as a wake-up.
    let _ = ppoll(&mut polled, timeout.map(TimeSpec::from_duration), None);
    let mut told = polled.iter().map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
    if told.next().is_some_and(|of_kick| !of_kick.is_empty()) {
        let _ = kick.read();
    }
    others.map(|other| other.and_then(|_| told.next()).unwrap_or(PollFlags::empty()))
}

/// The TID of the frames of a worker.
fn tid(number: usize) -> Tid {
    Tid(u8::try_from(number).expect("there are at most 8 workers"))
}

/// Outbound thread of worker `number`: device to socket.
fn run_outbound(shared: &Shared, number: usize) -> Result<(), LinkError> {
    let mut view = View::new(Arc::clone(&shared.published));
    let mut egress = Egress::new(shared.end, tid(number), shared.mpdu_b);
    let mut source = Source::default();
    let Worker {
        socket,
        tun,
        counters,
        kicks: [kick, _],
    } = &shared.workers[number];
    let counters = &counters.outbound;
    while !shared.has_ended() {
        view.refresh();
        let table = view.table();
        let before = counters.sealed.get();
        let more = loop {
            match source.read(tun, table, &mut egress, socket, counters) {
                Ok(true) if egress.wants_more() => {}
                Ok(true) => break Ok(()),
                Ok(false) => break Err(None),
                Err(error) => break Err(Some(error)),
            }
        };
        if !egress.is_empty() {
            egress.flush(table, socket, counters);
        }
        match more {
            Ok(()) => {}
            Err(None) => {
                let rests = counters.sealed.get() - before >= THICK;
                let device = (!rests).then_some(tun.as_fd());
                wait(kick, [device], rests.then_some(REST));
            }
            // The kernel returns EBADFD for a removed device. All other errors are transient.
            Err(Some(error)) if error.raw_os_error() == Some(nix::libc::EBADFD) => {
                return Err(shared.device_error(error));
            }
            Err(Some(_)) => {
                wait(kick, [], Some(PAUSE));
            }
        }
    }
    Ok(())
}

/// The receive side of the socket.
enum Incoming {
    Datagrams(Box<Inbox>),
    Ring(Ring),
}

impl Incoming {
    fn new(shared: &Shared, number: usize) -> Result<Self, LinkError> {
        let socket = &shared.workers[number].socket;
        let message_b = socket.message_b().map_err(LinkError::Transport)?;
        match &shared.eapol {
            None => Ok(Self::Datagrams(Box::new(Inbox::new(message_b)))),
            Some(_) => Ring::new(socket.as_fd(), message_b)
                .map(Self::Ring)
                .map_err(LinkError::Transport),
        }
    }

    /// Processes up to [`RECEPTIONS`] batches of waiting frames. Returns whether the socket is then empty.
    fn drain(
        &mut self,
        view: &mut View,
        ingress: &Ingress<'_, Socket, Tun>,
        relay: &mut Egress,
    ) -> io::Result<bool> {
        for _ in 0..RECEPTIONS {
            view.refresh();
            if self.receive(view.table(), ingress, relay)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Processes one batch of waiting frames. Returns whether the socket is then empty.
    fn receive(
        &mut self,
        table: &Table,
        ingress: &Ingress<'_, Socket, Tun>,
        relay: &mut Egress,
    ) -> io::Result<bool> {
        let socket = ingress.outlet.as_fd();
        let overrun = &ingress.counters.inbound.overrun;
        match self {
            Self::Datagrams(inbox) => {
                let is_empty = match inbox.receive(socket) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                    received => received?,
                };
                overrun.add(inbox.overrun());
                let frames = inbox.datagrams();
                let known = frames.filter_map(|(from, mpdu)| Some((Endpoint::Udp(from?), mpdu)));
                ingress.receive(table, relay, known);
                Ok(is_empty)
            }
            Self::Ring(ring) => {
                let ready = ring.ready(BATCH);
                if ready == 0 {
                    return Ok(true);
                }
                overrun.add(ring.overrun(socket));
                let frames = ring.frames(ready);
                let known = frames.map(|frame| (Endpoint::Ethernet(frame.from), frame.payload));
                ingress.receive(table, relay, known);
                ring.release(ready);
                Ok(ready < BATCH)
            }
        }
    }
}

/// Inbound thread of worker `number`: socket to device. The first worker also receives unprotected EAPOL frames.
fn run_inbound(
    shared: &Shared,
    number: usize,
    mut incoming: Incoming,
    control: &Waiting,
) -> Result<(), LinkError> {
    let mut view = View::new(Arc::clone(&shared.published));
    let mut relay = Egress::new(shared.end, tid(number), shared.mpdu_b);
    let Worker {
        socket,
        tun,
        counters,
        kicks: [_, kick],
    } = &shared.workers[number];
    let eapol = shared.eapol.as_ref().filter(|_| number == 0);
    let ingress = Ingress {
        end: shared.end,
        device: tun,
        outlet: socket,
        counters,
        control,
        mpdu_b: shared.mpdu_b,
    };
    let mut eapol_octets = [0; EAPOL_B];
    let inbound = &counters.inbound;
    // Whether the interface may be gone: a socket reports its removal once, and never that it was recreated.
    let mut is_lost = false;
    while !shared.has_ended() {
        let before = inbound.frames.get();
        let sockets = match incoming.drain(&mut view, &ingress, &mut relay) {
            Ok(true) => {
                let rests = inbound.frames.get() - before >= THICK;
                wait_for_frames(kick, [Some(socket), eapol], rests, is_lost)
            }
            drained => SocketState {
                may_have_eapol: true,
                has_failed: drained.is_err(),
            },
        };
        if sockets.may_have_eapol
            && let Some(eapol) = eapol
        {
            receive_eapol(eapol, &mut eapol_octets, &ingress);
        }
        if sockets.has_failed {
            inbound.socket_errors.add(1);
            is_lost = true;
            wait(kick, [], Some(PAUSE));
        }
        // Rebinds to an interface that was recreated.
        is_lost = is_lost && ![Some(socket), eapol].into_iter().flatten().all(Socket::recover);
    }
    Ok(())
}

/// The state of the sockets after a reception.
struct SocketState {
    /// Whether EAPOL frames may be waiting.
    may_have_eapol: bool,
    /// Whether the data socket reported an error.
    has_failed: bool,
}

/// Waits until a frame arrives at the sockets for data and for EAPOL, or until the end of a rest.
fn wait_for_frames(
    kick: &EventFd,
    [data, eapol]: [Option<&Socket>; 2],
    rests: bool,
    is_lost: bool,
) -> SocketState {
    let waits = [data.filter(|_| !rests), eapol].map(|socket| socket.map(Socket::as_fd));
    let timeout = rests.then_some(REST).or(is_lost.then_some(PAUSE));
    let [of_data, of_eapol] = wait(kick, waits, timeout);
    SocketState {
        may_have_eapol: !of_eapol.is_empty(),
        has_failed: of_data.contains(PollFlags::POLLERR) && data.is_some_and(has_pending_error),
    }
}

/// Size of the EAPOL buffer in octets: larger than the payload of any Ethernet frame.
const EAPOL_B: usize = 2048;

/// Whether the socket has a pending error, which this call clears.
fn has_pending_error(socket: &Socket) -> bool {
    !matches!(getsockopt(socket, sockopt::SocketError), Ok(0))
}

/// Receives queued unprotected EAPOL frames, at most [`RECEPTIONS`] at a time.
fn receive_eapol(socket: &Socket, octets: &mut [u8], ingress: &Ingress<'_, Socket, Tun>) {
    for _ in 0..RECEPTIONS {
        match fetch(socket, octets) {
            Ok((len_b, from)) => {
                ingress.counters.inbound.frames.add(1);
                ingress.control(from, Endpoint::Ethernet(from), false, || {
                    ControlBody::Eapol(octets[..len_b].to_vec())
                });
            }
            Err(nix::errno::Errno::EAGAIN) => return,
            // The other socket also reports that the interface is down.
            Err(_) => return,
        }
    }
}

fn fetch(socket: &Socket, octets: &mut [u8]) -> nix::Result<(usize, MacAddr)> {
    let (len_b, from) = recvfrom::<LinkAddr>(socket.as_fd().as_raw_fd(), octets)?;
    let from = from.and_then(|address| address.addr()).unwrap_or_default();
    Ok((len_b, MacAddr(from)))
}
