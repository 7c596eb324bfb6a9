//! VHT (clause 21): 802.11ac, one user.

use super::{
    AggregationLimits, Band, Bss, Data, Format, GuardInterval, HT, Mode, ModeParameters, Phy, PhyError,
    Preamble, Rate, Rates, Settings, Undefined, ht, ofdm,
};

/// Values of Maximum MPDU Length in the VHT Capabilities element, octets (9.4.2.157.2).
pub const VHT_MPDU_LENS_B: [usize; 3] = [3_895, 7_991, 11_454];

/// 802.11ac. It operates below 6 GHz, except at 2.4 GHz; its BSS equals the BSS of 802.11a.
pub static VHT: Phy = Phy {
    word: "vht",
    amendment: "802.11ac",
    generation: Some("wifi5"),
    label: "VHT",
    format: Format::Vht,
    // [MAX-A-MPDU-LEN-EXP7] is the length in `aggregation`.
    hostapd: &[
        ("ieee80211ac", "1"),
        ("vht_oper_chwidth", "{chwidth}"),
        ("vht_oper_centr_freq_seg0_idx", "{centre}"),
        ("vht_capab", "{short_gi_80}[MAX-A-MPDU-LEN-EXP7]"),
    ],
    clauses: "clause 21",
    bands: &[Band::Ghz5],
    bandwidths_mhz: &[20, 40, 80, 160],
    // Table 21-5.
    data_subcarriers: &[52, 108, 234, 468],
    guard_intervals: &[GuardInterval::Long, GuardInterval::Short],
    preambles: &[Preamble::Long],
    max_streams: STREAMS_MAX,
    rates: Rates::Mcs {
        last: MCS_LAST,
        per_stream: None,
        codings: ht::CODINGS,
    },
    usual_rate: Rate::Mcs(8),
    extends: &[&HT],
    timing: None,
    cw_min: ofdm::CW_MIN,
    max_mpdu_len_b: VHT_MPDU_LENS_B[2],
    // Table 9-25, 9.4.2.157.2. The longest A-MSDU is the body of the longest MPDU.
    aggregation: Some(AggregationLimits {
        max_ampdu_len_b: 1_048_575,
        max_amsdu_len_b: 11_398,
        max_mpdu_in_ampdu_b: None,
        always_ampdu: true,
    }),
    mode,
};

/// The last MCS (21.5).
const MCS_LAST: u8 = 9;
/// Largest number of spatial streams (21.5).
const STREAMS_MAX: u8 = 8;
/// Maximum data bits per symbol of one BCC encoder, N_DBPS: 600 Mbit/s with 3.6 us symbols (21.5).
const ENCODER_BITS: u32 = 2_160;
/// Bits of VHT-SIG-A, BPSK with the code of rate 1/2 (21.3.8.3.3).
const VHT_SIG_A_BITS: u8 = 48;

fn mode(settings: &Settings) -> Result<Mode, PhyError> {
    match settings.rate {
        Rate::Mcs(mcs) => Mode::vht(
            mcs,
            settings.streams.unwrap_or(1),
            settings.bandwidth_mhz,
            settings.gi,
        ),
        Rate::Kbps(_) => Err(undefined(Undefined::Rate(settings.rate), "21.5", "0 to 9")),
    }
}

