//! Decrypting capture files, from Python.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use wlan_ciphers::Wep;
use wlan_ciphers::decap::{CaptureKey, Skipped};
use wlan_link::decrypt::{DecryptError, decrypt};

/// Records in all, decrypted ones, Ethernet frames written, records left out by reason, where the capture breaks off.
type Outcome = (u64, u64, u64, BTreeMap<&'static str, u64>, Option<String>);

/// Decrypts the file `capture` into the file `out` with WEP keys. `progress` is called now and then with the octets
/// of the capture that were read; what it raises ends the work, and there is no output then.
#[pyfunction]
pub(crate) fn decrypt_capture(
    py: Python<'_>,
    capture: PathBuf,
    out: PathBuf,
    keys: Vec<PyBackedBytes>,
    progress: Py<PyAny>,
) -> PyResult<Outcome> {
    let keys: Result<Vec<_>, _> = keys
        .iter()
        .map(|key| Wep::new(key).map(CaptureKey::Wep))
        .collect();
    let keys = keys.map_err(|error| PyValueError::new_err(error.to_string()))?;
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
    let decrypted = py.detach(|| decrypt(&capture, &out, keys, tell));
    let decrypted = match (decrypted, raised) {
        (Err(DecryptError::Stopped), Some(error)) => return Err(error),
        (decrypted, _) => decrypted.map_err(|error| PyValueError::new_err(error.to_string()))?,
    };
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
        Skipped::WrongKey => "wrong_key",
        Skipped::Forged => "forged",
        Skipped::Fragment => "fragment",
        Skipped::NoMsdu => "no_msdu",
    }
}
