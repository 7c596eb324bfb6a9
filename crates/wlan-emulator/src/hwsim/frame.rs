//! The frames of mac80211, with the rates that its rate control asks for.
//!
//! mac80211 gives each frame a chain of up to four rates, each with a number of tries. A rate is an index and flags
//! (`linux/drivers/net/wireless/virtual/mac80211_hwsim.h`): without MCS flag, the index of a non-HT rate of the band;
//! with it, an HT MCS; with the VHT flag, the MCS in the low four bits and the streams less one above.

use arrayvec::ArrayVec;
use wlan_air::phy::{Bss, Format, GuardInterval, Mode, Preamble, Rate, Settings};
use wlan_air::{Protection, TxRequest};
use wlan_frames::frame_control::FrameControl;
use wlan_frames::{FrameType, MacAddr, SequenceControl};

/// Rates in a chain (`IEEE80211_TX_MAX_RATES`).
pub const RATES: usize = 4;

/// Flags of a rate (`enum hwsim_tx_rate_flags`).
mod rate_flags {
    pub const RTS_CTS: u16 = 1 << 0;
    pub const CTS_TO_SELF: u16 = 1 << 1;
    pub const SHORT_PREAMBLE: u16 = 1 << 2;
    pub const HT: u16 = 1 << 3;
    pub const MHZ40: u16 = 1 << 5;
    pub const SHORT_GI: u16 = 1 << 7;
    pub const VHT: u16 = 1 << 8;
    pub const MHZ80: u16 = 1 << 9;
    pub const MHZ160: u16 = 1 << 10;
}

/// Flags of a frame (`enum hwsim_tx_control_flags`).
pub mod tx_flags {
    /// The sender expects no Ack.
    pub const NO_ACK: u32 = 1 << 1;
    /// The receiver acknowledged the frame.
    pub const ACKED: u32 = 1 << 2;
    /// The frame belongs to a block ack agreement. The guest's kernel adds this flag.
    pub const AMPDU: u32 = 1 << 8;
}

/// Subtype of beacons (Table 9-1).
const SUBTYPE_BEACON: u8 = 8;
/// Subtype of PS-Poll frames (Table 9-1).
const SUBTYPE_PS_POLL: u8 = 10;

/// Duration field of a MAC header (9.2.4.2).
const DURATION_AT: usize = 2;
/// Sequence Control field of Data and management frames (9.2.4.4).
const SEQUENCE_AT: usize = 22;
/// QoS Control field of a Data frame between a station and its access point (9.2.4.5).
const QOS_AT: usize = 24;
/// Octets of the header of management frames, and of Data frames without QoS.
const HEADER_B: usize = 24;
/// Octets of the shortest control frame that mac80211 sends itself, PS-Poll. Radios send Acks.
const CONTROL_B: usize = 16;

/// A rate of a chain, as mac80211 gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HwsimRate {
    /// The index, with the flags' meaning.
    pub index: i8,
    /// Number of tries.
    pub tries: u8,
    /// Flags of `rate_flags`.
    pub flags: u16,
}

/// The entry of a frame for which mac80211 gave no rate.
const ONE_TRY: HwsimRate = HwsimRate {
    index: -1,
    tries: 1,
    flags: 0,
};

/// An entry of a frame's chain.
#[derive(Clone, Copy, Debug)]
struct Try {
    asked: HwsimRate,
    mode: Mode,
}

/// A frame that mac80211 sends: an MPDU without FCS, protected by mac80211.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The MPDU.
    pub octets: Vec<u8>,
    /// The kernel's name of the frame.
    pub cookie: u64,
    /// Flags of [`tx_flags`].
    pub flags: u32,
    /// Centre frequency of the sender's channel in MHz.
    pub freq_mhz: u32,
    control: FrameControl,
    /// Whether the frame was on the air before.
    was_sent: bool,
    /// At least one try.
    chain: ArrayVec<Try, RATES>,
}