impl Mode {
    /// A VHT rate of clause 21 with BCC and no STBC: MCS 0 to 9, 1 to 8 spatial streams, 20, 40, 80 or 160
    /// MHz (80+80 MHz equals 160 MHz).
    ///
    /// Every VHT PPDU carries an A-MPDU: see [`Mode::always_ampdu`].
    ///
    /// # Errors
    /// [`PhyError::Undefined`] if clause 21 does not define a value, or does not define the MCS at this width
    /// and number of streams, because the coded bits of a symbol do not divide into whole punctured blocks of
    /// every encoder (21.5).
    pub const fn vht(mcs: u8, streams: u8, bandwidth_mhz: u16, gi: GuardInterval) -> Result<Mode, PhyError> {
        if mcs > MCS_LAST {
            return Err(undefined(Undefined::Rate(Rate::Mcs(mcs)), "21.5", "0 to 9"));
        }
        if streams == 0 || streams > STREAMS_MAX {
            return Err(undefined(Undefined::Streams(streams), "21.5", "1 to 8"));
        }
        let Some(data_subcarriers) = VHT.data_subcarriers_at(bandwidth_mhz) else {
            let value = Undefined::Bandwidth(bandwidth_mhz);
            return Err(undefined(value, "21.5", "20, 40, 80, 160"));
        };
        if !defined(mcs, streams, bandwidth_mhz) {
            let value = Undefined::McsAtWidth {
                mcs,
                bandwidth_mhz,
                streams,
            };
            return Err(undefined(
                value,
                "tables of 21.5",
                allowed_instead(mcs, bandwidth_mhz),
            ));
        }
        let (modulation, subcarrier_bits, code_rate) = ht::CODINGS[mcs as usize];
        let (numerator, denominator) = code_rate.ratio();
        let coded_bits = data_subcarriers as u32 * subcarrier_bits as u32 * streams as u32;
        let bits_per_symbol = coded_bits * numerator as u32 / denominator as u32;
        // The number of encoders that the rate requires, or the next larger number that divides the coded
        // bits into whole punctured blocks (the tables of 21.5, NOTE on N_ES).
        let mut encoders = bits_per_symbol.div_ceil(ENCODER_BITS);
        while !coded_bits.is_multiple_of(encoders * denominator as u32) {
            encoders += 1;
        }
        // VHT long training fields for the number of space-time streams (Table 21-13).
        let training_fields = [1, 2, 4, 4, 6, 6, 8, 8][streams as usize - 1];
        #[allow(clippy::cast_possible_truncation)] // at most 24 960 bits and 12 encoders
        let data = Data::Symbols {
            bits: bits_per_symbol as u16,
            encoders: encoders as u8,
            gi,
        };
        let parameters = ModeParameters {
            band: Band::Ghz5,
            bandwidth_mhz,
            streams,
            mcs: Some(mcs),
            dsss_preamble: None,
            modulation,
            code_rate,
            data,
            // Legacy preamble and L-SIG, VHT-SIG-A 8 us, VHT-STF 4 us, 4 us per VHT-LTF, VHT-SIG-B 4 us
            // (21.3.2).
            preamble_us: ofdm::PREAMBLE_US + 8 + 4 + 4 * training_fields + 4,
            header_bits: ofdm::SIGNAL_BITS + VHT_SIG_A_BITS + sig_b_bits(bandwidth_mhz),
            signal_extension_us: 0,
        };
        Ok(Mode::new(&VHT, parameters))
    }
}

const fn undefined(value: Undefined, clauses: &'static str, allowed: &'static str) -> PhyError {
    PhyError::Undefined {
        phy: &VHT,
        value,
        clauses,
        allowed,
    }
}

/// Bits of VHT-SIG-B (Table 21-14), in BPSK of rate 1/2, like MCS 0.
const fn sig_b_bits(bandwidth_mhz: u16) -> u8 {
    match bandwidth_mhz {
        20 => 26,
        40 => 27,
        _ => 29,
    }
}

/// Whether the tables of 21.5 define the MCS.
const fn defined(mcs: u8, streams: u8, bandwidth_mhz: u16) -> bool {
    match (bandwidth_mhz, mcs) {
        (20, 9) => matches!(streams, 3 | 6),
        (80, 6) => !matches!(streams, 3 | 7),
        (80, 9) => streams != 6,
        (160, 9) => streams != 3,
        _ => true,
    }
}

/// The alternatives to an MCS that is not [`defined`].
const fn allowed_instead(mcs: u8, bandwidth_mhz: u16) -> &'static str {
    match (bandwidth_mhz, mcs) {
        (20, _) => "MCS 0 to 8, or MCS 9 with 3 or 6 streams",
        (80, 6) => "another MCS, or MCS 6 with 1, 2, 4, 5, 6 or 8 streams",
        _ => "MCS 0 to 8, or MCS 9 with another number of streams",
    }
}

impl Bss {
    /// An 802.11ac BSS.
    #[must_use]
    pub fn vht() -> Bss {
        Bss::new(&VHT, Band::Ghz5)
    }
}
