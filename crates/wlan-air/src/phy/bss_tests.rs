//! Durations and rates of a BSS. The rates of the answers, SIFS and the Ack in EIFS equal those of ns-3.37's
//! access points (`GetAckTxVector`, `GetSifs`, `GetAckTxTime`).

use super::tests::{dsss, erp, ht, ht_2_4, ofdm};
use super::*;

fn mixed_g() -> Bss {
    Bss::erp(ErpSlot::Long, Preamble::Short)
}

/// DIFS, EIFS and aCCATime of each PHY, us (Tables 16-4, 17-21, 18-5, 19-25).
#[test]
fn spans_agree_with_the_tables() {
    for (bss, slot, sifs, difs, eifs, cca) in [
        (Bss::dsss(Preamble::Long), 20, 10, 50, 364, 15),
        (Bss::dsss(Preamble::Short), 20, 10, 50, 364, 15),
        (Bss::ofdm(), 9, 16, 34, 94, 4),
        (Bss::erp(ErpSlot::Short, Preamble::Long), 9, 10, 28, 342, 4),
        (mixed_g(), 20, 10, 50, 364, 15),
        (Bss::ht(Band::Ghz2_4), 9, 10, 28, 342, 4),
        (Bss::ht(Band::Ghz5), 9, 16, 34, 94, 4),
        (Bss::vht(), 9, 16, 34, 94, 4),
    ] {
        let us = Nanos::from_us;
        assert_eq!(bss.slot(), us(slot), "{bss:?}");
        assert_eq!(bss.sifs(), us(sifs), "{bss:?}");
        assert_eq!(bss.cca_time(), us(cca), "{bss:?}");
        assert_eq!(bss.sifs() + bss.slot() * 2, us(difs), "{bss:?}");
        assert_eq!(bss.eifs_less_difs() + us(difs), us(eifs), "{bss:?}");
    }
}

#[test]
fn the_default_bss_of_a_mode_is_the_bss_of_its_phy() {
    for (mode, bss) in [
        (dsss(2_000, Preamble::Short), Bss::dsss(Preamble::Short)),
        (ofdm(6), Bss::ofdm()),
        (erp(6), Bss::erp(ErpSlot::Short, Preamble::Long)),
        (ht_2_4(3), Bss::ht(Band::Ghz2_4)),
        (ht(3, 40, GuardInterval::Long), Bss::ht(Band::Ghz5)),
        (Mode::vht(3, 1, 80, GuardInterval::Long).unwrap(), Bss::vht()),
    ] {
        assert_eq!(Bss::for_mode(&mode), bss);
        assert!(bss.carries(&mode), "{mode}");
    }
    assert!(Bss::vht().carries(&ofdm(54)));
    assert!(Bss::ht(Band::Ghz2_4).carries(&dsss(1_000, Preamble::Long)));
    assert!(!Bss::ofdm().carries(&erp(54)));
    assert!(!Bss::ofdm().carries(&ht(0, 20, GuardInterval::Long)));
    assert!(
        !Bss::ht(Band::Ghz2_4).carries(&ofdm(54)),
        "OFDM belongs to the other band"
    );
}

#[test]
fn ofdm_answers_use_the_highest_basic_rate_below() {
    for (rate, basic) in [
        (6, 6),
        (9, 6),
        (12, 12),
        (18, 12),
        (24, 24),
        (36, 24),
        (48, 24),
        (54, 24),
    ] {
        assert_eq!(Bss::ofdm().control_response(&ofdm(rate)), ofdm(basic));
    }
    for (mcs, basic) in [(0, 6), (1, 12), (2, 12), (3, 24), (7, 24), (8, 6), (31, 24)] {
        assert_eq!(
            Bss::ht(Band::Ghz5).control_response(&ht(mcs, 40, GuardInterval::Short)),
            ofdm(basic)
        );
    }
    assert_eq!(
        [6, 12, 24].map(|r| Bss::ofdm().ack_duration(&ofdm(r))),
        [44, 32, 28].map(Nanos::from_us)
    );
    assert_eq!(
        [6, 12, 24].map(|r| Bss::ofdm().block_ack_duration(&ofdm(r))),
        [68, 44, 32].map(Nanos::from_us)
    );
}

