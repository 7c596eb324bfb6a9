//! A scenario for tests.

use serde_json::{Value, json};

use super::{BadScenario, Scenario};

/// One 802.11a station at 54 Mbit/s that sends 1472 octets of UDP payload for one second. `words` override the
/// defaults.
///
/// # Panics
/// If the words are not a valid scenario.
#[must_use]
pub fn scenario(words: &[(&str, Value)]) -> Scenario {
    read(words).unwrap()
}

/// Like [`scenario`], but returns an error for invalid words.
pub(super) fn read(words: &[(&str, Value)]) -> Result<Scenario, BadScenario> {
    Scenario::read(&text(words))
}

/// The JSON of [`scenario`].
pub(super) fn text(words: &[(&str, Value)]) -> String {
    let mut all = json!({
        "phy": "ofdm", "rate": "54 Mbit/s", "bandwidth": 20, "gi": "long", "streams": 1,
        "security": "open", "crypto_at": "host", "stations": 1, "topology": "point-to-point",
        "direction": "up", "transport": "udp", "ip": "ipv4", "packet_size": 1472, "traffic": "saturated",
        "error_model": "none", "seed": 1, "duration_s": 1.0, "warmup_s": 0.1,
    });
    for (word, value) in words {
        all[*word] = value.clone();
    }
    all.to_string()
}
