//! The closed forms of a scenario, as JSON.

use serde_json::{Value, json};
use wlan_air::analytic::{
    Contended, Contention, ContentionModel, Saturated, full_psdu, idle_round_trip, saturated_single_station,
    saturated_stations, security_cost,
};
use wlan_air::phy::{Bss, Mode};
use wlan_air::{Nanos, Protection, StationConfig};

use super::{BadScenario, Scenario};

/// Stations that always have a datagram to send.
struct Forms {
    bss: Bss,
    mode: Mode,
    station: StationConfig,
    stations: usize,
    payload_b: usize,
    /// Octets of an MPDU without security.
    open_b: usize,
    security_b: usize,
}

impl Scenario {
    /// Evaluates closed forms for stations that always have a datagram of this size to send. Returns JSON.
    ///
    /// # Errors
    /// [`BadScenario`], as one line.
    pub fn model(&self) -> Result<Value, BadScenario> {
        self.check()?;
        let station = self.station_config()?;
        let security_b = station.framing.security_b;
        let forms = Forms {
            bss: self.bss,
            mode: self.mode,
            stations: self.cell.stations,
            payload_b: self.traffic.packet_size,
            open_b: station.framing.mpdu_len_b(self.traffic.datagram_msdu_b()) - security_b,
            security_b,
            station,
        };
        Ok(json!({
            "single_station": forms.single_station(),
            "bianchi": forms.contention(ContentionModel::Bianchi),
            "countdown": forms.contention(ContentionModel::Countdown),
            "idle_round_trip_us": forms.idle_round_trip_us(),
            "mpdu_bytes": forms.mpdu_b(),
            "security_bytes": security_b,
        }))
    }
}

impl Forms {
    fn mpdu_b(&self) -> usize {
        self.open_b + self.security_b
    }

    fn goodput_mbps(&self, mpdus_per_s: f64) -> f64 {
        mpdus_per_s * self.payload_b as f64 * 8e-6
    }

    fn single_station(&self) -> Value {
        let of = self.alone(self.mpdu_b());
        json!({
            "throughput_mbps": self.goodput_mbps(of.mpdus_per_s()),
            "mpdus_per_ppdu": of.mpdus_per_cycle,
            "cost_of_security": security_cost(|len_b| self.alone(len_b).mpdus_per_s(), self.open_b, self.security_b),
            "cycle_us": of.cycle_us(),
            "ifs_us": of.ifs_us,
            "backoff_us": of.backoff_us,
            "protection_us": of.protection_us,
            "preamble_us": of.preamble_us,
            "payload_us": of.payload_us,
            "sifs_us": of.sifs_us,
            "ack_us": of.ack_us,
        })
    }

    /// One station that sends MPDUs of this length.
    fn alone(&self, len_b: usize) -> Saturated {
        let (access, aggregation) = (&self.station.access[0], &self.station.aggregation);
        let protection = self.protection(len_b);
        saturated_single_station(&self.bss, &self.mode, access, aggregation, protection, len_b)
    }

    /// The protection of full PSDUs of MPDUs of this length.
    fn protection(&self, len_b: usize) -> Protection {
        let (_, psdu_len_b) = full_psdu(&self.station.aggregation, &self.mode, len_b);
        self.station.protection_of(psdu_len_b)
    }

    fn contention(&self, model: ContentionModel) -> Value {
        let of = self.contended(self.mpdu_b(), model);
        let mpdus_per_s = |len_b| self.contended(len_b, model).mpdus_per_s;
        json!({
            "throughput_mbps": self.goodput_mbps(of.mpdus_per_s),
            "mpdus_per_ppdu": of.mpdus_per_ppdu,
            "collision_probability": of.collision_probability,
            "drop_probability": of.drop_probability,
            "access_delay_us": of.access_delay_us,
            "cost_of_security": security_cost(mpdus_per_s, self.open_b, self.security_b),
        })
    }

    /// All stations, which send MPDUs of this length.
    fn contended(&self, len_b: usize, model: ContentionModel) -> Contended {
        let (access, aggregation) = (&self.station.access[0], &self.station.aggregation);
        let contention = Contention {
            stations: self.stations,
            protection: self.protection(len_b),
            model,
            eifs: true,
        };
        saturated_stations(&self.bss, &self.mode, access, aggregation, len_b, &contention)
    }

    fn idle_round_trip_us(&self) -> f64 {
        let (access, len_b) = (&self.station.access[0], self.mpdu_b());
        let protection = self.station.protection_of(len_b);
        let round_trip = idle_round_trip(
            &self.bss,
            &self.mode,
            access,
            protection,
            len_b,
            len_b,
            Nanos::ZERO,
        );
        round_trip.total_us()
    }
}