/// Every frame is answered in its own modulation class: DSSS in DSSS with the same preamble, all other frames
/// in ERP-OFDM.
#[test]
fn answers_in_the_2_4_ghz_band_keep_the_modulation_class() {
    use Preamble::{Long, Short};
    for (kbps, basic) in [(1_000, 1_000), (2_000, 2_000), (5_500, 2_000), (11_000, 2_000)] {
        let frame = dsss(kbps, Long);
        assert_eq!(Bss::dsss(Long).control_response(&frame), dsss(basic, Long));
        assert_eq!(mixed_g().control_response(&frame), dsss(basic, Long));
    }
    let short = dsss(11_000, Short);
    assert_eq!(mixed_g().control_response(&short), dsss(2_000, Short));
    for (mbps, basic) in [(6, 6), (9, 6), (12, 12), (18, 12), (24, 24), (54, 24)] {
        assert_eq!(mixed_g().control_response(&erp(mbps)), erp(basic));
    }
    for (mcs, basic) in [(0, 6), (1, 12), (2, 12), (3, 24), (7, 24), (9, 12)] {
        let bss = Bss::ht(Band::Ghz2_4);
        assert_eq!(bss.control_response(&ht_2_4(mcs)), erp(basic));
    }
}

/// 256-QAM has the non-HT reference rate of 64-QAM 3/4 (10.6.11).
#[test]
fn vht_answers_follow_the_non_ht_reference_rate() {
    let all = [6, 9, 12, 18, 24, 36, 48, 54].map(ofdm);
    let every_rate = Bss::vht().with_basic_rates(&all).unwrap();
    let references = [6, 12, 18, 24, 36, 48, 54, 54, 54, 54];
    let answers = [6, 12, 12, 24, 24, 24, 24, 24, 24, 24];
    for (mcs, (reference, answer)) in (0..).zip(references.into_iter().zip(answers)) {
        let mode = Mode::vht(mcs, 2, 80, GuardInterval::Short).unwrap();
        assert_eq!(every_rate.control_response(&mode), ofdm(reference), "{mode}");
        assert_eq!(Bss::vht().control_response(&mode), ofdm(answer), "{mode}");
    }
}

/// Ack and CTS of 14 octets, RTS of 20, `BlockAck` of 32, and the timeout of the Ack, us.
#[test]
fn control_frames_last_as_long_as_their_octets() {
    let us = |bss: Bss, mode: Mode| {
        [
            bss.ack_duration(&mode),
            bss.cts_duration(&mode),
            bss.rts_duration(&mode),
            bss.block_ack_duration(&mode),
            bss.ack_timeout(&mode),
        ]
        .map(|span| span.0 / 1_000)
    };
    assert_eq!(us(Bss::ofdm(), ofdm(54)), [28, 28, 28, 32, 45]);
    let pure_g = Bss::erp(ErpSlot::Short, Preamble::Long);
    assert_eq!(us(pure_g, erp(54)), [34, 34, 34, 38, 39]);
    assert_eq!(
        us(Bss::dsss(Preamble::Long), dsss(11_000, Preamble::Long)),
        [248, 248, 272, 320, 222]
    );
    assert_eq!(
        us(Bss::dsss(Preamble::Short), dsss(11_000, Preamble::Short)),
        [152, 152, 176, 224, 126]
    );
}

