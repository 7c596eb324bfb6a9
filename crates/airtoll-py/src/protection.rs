//! Every cipher suite on batches of complete MPDUs, from Python.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};
use wlan_ciphers::bip::IntegrityKeyId;
use wlan_ciphers::{
    Backend, Bip, Cipher, KeyId, Method, OpenError, OpenJob, PacketNumber, Priority, Replay, ReplayWindow,
    Role, SealError, SealFault, SealJob, Suite, tkip,
};
use wlan_frames::{DataFrame, FrameControl, FrameError, MacAddr, MacHeader};

/// The backends of this CPU, the slowest first.
#[pyfunction]
pub(crate) fn backends() -> Vec<&'static str> {
    Backend::available().map(Backend::name).collect()
}

/// The replay counters of one key.
#[pyclass(name = "ReplayWindow", module = "airtoll._rust")]
pub(crate) struct Window(ReplayWindow);

#[pymethods]
impl Window {
    #[new]
    fn new(start: u64) -> PyResult<Window> {
        Ok(Window(ReplayWindow::new(packet_number(start)?)))
    }
}

/// One key of one suite.
#[pyclass(frozen, name = "Protection", module = "airtoll._rust")]
pub(crate) struct Protection {
    suite: Suite,
    key: Key,
}

enum Key {
    /// Every suite except BIP.
    Data {
        ap: Box<Cipher>,
        /// The other end of TKIP: each direction has its own Michael key (IEEE 802.11-2020 12.8.1).
        station: Option<Box<Cipher>>,
        /// The address of the authenticator, for TKIP frames with four addresses.
        authenticator: Option<MacAddr>,
    },
    Bip(Box<Bip>),
}

/// Why a TKIP frame with four addresses is refused if the authenticator is unknown.
const NO_AUTHENTICATOR: &str =
    "a frame with four addresses requires the argument authenticator, which selects the Michael key";