/// The kind of a frame, which determines its access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A beacon.
    Beacon,
    /// Another management frame, or a control frame.
    Management,
    /// A Data frame of this TID; none without QoS.
    Data(Option<u8>),
}

impl Frame {
    /// A frame with its chain, without rates that the BSS does not carry. A frame without any rate is sent once, like a
    /// beacon. `None` if `octets` is not an MPDU.
    pub fn new(
        octets: Vec<u8>,
        cookie: u64,
        flags: u32,
        freq_mhz: u32,
        rates: &[HwsimRate],
        bss: &Bss,
    ) -> Option<Self> {
        let control = FrameControl::parse(&octets).ok()?;
        let least_b = if control.frame_type() == FrameType::Control {
            CONTROL_B
        } else {
            HEADER_B
        };
        if octets.len() < least_b {
            return None;
        }
        let basic = bss.beacon_mode();
        let asked = rates.iter().take_while(|rate| rate.index >= 0);
        let mut chain: ArrayVec<Try, RATES> = asked
            .filter(|rate| rate.tries > 0)
            .filter_map(|&asked| {
                let mode = mode_of(asked, bss)?;
                Some(Try { asked, mode })
            })
            .take(RATES)
            .collect();
        if chain.is_empty() {
            chain.push(Try {
                asked: ONE_TRY,
                mode: basic,
            });
        }
        Some(Self {
            octets,
            control,
            was_sent: false,
            cookie,
            flags,
            freq_mhz,
            chain,
        })
    }

    /// The frame type, and the TID of a QoS Data frame.
    pub fn kind(&self) -> Kind {
        match self.control.frame_type() {
            FrameType::Data if self.control.is_qos_data() => {
                Kind::Data(self.octets.get(QOS_AT).map(|octet| octet & 0x0f))
            }
            FrameType::Data => Kind::Data(None),
            FrameType::Management if self.control.subtype() == SUBTYPE_BEACON => Kind::Beacon,
            _ => Kind::Management,
        }
    }

    /// The TID of a QoS Data frame.
    pub fn tid(&self) -> Option<u8> {
        match self.kind() {
            Kind::Data(tid) => tid,
            Kind::Beacon | Kind::Management => None,
        }
    }

    /// Address 1.
    pub fn receiver(&self) -> MacAddr {
        MacAddr(
            *self.octets[4..]
                .first_chunk()
                .expect("checked when the frame was created"),
        )
    }

    /// The sequence number; none in control frames.
    pub fn sequence(&self) -> Option<u16> {
        let field = self.octets.get(SEQUENCE_AT..)?.first_chunk()?;
        (self.control.frame_type() != FrameType::Control)
            .then(|| SequenceControl::from_bits(u16::from_le_bytes(*field)).number)
    }

    /// Sets the Duration field and the Retry bit, as a radio does when a transmission starts.
    pub fn start(&mut self, duration_us: u16) {
        // The field of a PS-Poll frame is the AID (9.3.1.5).
        if !self.is_ps_poll() {
            self.octets[DURATION_AT..DURATION_AT + 2].copy_from_slice(&duration_us.to_le_bytes());
        }
        let control = self.control.with(FrameControl::RETRY, self.was_sent);
        self.octets[..2].copy_from_slice(&control.0.to_le_bytes());
        self.was_sent = true;
    }

    fn is_ps_poll(&self) -> bool {
        self.control.frame_type() == FrameType::Control && self.control.subtype() == SUBTYPE_PS_POLL
    }

    /// The transmission that mac80211 asks for after this number of transmissions.
    pub fn request(&self, transmissions: u8) -> Option<TxRequest> {
        let mut left = transmissions;
        let entry = self
            .chain
            .iter()
            .find(|entry| match left.checked_sub(entry.asked.tries) {
                Some(rest) => {
                    left = rest;
                    false
                }
                None => true,
            })?;
        Some(TxRequest {
            mode: entry.mode,
            protection: match entry.asked.flags {
                flags if flags & rate_flags::RTS_CTS != 0 => Protection::RtsCts,
                flags if flags & rate_flags::CTS_TO_SELF != 0 => Protection::CtsToSelf,
                _ => Protection::None,
            },
            aggregable: self.flags & tx_flags::AMPDU != 0,
        })
    }

