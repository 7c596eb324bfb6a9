//! The two threads of an end.

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

use super::control::Handle;
use super::egress::Egress;
use super::endpoint::{Endpoint, Socket};
use super::ingress::{BATCH, Ingress};
use super::shared::{LinkError, Shared};
use super::source::Source;
use super::table::View;
use super::waiting::{ControlBody, Waiting};

/// How long a thread leaves a socket alone that has errors to tell.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a thread rests, and nothing that comes wakes it, when it took [`THICK`] frames or more until nothing was left: as
/// a network card moderates its interrupts. To wake a thread costs more than to carry a frame, most of it on the side that
/// wakes; and what gathers meanwhile is sealed, opened and handed up together. A packet that comes alone is never kept.
const REST: Duration = Duration::from_micros(100);
const THICK: u64 = 4;

/// Receptions between two looks at the socket for EAPOL, when there is always something at the other.
const RECEPTIONS: usize = 16;

/// A link that carries packets, until it is dropped.
pub struct Running {
    handle: Handle,
    control: Arc<Waiting>,
    threads: Vec<JoinHandle<Result<(), LinkError>>>,
}

impl Running {
    pub(super) fn start(shared: Arc<Shared>, control_frames: usize) -> Result<Self, LinkError> {
        let control = Arc::new(Waiting::new(control_frames));
        let closing = Closing(Arc::clone(&control));
        let incoming = Incoming::new(&shared)?;
        let mut running = Self {
            handle: Handle::new(Arc::clone(&shared)),
            control,
            threads: Vec::new(),
        };
        let (out, inward) = (Arc::clone(&shared), shared);
        running.spawn("link-out", move || ending(&out, way_out(&out)))?;
        running.spawn("link-in", move || {
            ending(&inward, way_in(&inward, incoming, &closing.0))
        })?;
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

    /// What the control plane says to the link; for any thread.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// What the link says to the control plane: frames that are not data. Closed once the link has ended.
    #[must_use]
    pub fn control(&self) -> &Waiting {
        &self.control
    }

    /// Ends the link, and waits for that.
    ///
    /// # Errors
    /// Why it had ended before: [`LinkError::Device`].
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
        // Whoever wants to know why it ended, asks `end`.
        let _ = self.join();
    }
}

