//! The closed forms of a scenario, as JSON.

use serde_json::{Value, json};
use wlan_air::Nanos;
use wlan_air::analytic::{
    Contention, ContentionModel, Exchange, full_psdu, idle_round_trip, saturated_single_station,
    saturated_stations, security_cost,
};
use wlan_frames::LlcSnap;

use super::{BadScenario, Scenario, UDP_LEN_B};

impl Scenario {
    /// Evaluates closed forms for stations that always have a datagram of this size to send. Returns JSON.
    ///
    /// # Errors
    /// [`BadScenario`], as one line.
    pub fn model(&self) -> Result<Value, BadScenario> {
        self.check()?;
        let air = self.air();
        let bss = air.bss()?;
        let mode = air.mode()?;
        let station = self.station()?;
        let (access, aggregation) = (station.access[0], station.aggregation);
        let security_b = station.framing.security_b;
        let msdu_b = LlcSnap::LEN + self.ip()?.header_len_b() + UDP_LEN_B + self.packet_size;
        let open_b = station.framing.mpdu_len_b(msdu_b) - security_b;
        let contention = |len_b, model| {
            let (_, psdu_len_b) = full_psdu(&aggregation, &mode, len_b);
            Contention {
                stations: self.stations,
                exchange: if station.sends_rts(psdu_len_b) {
                    Exchange::RtsCts
                } else {
                    Exchange::Basic
                },
                model,
                eifs: true,
            }
        };
        let single = |len_b| saturated_single_station(&bss, &mode, &access, &aggregation, len_b);
        let contended = |len_b, model| {
            saturated_stations(
                &bss,
                &mode,
                &access,
                &aggregation,
                len_b,
                &contention(len_b, model),
            )
        };
        let one_b = open_b + security_b;
        let one = single(one_b);
        let goodput = |mpdus_per_s: f64| mpdus_per_s * self.packet_size as f64 * 8e-6;
        let bianchi = |model| {
            let of = contended(one_b, model);
            json!({
                "throughput_mbps": goodput(of.mpdus_per_s),
                "mpdus_per_ppdu": of.mpdus_per_ppdu,
                "collision_probability": of.collision_probability,
                "drop_probability": of.drop_probability,
                "access_delay_us": of.access_delay_us,
                "cost_of_security": security_cost(|len_b| contended(len_b, model).mpdus_per_s, open_b, security_b),
            })
        };
        Ok(json!({
            "single_station": {
                "throughput_mbps": goodput(one.mpdus_per_s()),
                "mpdus_per_ppdu": one.mpdus_per_cycle,
                "cost_of_security": security_cost(|len_b| single(len_b).mpdus_per_s(), open_b, security_b),
                "cycle_us": one.cycle_us(),
                "ifs_us": one.ifs_us,
                "backoff_us": one.backoff_us,
                "preamble_us": one.preamble_us,
                "payload_us": one.payload_us,
                "sifs_us": one.sifs_us,
                "ack_us": one.ack_us,
            },
            "bianchi": bianchi(ContentionModel::Bianchi),
            "countdown": bianchi(ContentionModel::Countdown),
            "idle_round_trip_us": idle_round_trip(&bss, &mode, &access, one_b, one_b, Nanos::ZERO).total_us(),
            "mpdu_bytes": one_b,
            "security_bytes": security_b,
        }))
    }
}
