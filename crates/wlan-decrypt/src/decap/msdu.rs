//! From payloads to Ethernet frames: fragments put together, A-MSDUs taken apart, the LLC header replaced.

use std::collections::VecDeque;
use std::sync::Arc;

use wlan_ciphers::PacketNumber;
use wlan_frames::MacAddr;
use wlan_frames::pcap::MAX_RECORD_LEN;

use super::{CaptureKey, Facts, Skipped};

/// MSDUs whose fragments are collected at the same time; a station needs three (10.5).
const MAX_PARTIAL: usize = 64;

/// LLC/SNAP headers in front of an EtherType: RFC 1042, and 802.1H bridge tunnel.
const SNAP: [[u8; 6]; 2] = [[0xaa, 0xaa, 3, 0, 0, 0], [0xaa, 0xaa, 3, 0, 0, 0xf8]];
/// EtherTypes that keep the bridge tunnel header: AppleTalk AARP and IPX (IEEE 802.11-2020 5.1.4, 802.1H Table 1).
const TUNNELLED: [[u8; 2]; 2] = [[0x80, 0xf3], [0x81, 0x37]];
/// DA, SA and, where there is no EtherType, a length.
const MAX_HEAD_LEN: usize = 14;

/// The fragments of one MSDU so far.
struct Partial {
    transmitter: MacAddr,
    tid: u8,
    /// Sequence Control of the fragment that comes next.
    next: u16,
    /// The key of all of them.
    key: Arc<CaptureKey>,
    /// Packet number of the fragment that comes next; none for WEP, and for TKIP, whose MIC covers the whole MSDU.
    next_pn: Option<PacketNumber>,
    octets: Vec<u8>,
}

/// MSDUs of which fragments came, and not all.
#[derive(Default)]
pub(super) struct Partials(VecDeque<Partial>);

impl Partials {
    /// Adds a fragment with what was decrypted of it by `key`, and gives the whole when it is the last. As a receiver does,
    /// it joins no fragments of two keys, and none of CCMP or GCMP whose packet numbers `pn` do not go up in steps of one
    /// (12.5.3.4.4, 12.5.5.4.4; CVE-2020-24587, CVE-2020-26146).
    pub(super) fn add(
        &mut self,
        facts: &Facts,
        key: &Arc<CaptureKey>,
        pn: Option<PacketNumber>,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
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
                octets: Vec::new(),
            },
            Some(so_far)
                if so_far.next == facts.sequence && Arc::ptr_eq(&so_far.key, key) && so_far.next_pn == pn =>
            {
                so_far
            }
            // One before this is missing, or this is of another MSDU: the rest is of no use.
            _ => return None,
        };
        so_far.octets.extend_from_slice(payload);
        if !facts.more_fragments {
            return Some(so_far.octets);
        }
        // There are sixteen fragments at most.
        if facts.sequence & 0xf == 0xf {
            return None;
        }
        so_far.next = facts.sequence + 1;
        so_far.next_pn = pn.and_then(|pn| pn.next().ok());
        if partial.len() == MAX_PARTIAL {
            partial.pop_front();
        }
        partial.push_back(so_far);
        None
    }
}

/// Gives an MSDU as an Ethernet frame, in two parts.
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
    // Only fragments that no station would send add up to more than a capture can hold.
    if head.len() + body.len() > MAX_RECORD_LEN {
        return Err(Skipped::NoMsdu);
    }
    emit(head, body);
    Ok(())
}

/// Takes an A-MSDU apart (9.3.2.2.2): DA (6), SA (6), length (2), MSDU, and padding to a multiple of 4.
pub(super) fn emit_amsdu(amsdu: &[u8], emit: &mut impl FnMut(&[u8], &[u8])) -> Result<u64, Skipped> {
    const HEADER_LEN: usize = 14;
    // All of it is looked at before any of it is given out.
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