/// Whoever waits for frames learns that none comes, however the thread ended.
struct Closing(Arc<Waiting>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// If one thread ends, so does the other.
fn ending(shared: &Shared, ended: Result<(), LinkError>) -> Result<(), LinkError> {
    shared.end();
    ended
}

/// Waits until a descriptor is readable or the thread is kicked, or for so long; returns what there is of the descriptors.
fn wait<const N: usize>(
    kick: &EventFd,
    others: [Option<BorrowedFd<'_>>; N],
    timeout: Option<Duration>,
) -> [PollFlags; N] {
    let mut polled = ArrayVec::<PollFd<'_>, 3>::from_iter([PollFd::new(kick.as_fd(), PollFlags::POLLIN)]);
    let given = others.iter().flatten();
    polled.extend(given.map(|other| PollFd::new(*other, PollFlags::POLLIN)));
    // A signal is as good a reason to look as any.
    let _ = ppoll(&mut polled, timeout.map(TimeSpec::from_duration), None);
    let mut told = polled.iter().map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
    if told.next().is_some_and(|of_kick| !of_kick.is_empty()) {
        let _ = kick.read();
    }
    others.map(|other| other.and_then(|_| told.next()).unwrap_or(PollFlags::empty()))
}

/// Device to socket.
fn way_out(shared: &Shared) -> Result<(), LinkError> {
    let mut view = View::new(Arc::clone(&shared.published));
    let mut egress = Egress::new(shared.end, shared.mpdu_b);
    let mut source = Source::default();
    let (socket, counters) = (&shared.socket, &shared.counters.outbound);
    while !shared.has_ended() {
        view.refresh();
        let table = view.table();
        let before = counters.sealed.get();
        let more = loop {
            match source.read(&shared.tun, table, &mut egress, socket, counters) {
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
                let device = (!rests).then_some(shared.tun.as_fd());
                wait(&shared.kicks[0], [device], rests.then_some(REST));
            }
            // Of a device that was taken away the kernel says EBADFD: all else passes.
            Err(Some(error)) if error.raw_os_error() == Some(nix::libc::EBADFD) => {
                return Err(shared.device_error(error));
            }
            Err(Some(_)) => {
                wait(&shared.kicks[0], [], Some(PAUSE));
            }
        }
    }
    Ok(())
}

/// Where frames come in.
enum Incoming {
    Datagrams(Box<Inbox>),
    Ring(Ring),
}

impl Incoming {
    fn new(shared: &Shared) -> Result<Self, LinkError> {
        let message_b = shared.socket.message_b().map_err(LinkError::Transport)?;
        match &shared.eapol {
            None => Ok(Self::Datagrams(Box::new(Inbox::new(message_b)))),
            Some(_) => Ring::new(shared.socket.as_fd(), message_b)
                .map(Self::Ring)
                .map_err(LinkError::Transport),
        }
    }
}

/// Socket to device.
fn way_in(shared: &Shared, mut incoming: Incoming, control: &Waiting) -> Result<(), LinkError> {
    let mut view = View::new(Arc::clone(&shared.published));
    let mut relay = Egress::new(shared.end, shared.mpdu_b);
    let ingress = Ingress {
        end: shared.end,
        tun: &shared.tun,
        outlet: &shared.socket,
        counters: &shared.counters,
        control,
    };
    let mut eapol_octets = [0; EAPOL_B];
    let descriptor = shared.socket.as_fd();
    let inbound = &shared.counters.inbound;
    // Whether there may be no interface: a socket says once that it went, and never that another came.
    let mut is_lost = false;
    while !shared.has_ended() {
        let before = inbound.frames.get();
        let mut error = None;
        let (mut is_empty, mut has_eapol) = (false, false);
        for _ in 0..RECEPTIONS {
            view.refresh();
            let table = view.table();
            match &mut incoming {
                Incoming::Datagrams(inbox) => match inbox.receive(descriptor) {
                    Ok(all) => {
                        is_empty = all;
                        inbound.overrun.add(inbox.overrun());
                        let frames = inbox.datagrams();
                        let known = frames.filter_map(|(from, mpdu)| Some((Endpoint::Udp(from?), mpdu)));
                        ingress.receive(table, &mut relay, known);
                    }
                    Err(none) if none.kind() == io::ErrorKind::WouldBlock => is_empty = true,
                    Err(other) => error = Some(other),
                },
                Incoming::Ring(ring) => match ring.ready(BATCH) {
                    0 => is_empty = true,
                    ready => {
                        inbound.overrun.add(ring.overrun(descriptor));
                        let frames = ring.frames(ready);
                        let known = frames.map(|frame| (Endpoint::Ethernet(frame.from), frame.payload));
                        ingress.receive(table, &mut relay, known);
                        ring.release(ready);
                        is_empty = ready < BATCH;
                    }
                },
            }
            if is_empty || error.is_some() {
                break;
            }
        }
        if is_empty {
            let rests = inbound.frames.get() - before >= THICK;
            let data = (!rests).then_some(descriptor);
            let eapol = shared.eapol.as_ref().map(Socket::as_fd);
            let timeout = rests.then_some(REST).or(is_lost.then_some(PAUSE));
            let [of_socket, of_eapol] = wait(&shared.kicks[1], [data, eapol], timeout);
            has_eapol = !of_eapol.is_empty();
            if of_socket.contains(PollFlags::POLLERR) {
                error = pending_error(&shared.socket);
            }
        }
        if let (true, Some(socket)) = (has_eapol || !is_empty, &shared.eapol) {
            receive_eapol(socket, &mut eapol_octets, &ingress);
        }
        if error.is_some() {
            inbound.socket_errors.add(1);
            is_lost = true;
            wait(&shared.kicks[1], [], Some(PAUSE));
        }
        if is_lost {
            let all = [Some(&shared.socket), shared.eapol.as_ref()];
            is_lost = !all.into_iter().flatten().all(Socket::recover);
        }
    }
    Ok(())
}

/// Octets of an EAPOL PDU that are looked at: more than fit an Ethernet frame.
const EAPOL_B: usize = 2048;

/// The error that a socket has to tell, if it has one.
fn pending_error(socket: &Socket) -> Option<io::Error> {
    match getsockopt(socket, sockopt::SocketError) {
        Ok(0) => None,
        Ok(code) => Some(io::Error::from_raw_os_error(code)),
        Err(errno) => Some(errno.into()),
    }
}

/// Fetches what waits of EAPOL in the open, a few frames at a time.
fn receive_eapol(socket: &Socket, octets: &mut [u8], ingress: &Ingress<'_, Socket>) {
    for _ in 0..RECEPTIONS {
        match fetch(socket, octets) {
            Ok((len_b, from)) => {
                ingress.counters.inbound.frames.add(1);
                ingress.control(from, Endpoint::Ethernet(from), false, || {
                    ControlBody::Eapol(octets[..len_b].to_vec())
                });
            }
            Err(nix::errno::Errno::EAGAIN) => return,
            // An interface that is down says so at the other socket too.
            Err(_) => return,
        }
    }
}

fn fetch(socket: &Socket, octets: &mut [u8]) -> nix::Result<(usize, MacAddr)> {
    let (len_b, from) = recvfrom::<LinkAddr>(socket.as_fd().as_raw_fd(), octets)?;
    let from = from.and_then(|address| address.addr()).unwrap_or_default();
    Ok((len_b, MacAddr(from)))
}