/// Name and description of the reason why a frame was refused.
type Refused = (&'static str, String);

#[pymethods]
impl Protection {
    #[new]
    #[pyo3(signature = (suite, key, backend=None, authenticator=None, spp_amsdu=false))]
    fn new(
        suite: &str,
        key: PyBackedBytes,
        backend: Option<&str>,
        authenticator: Option<&str>,
        spp_amsdu: bool,
    ) -> PyResult<Protection> {
        let suite = Suite::from_name(suite)
            .ok_or_else(|| not_one_of("suite", suite, &Suite::ALL.map(Suite::name)))?;
        let name = suite.name();
        if key.len() != suite.key_len() {
            let (wanted, given) = (suite.key_len(), key.len());
            return Err(value_error(format!(
                "key: {name} takes {wanted} octets, not {given}"
            )));
        }
        let authenticator = authenticator
            .map(|text| text.parse::<MacAddr>())
            .transpose()
            .map_err(|error| value_error(format!("authenticator: {error}")))?;
        let has_backends = !suite.is_rc4() && !suite.is_bip();
        let key = if suite.is_bip() {
            Key::Bip(Box::new(Bip::new(suite, &key).map_err(value_error)?))
        } else {
            let backend = match backend.filter(|_| has_backends) {
                None => Backend::detect(),
                Some(name) => Backend::available()
                    .find(|backend| backend.name() == name)
                    .ok_or_else(|| not_one_of("backend", name, &backends()))?,
            };
            let end = |role| {
                let end = Cipher::with_backend(suite, &key, role, backend).map_err(value_error)?;
                PyResult::Ok(Box::new(end.with_spp_amsdu(spp_amsdu)))
            };
            let is_tkip = suite.method() == Method::Tkip;
            Key::Data {
                ap: end(Role::Ap)?,
                station: is_tkip.then(|| end(Role::Sta)).transpose()?,
                authenticator,
            }
        };
        if backend.is_some() && !has_backends {
            return Err(value_error(format!("backend: {name} has no choice of backends")));
        }
        if spp_amsdu && !has_backends {
            return Err(value_error(format!(
                "spp_amsdu: {name} does not protect the header"
            )));
        }
        if authenticator.is_some() && suite.method() != Method::Tkip {
            return Err(value_error(format!(
                "authenticator: {name} has one key for both directions"
            )));
        }
        Ok(Protection { suite, key })
    }

    /// The backend, if the suite has a choice of backends.
    #[getter]
    fn backend(&self) -> Option<&'static str> {
        match &self.key {
            Key::Data { ap, .. } => ap.backend().map(Backend::name),
            Key::Bip(_) => None,
        }
    }

    /// Octets that sealing adds to a frame.
    #[getter]
    fn overhead_b(&self) -> usize {
        self.suite.overhead()
    }

    /// Seals frames (MAC header and plaintext) with these packet numbers.
    fn seal<'py>(
        &self,
        py: Python<'py>,
        frames: Vec<PyBackedBytes>,
        pns: Vec<u64>,
        key_id: u8,
    ) -> PyResult<Bound<'py, PyList>> {
        if frames.len() != pns.len() {
            let (frames, pns) = (frames.len(), pns.len());
            return Err(value_error(format!("{pns} packet numbers for {frames} frames")));
        }
        let pns = pns.into_iter().map(packet_number).collect::<PyResult<Vec<_>>>()?;
        let key_id = self.key_id(key_id)?;
        if let Some(frame) = frames.iter().position(|frame| self.is_from_ap(frame).is_none()) {
            return Err(value_error(format!("frame {frame}: {NO_AUTHENTICATOR}")));
        }
        let sealed = py
            .detach(|| self.seal_batch(&frames, pns, key_id))
            .map_err(|SealError { job, fault }| value_error(format!("frame {job}: {fault}")))?;
        PyList::new(py, sealed.iter().map(|laid| PyBytes::new(py, &laid.mpdu)))
    }

    /// Opens MPDUs. Returns for each either its frame or a pair: name and description of the reason for the refusal.
    #[pyo3(signature = (mpdus, key_id, window=None))]
    fn open<'py>(
        &self,
        py: Python<'py>,
        mpdus: Vec<PyBackedBytes>,
        key_id: u8,
        mut window: Option<PyRefMut<'py, Window>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let key_id = self.key_id(key_id)?;
        if window.is_some() && self.suite.is_wep() {
            return Err(value_error("window: WEP has no replay protection"));
        }
        let window = window.as_mut().map(|window| &mut window.0);
        let verdicts = py.detach(|| self.open_batch(&mpdus, key_id, window));
        let list = PyList::empty(py);
        for verdict in verdicts {
            match verdict {
                Ok(frame) => list.append(PyBytes::new(py, &frame))?,
                Err(refused) => list.append(refused)?,
            }
        }
        Ok(list)
    }
}

#[derive(Clone, Copy)]
enum AnyKeyId {
    /// For all suites except BIP.
    Traffic(KeyId),
    Integrity(IntegrityKeyId),
}

/// An MPDU being sealed.
struct Laid {
    mpdu: Vec<u8>,
    header_len: usize,
    pn: PacketNumber,
}

/// The required fields of an opened frame.
struct Opened {
    pn: PacketNumber,
    priority: Priority,
    payload: Range<usize>,
}

impl Protection {
    fn key_id(&self, value: u8) -> PyResult<AnyKeyId> {
        let (key_id, allowed) = match self.key {
            Key::Bip(_) => (IntegrityKeyId::new(value).map(AnyKeyId::Integrity), "4 to 7"),
            _ => (KeyId::new(value).map(AnyKeyId::Traffic), "0 to 3"),
        };
        key_id.ok_or_else(|| value_error(format!("key_id: {value} is not {allowed}")))
    }

    /// Whether a frame has the Michael key of the access point or, with four addresses, of the authenticator. `None` if
    /// that is unknown. It has no meaning for other suites.
    fn is_from_ap(&self, mpdu: &[u8]) -> Option<bool> {
        let Ok(header) = MacHeader::parse(mpdu) else {
            return Some(false);
        };
        let fc = header.frame_control();
        match &self.key {
            Key::Data {
                station: Some(_),
                authenticator,
                ..
            } if fc.has_addr4() => authenticator.map(|authenticator| authenticator == header.transmitter()),
            _ => Some(fc.has(FrameControl::FROM_DS)),
        }
    }

