//! The capture of the emulated air, as a monitor close to all stations would record it: a pcap file with radiotap
//! headers (LINKTYPE 127).
//!
//! The monitor reads every PPDU that does not overlap another, even if the PPDU's receiver cannot, because noise occurs
//! only at the receiver. The frames come from the medium's events, with their times and modes; [`writer`] writes them
//! to disk. Time stamps refer to the first bit of the MPDU, as radiotap defines TSFT.
//!
//! On a medium with a channel, the radiotap header has the signal and the noise of the frame at its receiver. A frame to
//! all stations has those at the access point, or at station 1 if the access point sends it. Frames of joining have none.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use wlan_air::channel;
use wlan_air::phy::{Band, Format, GuardInterval, Mode, Preamble};
use wlan_air::{Kind, Nanos, Ppdu};
use wlan_bss::Beacons;
use wlan_frames::ampdu::{self, Delimiter};
use wlan_frames::beacon::Beacon;
use wlan_frames::control::{Ack, BlockAck, Cts, Rts};
use wlan_frames::radiotap::{
    AmpduStatus, CHANNEL_2GHZ, CHANNEL_CCK, CHANNEL_DYNAMIC, CHANNEL_OFDM, Channel, FLAG_FCS,
    FLAG_SHORT_PREAMBLE, Mcs, Radiotap, Vht, VhtBandwidth,
};
use wlan_frames::{MacAddr, fcs, pcap};
use wlan_scenario::beacon::MAX_LEN_B;

use self::scoreboard::Scoreboard;
use self::writer::Writer;
use crate::bss::beacon;
use crate::frames::sent::{Sent, duration_us};

#[cfg(test)]
mod radio_tests;
mod scoreboard;
#[cfg(test)]
mod tests;
mod writer;

/// Octets of all buffers that may wait for the disk: half a second of the fastest air. Beyond the limit, complete PPDUs
/// are dropped and counted, as in a card's driver whose buffers are full.
const LIMIT_B: usize = 64 << 20;

/// Number of TIDs of traffic that is prioritised (9.2.4.5.2).
const TIDS: usize = 8;

/// The addresses and properties of the stations.
pub struct Names {
    /// The addresses of the stations, by station number.
    pub addresses: Vec<MacAddr>,
    /// The TID of QoS data frames, unless [`Capture::end_of_tid`] names another one.
    pub tid: u8,
    /// The beacons of station 0, if the medium sends them.
    pub beacons: Option<Beacons>,
    /// The channel of the medium.
    pub channel: Option<channel::Channel>,
}

/// A capture that is being written.
pub struct Capture {
    writer: Writer,
    /// Wall-clock time at which the first station started to join.
    origin_ns: u64,
    /// Time from then until zero on the emulator's clock.
    before: Nanos,
    names: Names,
    /// The MPDUs that each station has received from each other station: by recipient, then by originator.
    received: Vec<Vec<Received>>,
    /// PPDUs on the air.
    on_air: Vec<OnAir>,
    ampdu_reference: u32,
}

/// The MPDUs that a station has received from another station.
#[derive(Clone, Copy, Default)]
struct Received {
    /// One agreement per TID.
    scoreboards: [Scoreboard; TIDS],
    /// The TID of the last MPDU.
    tid: u8,
}

/// A PPDU on the air.
struct OnAir {
    sender: usize,
    /// Whether no other PPDU has overlapped this one so far.
    alone: bool,
    /// The PPDU's frames as records of the file.
    records: Vec<u8>,
}

