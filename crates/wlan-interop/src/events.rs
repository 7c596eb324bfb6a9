//! Events and counts as JSON.

use serde_json::{Value, json};
use wlan_bss::{Counts, Event};
use wlan_rsn::Akm;

/// An event as a line for the test.
pub fn line(event: &Event) -> Value {
    match event {
        Event::Associated { akm, mfp, qos } => {
            json!({ "event": "associated", "wpa_key_mgmt": akm.map(Akm::name), "mfp": mfp, "qos": qos })
        }
        Event::Pairwise(suite, key_id) => {
            json!({ "event": "pairwise", "cipher": suite.name(), "key_id": key_id.get() })
        }
        Event::Group(suite, key_id) => {
            json!({ "event": "group", "cipher": suite.name(), "key_id": key_id.get() })
        }
        Event::Integrity(suite, key_id) => json!({
            "event": "integrity",
            "cipher": suite.name(),
            "key_id": key_id.get(),
            "of_beacons": key_id.is_for_beacons(),
        }),
        Event::Established => json!({ "event": "established" }),
        Event::Refused(status, why) => {
            json!({ "event": "refused", "status": status, "why": why.to_string() })
        }
        Event::Left(reason) => json!({ "event": "left", "reason": reason }),
        Event::Failed(why) => json!({ "event": "failed", "why": why.to_string() }),
    }
}

/// Frames by their fate.
pub fn counts(counts: Counts) -> Value {
    json!({
        "sent": counts.sent,
        "received": counts.received,
        "group_received": counts.group_received,
        "beacons_verified": counts.beacons_verified,
        "beacons_rejected": counts.beacons_rejected,
        "unopened": counts.unopened,
        "replays": counts.replays,
        "unprotected": counts.unprotected,
        "discarded": counts.discarded,
        "queries_answered": counts.queries_answered,
    })
}