    /// Lays out a frame with space for the security fields of the suite.
    fn lay_out(&self, frame: &[u8], pn: PacketNumber) -> Result<Laid, SealFault> {
        let header_len = FrameControl::parse(frame)
            .map_err(|error| match error {
                FrameError::Truncated { .. } => SealFault::Short,
                _ => SealFault::NotProtectable,
            })?
            .header_len()
            .ok_or(SealFault::NotProtectable)?;
        let (header, plaintext) = frame.split_at_checked(header_len).ok_or(SealFault::Short)?;
        let mut mpdu = Vec::with_capacity(frame.len() + self.suite.overhead());
        mpdu.extend_from_slice(header);
        mpdu.resize(header_len + self.suite.header_len(), 0);
        mpdu.extend_from_slice(plaintext);
        mpdu.resize(frame.len() + self.suite.overhead(), 0);
        Ok(Laid { mpdu, header_len, pn })
    }

    fn seal_batch(
        &self,
        frames: &[PyBackedBytes],
        pns: Vec<PacketNumber>,
        key_id: AnyKeyId,
    ) -> Result<Vec<Laid>, SealError> {
        let of = |job| move |fault| SealError { job, fault };
        let frames = frames.iter().zip(pns).enumerate();
        let mut batch = frames
            .map(|(job, (frame, pn))| self.lay_out(frame, pn).map_err(of(job)))
            .collect::<Result<Vec<_>, _>>()?;
        match (&self.key, key_id) {
            (Key::Bip(key), AnyKeyId::Integrity(key_id)) => {
                for (job, laid) in batch.iter_mut().enumerate() {
                    key.protect(&mut laid.mpdu, laid.pn, key_id).map_err(of(job))?;
                }
            }
            (Key::Data { ap, station, .. }, AnyKeyId::Traffic(key_id)) => {
                let ends = [Some((ap, true)), station.as_ref().map(|station| (station, false))];
                for (end, is_ap) in ends.into_iter().flatten() {
                    let which = |mpdu: &[u8]| station.is_none() || self.is_from_ap(mpdu) == Some(is_ap);
                    seal_those(&mut batch, key_id, which, |jobs| end.seal(jobs))?;
                }
            }
            _ => unreachable!("the key ID has the type of the key"),
        }
        Ok(batch)
    }

    fn open_batch(
        &self,
        mpdus: &[PyBackedBytes],
        key_id: AnyKeyId,
        mut window: Option<&mut ReplayWindow>,
    ) -> Vec<Result<Vec<u8>, Refused>> {
        let mut batch: Vec<_> = mpdus
            .iter()
            .map(|mpdu| (mpdu.to_vec(), Err(refused(OpenError::Pending))))
            .collect();
        match (&self.key, key_id) {
            (Key::Bip(key), AnyKeyId::Integrity(key_id)) => {
                for (mpdu, verdict) in &mut batch {
                    *verdict = check(key, mpdu, key_id);
                }
            }
            (Key::Data { ap, station, .. }, AnyKeyId::Traffic(key_id)) => {
                let ends = [station.as_ref().map(|station| (station, true)), Some((ap, false))];
                for (end, is_from_ap) in ends.into_iter().flatten() {
                    let which = |mpdu: &[u8]| station.is_none() || self.is_from_ap(mpdu) == Some(is_from_ap);
                    open_those(&mut batch, key_id, which, |jobs| end.open(jobs));
                }
                let refused = || Err(("bad_header", NO_AUTHENTICATOR.to_owned()));
                let unclear = batch
                    .iter_mut()
                    .filter(|(mpdu, _)| self.is_from_ap(mpdu).is_none());
                unclear.for_each(|(_, verdict)| *verdict = refused());
            }
            _ => unreachable!("the key ID has the type of the key"),
        }
        // In the order of reception.
        batch
            .into_iter()
            .map(|(mpdu, verdict)| {
                if let Some(window) = window.as_deref_mut() {
                    self.accept(&verdict, &mpdu, window)
                        .map_err(|replay| ("replay", replay.to_string()))?;
                }
                verdict.map(|opened| self.frame(mpdu, &opened))
            })
            .collect()
    }

