//! What the receiver keeps of an MSDU that comes in fragments (IEEE 802.11-2020 10.5).

use wlan_air::Nanos;
use wlan_ciphers::PacketNumber;
use wlan_ciphers::michael::MichaelHeader;
use wlan_frames::DataHeader;

/// What an end received of an MSDU.
#[derive(Default)]
pub(super) struct Reassembly {
    /// Whose; none before the first fragment, and after one that does not belong.
    pub(super) sequence: Option<u16>,
    /// Fragments that came: number 0 and those after it.
    pub(super) count: u8,
    /// Whether the last one came.
    pub(super) complete: bool,
    pub(super) last_pn: Option<PacketNumber>,
    pub(super) began: Nanos,
    /// What Michael covers in front of the MSDU.
    pub(super) michael: MichaelHeader,
    pub(super) octets: Vec<u8>,
}

impl Reassembly {
    /// Takes up the fragments of another MSDU.
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

/// What Michael covers in front of the MSDU of a frame (12.5.2.3.1).
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
