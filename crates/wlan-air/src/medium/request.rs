//! Frames whose mode the driver of the medium chooses, per transmission.

use super::{Medium, Protection};
use crate::phy::Mode;
use crate::rate::{Choice, RateControl};

/// The transmission that a driver requests for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxRequest {
    /// The mode. The BSS must carry it ([`Bss::carries`](crate::phy::Bss::carries)).
    pub mode: Mode,
    /// The frame before the PPDU. A group-addressed frame has no receiver that could answer an RTS, so
    /// [`Protection::RtsCts`] has no effect on it. With [`Protection::None`], the RTS threshold of the station
    /// decides.
    pub protection: Protection,
    /// Whether the frame may share an A-MPDU with other frames. Otherwise it is sent alone and answered by an
    /// Ack.
    pub aggregable: bool,
}

/// The function by which a driver requests each transmission of a frame: see
/// [`Medium::with_driver`](crate::Medium::with_driver).
pub type RequestFn<F> = fn(frame: &F, transmissions: u8) -> Option<TxRequest>;

/// The decisions of a medium before it takes the MPDUs of an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub flow: usize,
    pub choice: Choice,
    /// The protection of the exchange; none if the station's configuration decides by the PSDU's length.
    pub protection: Option<Protection>,
    /// Whether the exchange contains a single MPDU.
    pub alone: bool,
}

impl<F> Medium<F> {
    /// The request function of a station, if its driver chooses its modes.
    pub(super) fn driver_of(&self, station: usize) -> Option<RequestFn<F>> {
        // Every frame passes here, and most media have no driver.
        let request = self.request?;
        (self.config.stations[station].rate == RateControl::Driver).then_some(request)
    }

    /// The mode and the protection of the next exchange of a flow. `None` if the flow has no MSDU.
    pub(super) fn plan_flow(&mut self, station: usize, contender: usize, flow: usize) -> Option<Plan> {
        let request = self.driver_of(station);
        let of_flow = &mut self.stations[station].contenders[contender].flows[flow];
        let is_group = of_flow.to.is_none();
        if let Some(request) = request {
            let (frame, transmissions) = of_flow.next_frame(self.now, &mut self.dropped)?;
            let asked = request(frame, transmissions).expect("a driver's answer must not change");
            assert!(
                self.config.bss.carries(&asked.mode),
                "the driver requested {}, which the BSS does not carry",
                asked.mode
            );
            let protection = match asked.protection {
                // No station would answer the RTS.
                Protection::RtsCts | Protection::None if is_group => Some(Protection::None),
                Protection::None => None,
                protection => Some(protection),
            };
            return Some(Plan {
                flow,
                choice: Choice::given(asked.mode),
                protection,
                alone: is_group || !asked.aggregable,
            });
        }
        Some(match &of_flow.rate {
            Some(rate) => {
                let choice = rate.choose(self.now);
                Plan {
                    flow,
                    choice,
                    protection: None,
                    // A sample risks one MPDU, not a whole A-MPDU.
                    alone: choice.sample,
                }
            }
            // Every station decodes the basic mode, so a group-addressed frame requires no protection.
            None => Plan {
                flow,
                choice: Choice::given(self.config.bss.beacon_mode()),
                protection: Some(Protection::None),
                alone: true,
            },
        })
    }
}
