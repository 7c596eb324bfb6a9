//! The capture of the emulated air, as a monitor next to both stations would make it: a pcap file with radiotap
//! headers (LINKTYPE 127). A thread of its own writes it, so that a slow disk never delays the air.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use wlan_air::Nanos;
use wlan_air::phy::{Bss, Class, Mode};
use wlan_frames::control::{Ack, BlockAck};
use wlan_frames::radiotap::{AmpduStatus, Channel, FLAG_FCS, Mcs, Radiotap};
use wlan_frames::{DataHeader, MacAddr, fcs, pcap};

/// The channel that the emulated air says it is: channel 36.
const CHANNEL_MHZ: u16 = 5180;

/// A capture that is being written.
pub struct Capture {
    records: Sender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
    /// Wall-clock time at which the emulator's clock read zero.
    origin_ns: u64,
    mode: Mode,
    /// What every data frame's radiotap header says of its modulation; rate or MCS.
    data: Radiotap,
    /// Data frames on the air. They are kept only when they do not collide: no monitor could read them then.
    on_air: Vec<Vec<u8>>,
    /// The answer to them.
    answer: Option<Answer>,
    ampdu_reference: u32,
}

#[derive(Clone, Copy)]
enum Answer {
    Ack { ra: MacAddr },
    BlockAck(BlockAck),
}

impl Capture {
    /// Creates the file and starts its writer. `mcs` is that of an HT mode.
    ///
    /// # Errors
    /// The file exists already, or cannot be created or written.
    pub fn create(path: &Path, mode: Mode, mcs: Option<Mcs>) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create_new(path)?);
        file.write_all(&pcap::file_header())?;
        let (records, queue) = channel::<Vec<u8>>();
        let writer = std::thread::Builder::new()
            .name("capture".into())
            .spawn(move || {
                for record in queue {
                    file.write_all(&record)?;
                }
                file.flush()?;
                file.get_ref().sync_all()
            })?;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            records,
            writer,
            origin_ns: u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX),
            mode,
            data: Radiotap {
                mcs,
                ..legacy(&mode, !matches!(mode.class(), Class::Ht | Class::Vht))
            },
            on_air: Vec::new(),
            answer: None,
            ampdu_reference: 0,
        })
    }

    /// A transmission of these MPDUs (without FCS) starts at `at`, or goes on with more of them.
    pub fn begin<'m>(&mut self, at: Nanos, mpdus: impl Iterator<Item = &'m [u8]>) {
        self.on_air.clear();
        self.answer = None;
        self.ampdu_reference += 1;
        let mut mpdus = mpdus.peekable();
        let mut first = None;
        let mut index = 0;
        while let Some(mpdu) = mpdus.next() {
            let last = mpdus.peek().is_none();
            let ampdu = (index > 0 || !last).then_some(AmpduStatus {
                reference: self.ampdu_reference,
                last: Some(last),
            });
            let record = self.record(at, Radiotap { ampdu, ..self.data }, mpdu);
            self.on_air.push(record);
            first = first.or_else(|| DataHeader::parse(mpdu).ok());
            index += 1;
        }
        self.answer = first.map(|first| {
            if index > 1 {
                Answer::BlockAck(BlockAck {
                    duration_us: 0,
                    ra: first.addr2,
                    ta: first.addr1,
                    tid: first.tid(),
                    starting_sequence: first.sequence.number,
                    bitmap: u64::MAX >> (64 - index.min(64)),
                })
            } else {
                Answer::Ack { ra: first.addr2 }
            }
        });
    }

    /// The transmission ends at `at`; `arrived` unless it collided.
    pub fn end(&mut self, at: Nanos, arrived: bool) {
        let answer = self.answer.take();
        if !arrived {
            self.on_air.clear();
            return;
        }
        for record in self.on_air.drain(..) {
            // The receiver is gone only after a write failed, which `finish` reports.
            let _ = self.records.send(record);
        }
        let mut octets = [0; BlockAck::LEN];
        let len = match answer {
            None => return,
            Some(Answer::Ack { ra }) => Ack { duration_us: 0, ra }.emit(&mut octets),
            Some(Answer::BlockAck(block_ack)) => block_ack.emit(&mut octets),
        };
        let response = Bss::for_mode(&self.mode).control_response(&self.mode);
        let record = self.record(
            at + Bss::for_mode(&self.mode).sifs(),
            legacy(&response, true),
            &octets[..len],
        );
        let _ = self.records.send(record);
    }

    /// Writes what is queued, and says whether all of it reached the disk.
    ///
    /// # Errors
    /// The first write that failed.
    pub fn finish(self) -> io::Result<()> {
        drop(self.records);
        self.writer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// One record of the file: its header, the radiotap header, the frame and its FCS.
    fn record(&self, at: Nanos, radiotap: Radiotap, mpdu: &[u8]) -> Vec<u8> {
        let radiotap = Radiotap {
            tsft_us: Some(at.0 / 1000),
            ..radiotap
        };
        let len = radiotap.len() + mpdu.len() + fcs::FCS_LEN;
        let mut record = pcap::record_header(self.origin_ns + at.0, len).to_vec();
        let radiotap_at = record.len();
        record.resize(radiotap_at + radiotap.len(), 0);
        radiotap.emit(&mut record[radiotap_at..]);
        record.extend_from_slice(mpdu);
        record.extend_from_slice(&fcs::fcs(mpdu).to_le_bytes());
        record
    }
}

/// A radiotap header that says the channel, and the rate where the frame has one that is not an MCS.
fn legacy(mode: &Mode, with_rate: bool) -> Radiotap {
    Radiotap {
        flags: Some(FLAG_FCS),
        channel: Some(Channel::ofdm_5ghz(CHANNEL_MHZ)),
        rate_500kbps: with_rate.then(|| u8::try_from(mode.rate_kbps() / 500).unwrap_or(u8::MAX)),
        ..Radiotap::default()
    }
}
