//! Simulations and models: JSON in, JSON out.

use std::collections::BTreeMap;
use std::iter;

use pyo3::prelude::*;
use wlan_air::phy::{self, Band, Bss, Coding, Format, Rates};
use wlan_scenario::contract::{self, KEYS};
use wlan_scenario::{BadScenario, Scenario, band_word, gi_word, rate_word, rate_words};

use crate::value_error;

/// The declaration of a PHY, in the words of studies.
#[pyclass(frozen, get_all)]
pub struct Phy {
    word: &'static str,
    amendment: &'static str,
    generation: Option<&'static str>,
    bands: Vec<&'static str>,
    bandwidths_mhz: Vec<u16>,
    guard_intervals: Vec<&'static str>,
    max_streams: u8,
    /// All rates, in ascending order.
    rates: Vec<String>,
    usual_rate: String,
    /// Whether the rates are MCSs.
    has_mcs: bool,
    /// MCSs per number of streams, if the MCS implies the number.
    mcs_per_stream: Option<u8>,
    /// Whether the PHY is HT or later, with aggregation.
    is_ht: bool,
    /// Octets of the longest MPDU in an A-MPDU, if an A-MSDU can exceed them.
    max_mpdu_in_ampdu_b: Option<usize>,
    label: &'static str,
    /// Data subcarriers by channel width, MHz; empty without MCSs.
    data_subcarriers: BTreeMap<u16, u16>,
    /// Data bits per subcarrier and stream by MCS, as a fraction; empty without MCSs.
    bits_per_subcarrier: Vec<(u16, u16)>,
    is_dsss: bool,
    /// The non-HT rates of its BSS by band, the oldest PHY first: Mbit/s, PHY, and whether the rate is a basic rate.
    non_ht: BTreeMap<&'static str, Vec<(f64, &'static str, bool)>>,
    /// Lines of hostapd.conf, those of the oldest PHY first: key and value, with the fields of `Phy::hostapd`.
    hostapd: Vec<(&'static str, &'static str)>,
}

/// All PHYs, in the order of their clauses.
#[pyfunction]
pub fn phys() -> Vec<Phy> {
    phy::PHYS.iter().map(|phy| declared(phy)).collect()
}

fn declared(phy: &'static phy::Phy) -> Phy {
    let (has_mcs, mcs_per_stream, codings) = match phy.rates {
        Rates::NonHt(_) => (false, None, [].as_slice()),
        Rates::Mcs {
            per_stream, codings, ..
        } => (true, per_stream, codings),
    };
    let bits = |&(_, coded, rate): &Coding| (coded * rate.ratio().0, rate.ratio().1);
    let non_ht = |&band: &Band| {
        let bss = Bss::new(phy, band);
        let rates = iter::zip(bss.supported_modes(), bss.supported_rates());
        let rates = rates.map(|(mode, (kbps, is_basic))| (f64::from(kbps) / 1e3, mode.phy().word, is_basic));
        (band_word(band), rates.collect())
    };
    let lineage: Vec<_> = phy.lineage(phy.bands[0]).collect();
    Phy {
        word: phy.word,
        amendment: phy.amendment,
        generation: phy.generation,
        bands: phy.bands.iter().map(|&band| band_word(band)).collect(),
        bandwidths_mhz: phy.bandwidths_mhz.to_vec(),
        guard_intervals: phy.guard_intervals.iter().map(|&gi| gi_word(gi)).collect(),
        max_streams: phy.max_streams,
        rates: rate_words(phy),
        usual_rate: rate_word(phy.usual_rate),
        has_mcs,
        mcs_per_stream,
        is_ht: phy.is_ht(),
        max_mpdu_in_ampdu_b: phy.aggregation.and_then(|limits| limits.max_mpdu_in_ampdu_b),
        label: phy.label,
        data_subcarriers: iter::zip(phy.bandwidths_mhz, phy.data_subcarriers)
            .map(|(&mhz, &count)| (mhz, count))
            .collect(),
        bits_per_subcarrier: codings.iter().map(bits).collect(),
        is_dsss: phy.format == Format::Dsss,
        non_ht: phy.bands.iter().map(non_ht).collect(),
        hostapd: lineage
            .iter()
            .rev()
            .flat_map(|phy| phy.hostapd)
            .copied()
            .collect(),
    }
}

