//! The receiver's state of an MSDU that arrives in fragments (IEEE 802.11-2020 10.5).

use wlan_air::Nanos;
use wlan_ciphers::PacketNumber;
use wlan_ciphers::michael::MichaelHeader;
use wlan_frames::DataHeader;

/// The fragments received of one MSDU.
#[derive(Default)]
pub(super) struct Reassembly {
    /// Sequence number of the MSDU; `None` before the first fragment and after an invalid one.
    pub(super) sequence: Option<u16>,
    /// Number of fragments received in sequence, from fragment 0.
    pub(super) count: u8,
    /// Whether the last fragment has arrived.
    pub(super) complete: bool,
    pub(super) last_pn: Option<PacketNumber>,
    pub(super) began: Nanos,
    /// The header that Michael covers in front of the MSDU.
    pub(super) michael: MichaelHeader,
    pub(super) octets: Vec<u8>,
}

impl Reassembly {
    /// Starts the reassembly of another MSDU.
    pub(super) fn begin(&mut self, header: &DataHeader, at: Nanos) {
        let mut octets = std::mem::take(&mut self.octets);
        octets.clear();
        *self = Reassembly {
            sequence: Some(header.sequence.number),
            began: at,
            michael: michael(header),
            octets,
            ..Reassembly::default()
        };
    }
}

/// The header that Michael covers in front of the MSDU of a frame (12.5.2.3.1).
pub(super) fn michael(header: &DataHeader) -> MichaelHeader {
    MichaelHeader {
        da: if header.to_ds { header.addr3 } else { header.addr1 },
        sa: if header.from_ds {
            header.addr3
        } else {
            header.addr2
        },
        priority: header.tid(),
    }
}