    /// The tries of each rate after this number of transmissions, as mac80211 expects them: index and count, with
    /// index -1 for rates that were not used.
    pub fn tries(&self, transmissions: u8) -> [(i8, u8); RATES] {
        let mut found = [(-1, 0); RATES];
        let mut left = transmissions.max(1);
        for (slot, entry) in found.iter_mut().zip(&self.chain) {
            if left == 0 {
                break;
            }
            let tries = left.min(entry.asked.tries);
            *slot = (entry.asked.index, tries);
            left -= tries;
        }
        found
    }
}

/// The mode that mac80211 asks for; `None` if the rate is undefined, or if the BSS does not carry it.
fn mode_of(rate: HwsimRate, bss: &Bss) -> Option<Mode> {
    let has = |flag: u16| rate.flags & flag != 0;
    let index = u8::try_from(rate.index).ok()?;
    let gi = if has(rate_flags::SHORT_GI) {
        GuardInterval::Short
    } else {
        GuardInterval::Long
    };
    let width_mhz = if has(rate_flags::MHZ160) {
        160
    } else if has(rate_flags::MHZ80) {
        80
    } else if has(rate_flags::MHZ40) {
        40
    } else {
        20
    };
    let of_mcs = |format, mcs, streams| {
        let settings = Settings {
            rate: Rate::Mcs(mcs),
            bandwidth_mhz: width_mhz,
            gi,
            streams,
            band: bss.band(),
            preamble: Preamble::Long,
        };
        Mode::of(bss.phy_with(format)?, &settings).ok()
    };
    if has(rate_flags::VHT) {
        return of_mcs(Format::Vht, index & 0x0f, Some((index >> 4) + 1));
    }
    if has(rate_flags::HT) {
        return of_mcs(Format::Ht, index, None);
    }
    let preamble = if has(rate_flags::SHORT_PREAMBLE) {
        Preamble::Short
    } else {
        Preamble::Long
    };
    bss.with_preamble(preamble).supported_modes().nth(index.into())
}

/// The index and flags by which hwsim names the mode of a received frame.
pub fn rate_of(mode: &Mode) -> (i8, u16) {
    let mut flags = match mode.bandwidth_mhz() {
        40 => rate_flags::MHZ40,
        80 => rate_flags::MHZ80,
        160 => rate_flags::MHZ160,
        _ => 0,
    };
    if mode.guard_interval() == Some(GuardInterval::Short) {
        flags |= rate_flags::SHORT_GI;
    }
    let index = match mode.mcs() {
        Some(mcs) if mode.phy().format == Format::Vht => {
            flags |= rate_flags::VHT;
            mcs | (mode.streams() - 1) << 4
        }
        Some(mcs) => {
            flags |= rate_flags::HT;
            mcs
        }
        None => non_ht_index(mode),
    };
    (i8::try_from(index).unwrap_or(0), flags)
}