impl Capture {
    /// Creates the file and starts its writer.
    ///
    /// # Errors
    /// The file exists, or cannot be created or written.
    pub fn create(path: &Path, names: Names) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create_new(path)?);
        file.write_all(&pcap::file_header())?;
        let finish = |file: BufWriter<File>| file.into_inner()?.sync_all();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            writer: Writer::start(file, finish, LIMIT_B)?,
            origin_ns: u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX),
            before: Nanos::ZERO,
            received: vec![vec![Received::default(); names.addresses.len()]; names.addresses.len()],
            names,
            on_air: Vec::new(),
            ampdu_reference: 0,
        })
    }

    /// Records the frames that the stations sent while they joined, in the time `took` before zero on the emulator's
    /// clock.
    pub fn joining(&mut self, sent: &[Sent], took: Nanos) {
        self.origin_ns = self.origin_ns.saturating_sub(took.0);
        let mut records = self.writer.buffer();
        for Sent { at, mode, mpdu } in sent {
            self.record(&mut records, *at + mode.preamble(), radiotap(mode), mpdu);
        }
        self.writer.write(records);
        self.before = took;
    }

    /// Records the start of a data PPDU with these MPDUs (without FCS).
    pub fn begin_data<'m>(&mut self, ppdu: &Ppdu, mpdus: impl Iterator<Item = &'m [u8]>) {
        let Kind::Data { mpdus: count } = ppdu.kind else {
            return;
        };
        let radiotap = self.radiotap(ppdu);
        let in_ampdu = count > 1 || ppdu.mode.always_ampdu();
        self.ampdu_reference = self.ampdu_reference.wrapping_add(u32::from(in_ampdu));
        let mut air = self.take_air(ppdu);
        let mut offset_b = 0;
        for (index, mpdu) in mpdus.enumerate() {
            let status = AmpduStatus {
                reference: self.ampdu_reference,
                last: Some(index + 1 == count),
                // HT delimiters have no EOF bit.
                eof: ppdu.mode.always_ampdu().then_some(count == 1),
            };
            let delimiter_b = if in_ampdu { Delimiter::LEN } else { 0 };
            let at = first_bit(ppdu, offset_b + delimiter_b);
            let radiotap = Radiotap {
                ampdu: in_ampdu.then_some(status),
                ..radiotap
            };
            self.record(&mut air.records, at, radiotap, mpdu);
            offset_b += ampdu::subframe_len(mpdu.len() + fcs::FCS_LEN);
        }
        self.on_air.push(air);
    }

    /// Records a PPDU without data, which starts now. It reserves the medium for `duration` after its end.
    pub fn begin(&mut self, ppdu: &Ppdu, duration: Nanos) {
        let duration_us = duration_us(duration);
        let ta = self.names.addresses[ppdu.sender];
        let ra = ppdu
            .receiver
            .map_or(MacAddr::BROADCAST, |station| self.names.addresses[station]);
        let mut octets = [0; MAX_LEN_B];
        let len = match ppdu.kind {
            Kind::Data { .. } => return,
            Kind::Rts => Rts { duration_us, ra, ta }.emit(&mut octets),
            Kind::Cts => Cts { duration_us, ra }.emit(&mut octets),
            Kind::CtsToSelf => Cts { duration_us, ra: ta }.emit(&mut octets),
            Kind::Ack => Ack { duration_us, ra }.emit(&mut octets),
            Kind::BlockAck => {
                let Received { scoreboards, tid } =
                    ppdu.receiver.map_or_else(Received::default, |originator| {
                        self.received[ppdu.sender][originator]
                    });
                let scoreboard = scoreboards[usize::from(tid) % TIDS];
                BlockAck {
                    duration_us,
                    ra,
                    ta,
                    tid,
                    starting_sequence: scoreboard.start(),
                    bitmap: scoreboard.bitmap(),
                }
                .emit(&mut octets)
            }
            Kind::Beacon => {
                let Some(beacons) = &mut self.names.beacons else {
                    return;
                };
                let timestamp = self.before + first_bit(ppdu, Beacon::TIMESTAMP_AT);
                beacons.emit(timestamp.0 / 1000, &mut octets)
            }
        };
        let mut air = self.take_air(ppdu);
        let at = first_bit(ppdu, 0);
        self.record(&mut air.records, at, self.radiotap(ppdu), &octets[..len]);
        self.on_air.push(air);
    }

    /// Records the end of a PPDU. `arrived` are the sequence numbers of the MPDUs that its receiver has.
    pub fn end(&mut self, ppdu: &Ppdu, arrived: impl Iterator<Item = u16>) {
        self.end_of_tid(ppdu, self.names.tid, arrived);
    }

    /// Like [`end`](Self::end), for a PPDU with MPDUs of this TID.
    pub fn end_of_tid(&mut self, ppdu: &Ppdu, tid: u8, arrived: impl Iterator<Item = u16>) {
        if let Some(station) = ppdu.receiver {
            let received = &mut self.received[station][ppdu.sender];
            for sequence in arrived {
                received.tid = tid;
                received.scoreboards[usize::from(tid) % TIDS].receive(sequence);
            }
        }
        let Some(index) = self.on_air.iter().position(|air| air.sender == ppdu.sender) else {
            return;
        };
        let air = self.on_air.swap_remove(index);
        if air.alone {
            self.writer.write(air.records);
        } else {
            self.writer.give_back(air.records);
        }
    }

    /// PPDUs missing from the file because the disk was too slow.
    pub fn lost(&self) -> u64 {
        self.writer.lost()
    }

    /// Writes all queued records, and reports whether all of them reached the disk.
    ///
    /// # Errors
    /// The first write that failed.
    pub fn finish(self) -> io::Result<()> {
        self.writer.finish()
    }

    /// Adds a PPDU to the PPDUs on the air.
    fn take_air(&mut self, ppdu: &Ppdu) -> OnAir {
        for other in &mut self.on_air {
            other.alone = false;
        }
        OnAir {
            sender: ppdu.sender,
            alone: self.on_air.is_empty(),
            records: self.writer.buffer(),
        }
    }

    /// The radiotap fields of a PPDU: those of its mode, and its signal.
    fn radiotap(&self, ppdu: &Ppdu) -> Radiotap {
        let of_mode = radiotap(&ppdu.mode);
        let Some(channel) = &self.names.channel else {
            return of_mode;
        };
        let receiver = ppdu.receiver.unwrap_or(usize::from(ppdu.sender == 0));
        let signal = channel.signal(ppdu.sender, receiver, ppdu.mode.bandwidth_mhz(), ppdu.start);
        Radiotap {
            antenna_signal_dbm: Some(whole_dbm(signal.power_dbm())),
            antenna_noise_dbm: Some(whole_dbm(signal.noise_dbm)),
            ..of_mode
        }
    }

    /// Appends one record of the file: its header, the radiotap header, the frame and its FCS.
    fn record(&self, records: &mut Vec<u8>, at: Nanos, radiotap: Radiotap, mpdu: &[u8]) {
        let at = self.before + at;
        let radiotap = Radiotap {
            tsft_us: Some(at.0 / 1000),
            ..radiotap
        };
        let mut header = [0; Radiotap::MAX_LEN];
        let header_len = radiotap.emit(&mut header);
        let len = header_len + mpdu.len() + fcs::FCS_LEN;
        records.extend_from_slice(&pcap::record_header(self.origin_ns + at.0, len));
        records.extend_from_slice(&header[..header_len]);
        records.extend_from_slice(mpdu);
        records.extend_from_slice(&fcs::fcs(mpdu).to_le_bytes());
    }
}

