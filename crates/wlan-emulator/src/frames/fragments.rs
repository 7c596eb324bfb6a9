//! Fragmentation of MSDUs (IEEE 802.11-2020 10.4, 10.5). Each fragment is an MPDU that is sealed separately.
//!
//! A frame keeps its MSDU in plaintext. The MPDU of the fragment on the air has its own buffer and is rebuilt for each
//! transmission: the same packet number gives the same octets. The receiver reassembles one MSDU at a time, since its
//! peer sends the fragments of one MSDU before the next.

use wlan_air::{Fragment, Nanos};
use wlan_ciphers::{OpenJob, SealJob};
use wlan_frames::{DataHeader, LlcSnap, SequenceControl};

use super::frame::{Frame, State};
use super::protection::{KEY_ID, Protection};
use super::reassembly::michael;
use super::station::End;

#[cfg(test)]
mod tests;

/// Longest time between the first and the last fragment: dot11MaxReceiveLifetime, 512 TU (10.5).
const MAX_LIFETIME: Nanos = Nanos::from_us(512 * 1024);

impl End {
    /// Prepares `frames` for transmission as [`seal`](End::seal) does, or only their fragment `part`.
    pub fn seal_on_air<'f>(
        &mut self,
        frames: impl Iterator<Item = &'f mut Frame>,
        part: Option<&Fragment>,
        duration_us: u16,
    ) {
        match part {
            None => self.seal(frames, duration_us),
            Some(part) => frames.for_each(|frame| self.seal_fragment(frame, part, duration_us)),
        }
    }

    /// Opens the frames on the air in place.
    pub fn open_on_air<'f>(&self, frames: impl Iterator<Item = &'f mut Frame>, part: Option<&Fragment>) {
        match part {
            None => self.open(frames),
            Some(_) => frames.for_each(|frame| self.open_fragment(frame)),
        }
    }

    /// Builds the MPDU of a fragment. All fragments have the sequence number of the MSDU, and consecutive packet
    /// numbers (12.5.3.3.2).
    fn seal_fragment(&mut self, frame: &mut Frame, part: &Fragment, duration_us: u16) {
        let around = self.around();
        let msdu_at = around.packet_at - LlcSnap::LEN;
        let header = self.header_of(frame);
        if frame.numbers.is_none() {
            frame.numbers = Some(self.next_sequence_number());
            if let Some(protection) = &self.protection {
                let msdu_end = frame.len_b - around.mic_b;
                let (msdu, behind) = frame.buffer[msdu_at..].split_at_mut(msdu_end - msdu_at);
                if let Some(mic) = protection.msdu_mic(michael(&header), msdu) {
                    behind[..mic.len()].copy_from_slice(&mic);
                }
            }
        }
        let Frame {
            buffer,
            numbers: Some(numbers),
            fragments,
            ..
        } = frame
        else {
            return;
        };
        let fragments = fragments.get_or_insert_default();
        let retry = part.number < fragments.pns.len();
        if !retry {
            fragments
                .pns
                .push(self.protection.as_mut().map(Protection::next_pn));
        }
        let header = DataHeader {
            retry,
            more_fragments: !part.last,
            duration_us,
            sequence: SequenceControl {
                number: numbers.sequence,
                fragment: u8::try_from(part.number).expect("a fragment number has four bits"),
            },
            ..header
        };
        let (security_b, mic_b) = self.protection.as_ref().map_or((0, 0), |protection| {
            (protection.suite().header_len(), protection.mpdu_mic_b())
        });
        let header_len = header.emit(&mut fragments.buffer);
        let at = header_len + security_b;
        let text = &buffer[msdu_at + part.start_b..][..part.len_b];
        fragments.buffer[at..][..part.len_b].copy_from_slice(text);
        fragments.len_b = at + part.len_b + mic_b;
        fragments.state = State::Sealed;
        if let (Some(protection), Some(pn)) = (&self.protection, fragments.pns[part.number]) {
            protection.seal_fragment(SealJob {
                mpdu: &mut fragments.buffer[..fragments.len_b],
                header_len,
                pn,
                key_id: KEY_ID,
            });
        }
    }

    fn open_fragment(&self, frame: &mut Frame) {
        let (Some(protection), Some(fragments)) = (&self.protection, &mut frame.fragments) else {
            return;
        };
        let mut job = [OpenJob::new(&mut fragments.buffer[..fragments.len_b], KEY_ID)];
        protection.open(&mut job);
        fragments.state = job[0]
            .verdict()
            .map_or(State::Rejected, |opened| State::Opened(opened.clone()));
    }

    /// Appends a fragment that arrived at `at` to the MSDU, if it opened, is not a replay and is the next one.
    pub fn take_fragment(&mut self, frame: &Frame, at: Nanos) {
        let Some(fragments) = &frame.fragments else {
            return;
        };
        let Ok(header) = DataHeader::parse(fragments.mpdu()) else {
            return;
        };
        let SequenceControl { number, fragment } = header.sequence;
        let so_far = &mut self.reassembly;
        if header.retry && so_far.sequence == Some(number) && fragment < so_far.count {
            return; // a duplicate, sent because its Ack was lost (10.3.2.14)
        }
        let opened = match (&mut self.protection, &fragments.state) {
            (None, _) => Some((None, header.len()..fragments.len_b)),
            (Some(protection), State::Opened(opened)) => protection.accept(opened).then(|| {
                let pn = Some(opened.pn).filter(|_| protection.has_replay_check());
                (pn, opened.payload.clone())
            }),
            _ => None,
        };
        if fragment == 0 {
            so_far.begin(&header, at);
        }
        let Some((pn, text)) = opened.filter(|(pn, _)| {
            // Packet numbers of an MSDU's fragments increase by one (12.5.3.4.4).
            let follows = fragment == 0 || so_far.last_pn.and_then(|last| last.next().ok()) == *pn;
            let in_turn = so_far.sequence == Some(number) && fragment == so_far.count && !so_far.complete;
            follows && in_turn && at.saturating_sub(so_far.began) <= MAX_LIFETIME
        }) else {
            so_far.sequence = None;
            return;
        };
        so_far.last_pn = pn;
        so_far.count += 1;
        so_far.complete = !header.more_fragments;
        so_far.octets.extend_from_slice(&fragments.buffer[text]);
    }

    /// Whether a received frame is authentic and contains a packet. An unfragmented frame is checked by
    /// [`accept`](End::accept). A fragmented MSDU must be complete and, with TKIP, have a valid MIC; it is then copied
    /// to `frame`.
    pub fn take_up(&mut self, frame: &mut Frame) -> bool {
        if frame
            .fragments
            .as_ref()
            .is_none_or(|fragments| fragments.pns.is_empty())
        {
            return self.accept(frame);
        }
        let around = self.around();
        let sequence = frame.numbers.map(|numbers| numbers.sequence);
        let so_far = &mut self.reassembly;
        if !so_far.complete || so_far.sequence != sequence {
            return false;
        }
        let msdu = match &self.protection {
            Some(protection) => protection.verify_msdu(so_far.michael, &mut so_far.octets),
            None => Some(&so_far.octets[..]),
        };
        let body = &mut frame.buffer[around.packet_at - LlcSnap::LEN..frame.len_b - around.mic_b];
        match msdu {
            Some(msdu) if msdu.len() == body.len() => body.copy_from_slice(msdu),
            _ => return false,
        }
        LlcSnap::parse(body).is_ok()
    }
}