/// The index of a non-HT rate in its band: in the 2.4 GHz band, OFDM rates follow the DSSS rates.
fn non_ht_index(mode: &Mode) -> u8 {
    let mut modes = Bss::for_mode(mode).supported_modes();
    let index = modes.position(|other| other.rate_kbps() == mode.rate_kbps());
    u8::try_from(index.unwrap_or(0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use wlan_air::phy::{Band, ERP, HT, OFDM, VHT};

    use super::*;

    fn rate(index: i8, tries: u8, flags: u16) -> HwsimRate {
        HwsimRate { index, tries, flags }
    }

    fn frame(first: [u8; 2], flags: u32, rates: &[HwsimRate], bss: &Bss) -> Frame {
        let mut octets = vec![0; 40];
        octets[..2].copy_from_slice(&first);
        Frame::new(octets, 7, flags, 5180, rates, bss).unwrap()
    }

    #[test]
    fn each_try_uses_its_entry_of_the_chain() {
        let bss = Bss::new(&HT, Band::Ghz5);
        let rates = [
            rate(7, 2, rate_flags::HT | rate_flags::MHZ40),
            rate(4, 1, rate_flags::RTS_CTS),
            rate(-1, 0, 0),
            rate(0, 3, 0),
        ];
        let frame = frame([0x88, 1], tx_flags::AMPDU, &rates, &bss);
        let asked: Vec<_> = (0..5).map(|sent| frame.request(sent)).collect();
        let mcs7 = Mode::ht(7, 40, GuardInterval::Long, Band::Ghz5).unwrap();
        assert_eq!(asked[0].unwrap().mode, mcs7);
        assert_eq!(asked[1], asked[0]);
        assert_eq!(asked[2].unwrap().mode, Mode::ofdm(24).unwrap());
        assert_eq!(asked[2].unwrap().protection, Protection::RtsCts);
        assert_eq!(
            asked[3..],
            [None, None],
            "an entry without an index ends the chain"
        );
        assert_eq!(frame.tries(1), [(7, 1), (-1, 0), (-1, 0), (-1, 0)]);
        assert_eq!(frame.tries(3), [(7, 2), (4, 1), (-1, 0), (-1, 0)]);
    }

    #[test]
    fn a_frame_without_a_rate_is_sent_once_in_the_basic_mode() {
        let bss = Bss::new(&OFDM, Band::Ghz5);
        let frame = frame([0x80, 0], 0, &[rate(-1, 0, 0)], &bss);
        assert_eq!(frame.kind(), Kind::Beacon);
        assert_eq!(frame.request(0).unwrap().mode, bss.beacon_mode());
        assert_eq!(frame.request(1), None);
    }

    #[test]
    fn a_retransmission_has_the_retry_bit_and_its_own_duration() {
        let bss = Bss::new(&OFDM, Band::Ghz5);
        let mut data = frame([0x88, 1], 0, &[rate(7, 2, 0)], &bss);
        data.start(44);
        assert_eq!(data.octets[..4], [0x88, 1, 44, 0]);
        data.start(60);
        assert_eq!(data.octets[..4], [0x88, 1 | 8, 60, 0]);
    }

    #[test]
    fn a_ps_poll_keeps_its_aid() {
        let bss = Bss::new(&OFDM, Band::Ghz5);
        let mut poll = frame([0xa4, 0], 0, &[rate(0, 2, 0)], &bss);
        poll.octets[2..4].copy_from_slice(&[1, 0xc0]);
        poll.start(44);
        assert_eq!(poll.octets[..4], [0xa4, 0, 1, 0xc0]);
        assert_eq!(poll.tid(), None);
    }

    #[test]
    fn every_mode_has_the_name_that_it_was_asked_by() {
        let flags = [
            0,
            rate_flags::SHORT_GI,
            rate_flags::MHZ40,
            rate_flags::MHZ80 | rate_flags::SHORT_GI,
        ];
        for (bss, class) in [
            (Bss::new(&OFDM, Band::Ghz5), 0),
            (Bss::new(&ERP, Band::Ghz2_4), 0),
            (Bss::new(&HT, Band::Ghz5), rate_flags::HT),
            (Bss::new(&VHT, Band::Ghz5), rate_flags::VHT),
        ] {
            for index in 0..=73 {
                for flags in flags.iter().filter(|&&flags| class != 0 || flags == 0) {
                    let asked = rate(index, 1, class | flags);
                    if let Some(mode) = mode_of(asked, &bss) {
                        assert_eq!(rate_of(&mode), (asked.index, asked.flags), "{mode}");
                    }
                }
            }
        }
    }
}