/// The nearest power that a radiotap header can express.
#[allow(clippy::cast_possible_truncation)] // the cast saturates
fn whole_dbm(dbm: f64) -> i8 {
    dbm.round() as i8
}

/// Transmission time of the bit after the first `octets` octets of the PSDU.
fn first_bit(ppdu: &Ppdu, octets: usize) -> Nanos {
    let psdu_at = ppdu.start + ppdu.mode.preamble();
    psdu_at + Nanos(octets as u64 * 8_000_000 / ppdu.mode.rate_kbps())
}

/// The radiotap fields of a mode: channel, and rate, MCS or VHT. The channel flags are those of Linux
/// (`ieee80211_add_rx_radiotap_header` in mac80211).
fn radiotap(mode: &Mode) -> Radiotap {
    let format = mode.phy().format;
    let flags = CHANNEL_2GHZ
        | match format {
            Format::Dsss => CHANNEL_CCK,
            Format::Ofdm => CHANNEL_OFDM,
            _ => CHANNEL_DYNAMIC,
        };
    let freq_mhz = beacon::channel(mode.band()).1;
    let short_preamble = mode.dsss_preamble() == Some(Preamble::Short);
    let short_gi = mode.guard_interval() == Some(GuardInterval::Short);
    let of_mode = Radiotap {
        flags: Some(FLAG_FCS | if short_preamble { FLAG_SHORT_PREAMBLE } else { 0 }),
        channel: Some(match mode.band() {
            Band::Ghz2_4 => Channel { freq_mhz, flags },
            Band::Ghz5 => Channel::ofdm_5ghz(freq_mhz),
        }),
        ..Radiotap::default()
    };
    match (format, mode.mcs()) {
        (Format::Ht, Some(index)) => Radiotap {
            mcs: Some(Mcs {
                forty_mhz: mode.bandwidth_mhz() == 40,
                short_gi,
                index,
            }),
            ..of_mode
        },
        (Format::Vht, Some(mcs)) => Radiotap {
            vht: Some(Vht {
                bandwidth: match mode.bandwidth_mhz() {
                    20 => VhtBandwidth::Mhz20,
                    40 => VhtBandwidth::Mhz40,
                    80 => VhtBandwidth::Mhz80,
                    _ => VhtBandwidth::Mhz160,
                },
                short_gi,
                mcs,
                streams: mode.streams(),
            }),
            ..of_mode
        },
        _ => Radiotap {
            rate_500kbps: u8::try_from(mode.rate_kbps() / 500).ok(),
            ..of_mode
        },
    }
}