/// The PHY, rate, width in MHz, guard interval and streams of each mode with MCSs that has this data rate in Mbit/s,
/// rounded to one decimal as products do.
#[pyfunction]
pub fn modes_at(mbps: f64) -> Vec<(&'static str, String, u16, &'static str, u8)> {
    wlan_scenario::modes_at(mbps)
}

/// The declaration of a key of a scenario or of the table `[link]`.
#[pyclass(frozen, get_all)]
pub struct ScenarioKey {
    name: &'static str,
    /// The names of the value in the JSON of a scenario, the outermost first; empty if the medium does not have the key.
    json: Vec<&'static str>,
    table: &'static str,
    values: Values,
    initial: Option<f64>,
    text: String,
    panel: &'static str,
    labs: &'static [&'static str],
    set_by: Option<&'static str>,
    crypto_at: Option<&'static str>,
}

/// The values of a key or of a parameter.
#[pyclass(frozen, get_all)]
#[derive(Clone)]
pub struct Values {
    kind: &'static str,
    words: Vec<&'static str>,
    bounds: (i64, i64),
    of: &'static str,
    parameters: Vec<(&'static str, Values)>,
}

/// All keys, in the order of a scenario's JSON.
#[pyfunction]
pub fn scenario_keys() -> Vec<ScenarioKey> {
    let keys = KEYS.iter().map(|key| ScenarioKey {
        name: key.name,
        json: key.json.split('.').filter(|_| !key.group.is_empty()).collect(),
        table: key.table,
        values: values(&key.values),
        initial: key.initial,
        text: key.text(),
        panel: key.panel,
        labs: key.labs,
        set_by: key.set_by,
        crypto_at: key.crypto_at,
    });
    keys.collect()
}

fn values(of: &contract::Values) -> Values {
    Values {
        kind: of.kind,
        words: (of.words)(),
        bounds: of.bounds,
        of: of.of,
        parameters: of
            .parameters
            .iter()
            .map(|(name, of)| (*name, values(of)))
            .collect(),
    }
}

/// Checks a scenario. Raises `ValueError` with one line if it is invalid.
#[pyfunction]
pub fn check_scenario(scenario: &str) -> PyResult<()> {
    Scenario::read(scenario)
        .and_then(|scenario| scenario.check())
        .map_err(value_error)
}

/// Why the medium refuses a scenario, or with `is_of_any_width` the scenario at every channel width and number of streams.
#[pyfunction]
pub fn refusal(scenario: &str, is_of_any_width: bool) -> Option<String> {
    Scenario::refusal(scenario, is_of_any_width).map(|refusal| refusal.to_string())
}

/// The keys among `given` that have no effect in a scenario, each with the error.
#[pyfunction]
pub fn unused_keys(scenario: &str, given: Vec<String>) -> Vec<(&'static str, String)> {
    Scenario::unused(scenario, &given)
}

/// Simulates a scenario in virtual time.
#[pyfunction]
pub fn simulate(py: Python<'_>, scenario: String) -> PyResult<String> {
    py.detach(|| Ok::<_, BadScenario>(Scenario::read(&scenario)?.simulate()?.to_string()))
        .map_err(value_error)
}

/// Evaluates the closed forms of a scenario.
#[pyfunction]
pub fn model(scenario: &str) -> PyResult<String> {
    Scenario::read(scenario)
        .and_then(|scenario| scenario.model())
        .map(|answer| answer.to_string())
        .map_err(value_error)
}
