//! Decryption of capture files, from Python.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use wlan_ciphers::Wep;
use wlan_decrypt::decap::{CaptureKey, Skipped};
use wlan_decrypt::{DecryptError, Finding, Passphrase, Secrets, Station, decrypt};
use wlan_frames::MacAddr;

/// All records, decrypted records, Ethernet frames written, skipped records by reason, where the capture breaks off,
/// stations, frames of further stations (decrypted, without key, wrong key, other), SSIDs.
type Outcome = (
    u64,
    u64,
    u64,
    BTreeMap<&'static str, u64>,
    Option<String>,
    Vec<CaptureStation>,
    [u64; 4],
    Vec<Vec<u8>>,
);

/// The outcome for one station.
#[pyclass(frozen, get_all)]
pub(crate) struct CaptureStation {
    bssid: String,
    station: Option<String>,
    peer: Option<String>,
    ssid: Option<Vec<u8>>,
    akm: Option<String>,
    cipher: Option<&'static str>,
    messages: [u64; 4],
    keys: u64,
    finding: &'static str,
    decrypted: u64,
    without_key: u64,
    wrong_key: u64,
    other: u64,
}

impl From<Station> for CaptureStation {
    fn from(station: Station) -> CaptureStation {
        CaptureStation {
            bssid: station.ends.bssid.to_string(),
            station: (station.ends.station != MacAddr::BROADCAST).then(|| station.ends.station.to_string()),
            peer: station.ends.peer.map(|peer| peer.to_string()),
            ssid: station.ssid,
            akm: station.akm,
            cipher: station.suite.map(|suite| suite.name()),
            messages: station.messages,
            keys: station.keys,
            finding: found(station.finding),
            decrypted: station.counts.decrypted,
            without_key: station.counts.without_key,
            wrong_key: station.counts.wrong_key,
            other: station.counts.other,
        }
    }
}

/// Raises `ValueError` if the text is neither a passphrase nor a PSK in hexadecimal digits.
#[pyfunction]
pub(crate) fn check_passphrase(text: &[u8]) -> PyResult<()> {
    match Passphrase::parse(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(PyValueError::new_err(error.to_string())),
    }
}

/// Decrypts the file `capture` into the file `out` with WEP keys, with PMKs, and with the keys from handshakes under
/// `passphrase` (of the network `ssid`, or of all networks). `progress` is called repeatedly with the number of octets
/// read so far. An exception that it raises stops the decryption, and no output is written.
#[pyfunction]
#[pyo3(signature = (capture, out, keys, passphrase, pmks, ssid, progress))]
#[allow(clippy::too_many_arguments, reason = "one argument per option of the user")]
pub(crate) fn decrypt_capture(
    py: Python<'_>,
    capture: PathBuf,
    out: PathBuf,
    keys: Vec<PyBackedBytes>,
    passphrase: Option<PyBackedBytes>,
    pmks: Vec<PyBackedBytes>,
    ssid: Option<PyBackedBytes>,
    progress: Py<PyAny>,
) -> PyResult<Outcome> {
    let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let mut secrets = Secrets::default();
    for key in keys {
        let key = Wep::new(&key).map_err(|error| wrong(&error))?;
        secrets.keys.push(CaptureKey::from(key));
    }
    if let Some(passphrase) = passphrase {
        let passphrase = Passphrase::parse(&passphrase).map_err(|error| wrong(&error))?;
        secrets.passphrase = Some(passphrase);
    }
    for pmk in pmks {
        secrets.add_pmk(&pmk).map_err(|error| wrong(&error))?;
    }
    if let Some(ssid) = ssid {
        secrets.set_ssid(&ssid).map_err(|error| wrong(&error))?;
    }
    let mut raised = None;
    let tell = |octets| {
        Python::attach(|py| {
            let told = py.check_signals().and_then(|()| progress.call1(py, (octets,)));
            match told {
                Ok(_) => ControlFlow::Continue(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    };
    let decrypted = py.detach(|| decrypt(&capture, &out, secrets, tell));
    let decrypted = match (decrypted, raised) {
        (Err(DecryptError::Stopped), Some(error)) => return Err(error),
        (decrypted, _) => decrypted.map_err(|error| wrong(&error))?,
    };
    let rest = decrypted.other_links;
    let mut left_out: BTreeMap<_, _> = decrypted
        .counts
        .skipped
        .iter()
        .map(|(&reason, &count)| (name(reason), count))
        .collect();
    if decrypted.other_link_type > 0 {
        left_out.insert("other_link_type", decrypted.other_link_type);
    }
    Ok((
        decrypted.counts.records + decrypted.other_link_type,
        decrypted.counts.decrypted(),
        decrypted.counts.frames,
        left_out,
        decrypted.broken.map(|error| error.to_string()),
        decrypted.stations.into_iter().map(CaptureStation::from).collect(),
        [rest.decrypted, rest.without_key, rest.wrong_key, rest.other],
        decrypted.ssids,
    ))
}

fn name(reason: Skipped) -> &'static str {
    match reason {
        Skipped::NotData => "not_data",
        Skipped::CutShort => "cut_short",
        Skipped::Damaged => "damaged",
        Skipped::Open => "not_encrypted",
        Skipped::Retransmission => "retransmission",
        Skipped::NoWepKey => "no_wep_key",
        Skipped::NoKey => "other_cipher",
        Skipped::NotLearned => "no_key_yet",
        Skipped::WrongKey => "wrong_key",
        Skipped::Forged => "forged",
        Skipped::Fragment => "fragment",
        Skipped::IncompleteFragment => "incomplete_fragment",
        Skipped::NoMsdu => "no_msdu",
    }
}

fn found(finding: Finding) -> &'static str {
    match finding {
        Finding::Learned => "learned",
        Finding::NoHandshake => "no_handshake",
        Finding::HalfHandshake => "half_handshake",
        Finding::WrongPassphrase => "wrong_passphrase",
        Finding::NoSsid => "no_ssid",
        Finding::OtherNetwork => "other_network",
        Finding::NotOfPassphrase => "not_of_passphrase",
        Finding::UnknownSuites => "unknown_suites",
        Finding::Direct => "direct",
    }
}