    /// Updates the replay counters if the frame opened. With TKIP, a frame out of order is a replay even if it would
    /// not open (12.5.2.1.3), so that replays do not count as forgeries.
    fn accept(
        &self,
        verdict: &Result<Opened, Refused>,
        mpdu: &[u8],
        window: &mut ReplayWindow,
    ) -> Result<(), Replay> {
        match (verdict, self.suite.method()) {
            (Ok(opened), _) => window.accept(opened.priority, opened.pn),
            (Err(("icv" | "mic", _)), Method::Tkip) => match tkip::peek(mpdu) {
                Ok((tsc, _)) => window.check(Priority::Tid(tid(mpdu)), tsc),
                Err(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// MAC header and plaintext of an opened MPDU, as before sealing.
    fn frame(&self, mut mpdu: Vec<u8>, opened: &Opened) -> Vec<u8> {
        let Range { start, end } = opened.payload;
        mpdu.truncate(end);
        mpdu.drain(start - self.suite.header_len()..start);
        let [_, flags] = FrameControl::PROTECTED.to_le_bytes();
        mpdu[1] &= !flags;
        mpdu
    }
}

/// Seals the MPDUs of the batch that `which` selects.
fn seal_those(
    batch: &mut [Laid],
    key_id: KeyId,
    which: impl Fn(&[u8]) -> bool,
    seal: impl FnOnce(&mut [SealJob<'_>]) -> Result<(), SealError>,
) -> Result<(), SealError> {
    let picked = batch.iter_mut().enumerate().filter(|(_, laid)| which(&laid.mpdu));
    let (places, mut jobs): (Vec<_>, Vec<_>) = picked
        .map(|(place, laid)| {
            let job = SealJob {
                mpdu: &mut laid.mpdu,
                header_len: laid.header_len,
                pn: laid.pn,
                key_id,
            };
            (place, job)
        })
        .unzip();
    seal(&mut jobs).map_err(|SealError { job, fault }| SealError {
        job: places[job],
        fault,
    })
}

/// Opens the MPDUs of the batch that `which` selects.
fn open_those(
    batch: &mut [(Vec<u8>, Result<Opened, Refused>)],
    key_id: KeyId,
    which: impl Fn(&[u8]) -> bool,
    open: impl FnOnce(&mut [OpenJob<'_>]),
) {
    let picked = batch.iter_mut().filter(|(mpdu, _)| which(mpdu));
    let (mut jobs, verdicts): (Vec<_>, Vec<_>) = picked
        .map(|(mpdu, verdict)| (OpenJob::new(mpdu, key_id), verdict))
        .unzip();
    open(&mut jobs);
    for (job, verdict) in jobs.iter().zip(verdicts) {
        let opened = job.verdict().map(|opened| Opened {
            pn: opened.pn,
            priority: opened.priority,
            payload: opened.payload.clone(),
        });
        *verdict = opened.map_err(refused);
    }
}

fn check(key: &Bip, mpdu: &[u8], expected: IntegrityKeyId) -> Result<Opened, Refused> {
    let (_, found) = key.peek(mpdu).map_err(refused)?;
    if found != expected {
        let (found, expected) = (found.get(), expected.get());
        let words = format!("the MPDU is protected with key ID {found}, expected {expected}");
        return Err(("key_mismatch", words));
    }
    let checked = key.check(mpdu).map_err(refused)?;
    Ok(Opened {
        pn: checked.ipn,
        priority: Priority::Management,
        payload: checked.body,
    })
}

fn tid(mpdu: &[u8]) -> u8 {
    DataFrame::parse(mpdu).map_or(0, |frame| frame.tid())
}

fn refused(error: OpenError) -> Refused {
    let name = match error {
        OpenError::Pending => "pending",
        OpenError::Short => "short",
        OpenError::Long => "long",
        OpenError::NotProtected => "not_protected",
        OpenError::BadHeader => "bad_header",
        OpenError::KeyMismatch { .. } => "key_mismatch",
        OpenError::Icv => "icv",
        OpenError::Mic => "mic",
    };
    (name, error.to_string())
}

fn packet_number(value: u64) -> PyResult<PacketNumber> {
    PacketNumber::new(value)
        .ok_or_else(|| value_error(format!("packet number {value} does not fit in 48 bits")))
}

fn not_one_of(what: &str, given: &str, there: &[&str]) -> PyErr {
    value_error(format!("{what}: '{given}' is not one of {}", there.join(", ")))
}

fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}