#[test]
fn the_basic_rates_can_be_chosen() {
    let all_b = [1_000, 2_000, 5_500, 11_000].map(|kbps| dsss(kbps, Preamble::Long));
    let bss = Bss::dsss(Preamble::Short).with_basic_rates(&all_b).unwrap();
    let eleven = dsss(11_000, Preamble::Short);
    assert_eq!(bss.control_response(&eleven), eleven);
    assert_eq!(bss.basic_rates().count(), 4);
    // No basic rate is low enough: the highest mandatory rate within the limit is used.
    let fast = Bss::ofdm().with_basic_rates(&[ofdm(24)]).unwrap();
    assert_eq!(fast.control_response(&ofdm(18)), ofdm(12));
    assert_eq!(fast.control_response(&ofdm(54)), ofdm(24));
    assert_eq!(fast.beacon_mode(), ofdm(24));
    // Without DSSS, stations of clause 16 cannot decode any frame.
    let pure_g = mixed_g().with_basic_rates(&[erp(6), erp(12)]).unwrap();
    assert_eq!(
        (pure_g.beacon_mode(), pure_g.erp_protection_mode()),
        (erp(6), None)
    );

    assert_eq!(Bss::ofdm().with_basic_rates(&[]), Err(PhyError::NoBasicRate));
    for (bss, foreign) in [
        (Bss::ofdm(), erp(6)),
        (Bss::dsss(Preamble::Long), erp(6)),
        (Bss::vht(), ht(0, 20, GuardInterval::Long)),
    ] {
        assert_eq!(
            bss.with_basic_rates(&[foreign]),
            Err(PhyError::BasicRate(foreign))
        );
    }
    assert_eq!(
        PhyError::BasicRate(erp(6)).to_string(),
        "ERP-OFDM 6 Mbit/s cannot be a basic rate of this BSS (10.6.6.5); allowed: the non-HT rates of its PHY"
    );
}

/// 9.4.1.4, 9.4.2.11, 10.27.2, Table 16-4: the long slot; RTS, CTS and CTS-to-self in DSSS; answers to OFDM in OFDM.
#[test]
fn a_bss_with_dot11b_stations_protects_its_frames_in_dsss() {
    let us = Nanos::from_us;
    for (bss, mode) in [
        (Bss::erp(ErpSlot::Short, Preamble::Long), erp(54)),
        (Bss::ht(Band::Ghz2_4), ht_2_4(7)),
    ] {
        let mixed = bss.with_dot11b_stations();
        assert_eq!(
            (bss.slot(), mixed.slot(), mixed.cca_time()),
            (us(9), us(20), us(15))
        );
        assert_eq!(mixed.sifs(), us(10));
        let eleven = dsss(11_000, Preamble::Long);
        assert_eq!(mixed.rts_mode(&mode), eleven);
        assert_eq!(mixed.cts_to_self_mode(&mode), eleven);
        assert_eq!(mixed.control_response(&eleven), eleven);
        assert_eq!(mixed.control_response(&mode), erp(24));
        assert_eq!(mixed.beacon_mode(), dsss(1_000, Preamble::Long));
        // PLCP 192 us; CTS 14 octets and RTS 20 octets at 11 Mbit/s: 10.2 and 14.5 us, rounded up (16.2.3.6).
        assert_eq!(
            [mixed.cts_duration(&mode), mixed.rts_duration(&mode)],
            [us(203), us(207)]
        );
        assert!(mixed.basic_rates().all(|rate| rate.dsss_preamble().is_some()));
        assert_eq!(mixed.basic_rates().count(), 4);
        assert_eq!(bss.rts_mode(&mode), erp(24));
        assert_eq!(bss.with_slot(ErpSlot::Long).slot(), us(20));
        assert_eq!(bss.with_slot(ErpSlot::Short), bss);
    }
}

/// Every station has the only slot of its band or PHY, and nobody is older than 802.11b.
#[test]
fn other_bsss_have_one_slot_and_no_dot11b_stations() {
    for bss in [
        Bss::ofdm(),
        Bss::vht(),
        Bss::ht(Band::Ghz5),
        Bss::dsss(Preamble::Short),
    ] {
        assert_eq!(bss.with_dot11b_stations(), bss);
        assert_eq!(bss.with_slot(ErpSlot::Long), bss);
    }
}

#[test]
fn beacons_and_protection_are_for_all_stations() {
    assert_eq!(mixed_g().beacon_mode(), dsss(1_000, Preamble::Long));
    let protection = dsss(2_000, Preamble::Short);
    assert_eq!(mixed_g().erp_protection_mode(), Some(protection));
    assert_eq!(Bss::vht().beacon_mode(), ofdm(6));
    assert_eq!(Bss::vht().erp_protection_mode(), None);
}
