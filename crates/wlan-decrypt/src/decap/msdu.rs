//! From payloads to Ethernet frames: reassembles fragments, splits A-MSDUs, replaces the LLC header.

use std::collections::VecDeque;
use std::sync::Arc;

use wlan_ciphers::PacketNumber;
use wlan_frames::MacAddr;
use wlan_frames::pcap::MAX_RECORD_LEN;

use super::{CaptureKey, Facts, Skipped};

/// Maximum number of MSDUs reassembled at the same time; a station must support three (10.5).
const MAX_PARTIAL: usize = 64;

/// LLC/SNAP headers before an EtherType: RFC 1042, and the 802.1H bridge tunnel header.
const SNAP: [[u8; 6]; 2] = [[0xaa, 0xaa, 3, 0, 0, 0], [0xaa, 0xaa, 3, 0, 0, 0xf8]];
/// EtherTypes that retain the bridge tunnel header: AppleTalk AARP and IPX (IEEE 802.11-2020 5.1.4, 802.1H Table 1).
const TUNNELLED: [[u8; 2]; 2] = [[0x80, 0xf3], [0x81, 0x37]];
/// DA, SA and, if there is no EtherType, the length.
const MAX_HEAD_LEN: usize = 14;

/// The fragments of one MSDU so far.
struct Partial {
    transmitter: MacAddr,
    tid: u8,
    /// Sequence Control of the next fragment.
    next: u16,
    /// The key of all fragments.
    key: Arc<CaptureKey>,
    /// Packet number of the next fragment; `None` for WEP and for TKIP, whose MIC covers the complete MSDU.
    next_pn: Option<PacketNumber>,
    fragments: u64,
    octets: Vec<u8>,
}

/// Incomplete MSDUs.
#[derive(Default)]
pub(super) struct Partials(VecDeque<Partial>);

impl Partials {
    /// Adds the plaintext of a fragment decrypted with `key`. Returns the MSDU, and the number of its earlier
    /// fragments, if this is its last fragment. Like a receiver, it does not join fragments with different keys or,
    /// for CCMP and GCMP, with packet numbers `pn` that are not consecutive (12.5.3.4.4, 12.5.5.4.4; CVE-2020-24587,
    /// CVE-2020-26146).
    pub(super) fn add(
        &mut self,
        facts: &Facts,
        key: &Arc<CaptureKey>,
        pn: Option<PacketNumber>,
        payload: &[u8],
    ) -> Option<(Vec<u8>, u64)> {
        let Partials(partial) = self;
        let place = partial
            .iter()
            .position(|p| p.transmitter == facts.transmitter && p.tid == facts.tid);
        let mut so_far = match place.and_then(|place| partial.remove(place)) {
            _ if facts.sequence & 0xf == 0 => Partial {
                transmitter: facts.transmitter,
                tid: facts.tid,
                next: facts.sequence,
                key: key.clone(),
                next_pn: pn,
                fragments: 0,
                octets: Vec::new(),
            },
            Some(so_far)
                if so_far.next == facts.sequence && Arc::ptr_eq(&so_far.key, key) && so_far.next_pn == pn =>
            {
                so_far
            }
            // An earlier fragment is missing, or this fragment belongs to another MSDU.
            _ => return None,
        };
        so_far.octets.extend_from_slice(payload);
        if !facts.more_fragments {
            return Some((so_far.octets, so_far.fragments));
        }
        // An MSDU has at most sixteen fragments.
        if facts.sequence & 0xf == 0xf {
            return None;
        }
        so_far.fragments += 1;
        so_far.next = facts.sequence + 1;
        so_far.next_pn = pn.and_then(|pn| pn.next().ok());
        if partial.len() == MAX_PARTIAL {
            partial.pop_front();
        }
        partial.push_back(so_far);
        None
    }
}

/// Passes an MSDU to `emit` as an Ethernet frame in two parts.
pub(super) fn emit_msdu(
    da: MacAddr,
    sa: MacAddr,
    msdu: &[u8],
    emit: &mut impl FnMut(&[u8], &[u8]),
) -> Result<(), Skipped> {
    let (&llc, rest) = msdu.split_first_chunk::<6>().ok_or(Skipped::NoMsdu)?;
    let mut head = [0; MAX_HEAD_LEN];
    head[..6].copy_from_slice(&da.0);
    head[6..12].copy_from_slice(&sa.0);
    let ethertype = rest.first_chunk::<2>();
    let snap = match ethertype {
        Some(ethertype) => llc == SNAP[1] || llc == SNAP[0] && !TUNNELLED.contains(ethertype),
        None => false,
    };
    let (head, body) = if snap {
        (&head[..12], rest)
    } else {
        let len = u16::try_from(msdu.len()).map_err(|_| Skipped::NoMsdu)?;
        head[12..].copy_from_slice(&len.to_be_bytes());
        (&head[..], msdu)
    };
    // Only invalid fragments exceed the maximum length of a capture record.
    if head.len() + body.len() > MAX_RECORD_LEN {
        return Err(Skipped::NoMsdu);
    }
    emit(head, body);
    Ok(())
}

/// Splits an A-MSDU (9.3.2.2.2) into subframes: DA (6), SA (6), length (2), MSDU, and padding to a multiple of 4.
pub(super) fn emit_amsdu(amsdu: &[u8], emit: &mut impl FnMut(&[u8], &[u8])) -> Result<u64, Skipped> {
    const HEADER_LEN: usize = 14;
    // The complete A-MSDU is parsed before any frame is emitted.
    let mut subframes = Vec::new();
    let mut at = 0;
    while at < amsdu.len() {
        let Some((header, rest)) = amsdu[at..].split_first_chunk::<HEADER_LEN>() else {
            return Err(Skipped::NoMsdu);
        };
        let [a, b, c, d, e, f, g, h, i, j, k, l, high, low] = *header;
        let len = usize::from(u16::from_be_bytes([high, low]));
        let msdu = rest
            .get(..len)
            .filter(|msdu| msdu.len() >= 6)
            .ok_or(Skipped::NoMsdu)?;
        subframes.push((MacAddr([a, b, c, d, e, f]), MacAddr([g, h, i, j, k, l]), msdu));
        at += (HEADER_LEN + len).next_multiple_of(4);
    }
    for &(da, sa, msdu) in &subframes {
        emit_msdu(da, sa, msdu, emit)?;
    }
    match subframes.len() {
        0 => Err(Skipped::NoMsdu),
        frames => Ok(frames as u64),
    }
}
