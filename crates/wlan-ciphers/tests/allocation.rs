//! Sealing and opening do not allocate, not even in the first batch.

use wlan_ciphers::{
    Backend, KeyId, OpenError, OpenJob, PacketNumber, Role, SealJob, Suite, TemporalKey, Tkip, Wep,
    open_each, seal_each,
};

/// QoS Data to the access point.
const HEADER: [u8; 26] = *b"\x88\x01\0\0\x02AAAAA\x02BBBBB\x02CCCCC\x10\0\x05\0";

const SUITES: [Suite; 8] = Suite::OF_TEMPORAL_KEYS;

/// More than a window of the engine, and not a multiple of a group.
const FRAMES: usize = 131;

/// Payload lengths by frame: constant, and varying.
const LENGTHS: [fn(usize) -> usize; 2] = [|_| 200, |n| (n * 97) % 601];

fn mpdu(suite: Suite, payload_len: usize) -> Vec<u8> {
    let mut mpdu = HEADER.to_vec();
    mpdu.resize(HEADER.len() + suite.overhead() + payload_len, 0x5a);
    mpdu
}

fn mpdus(suite_of: impl Fn(usize) -> Suite, len: fn(usize) -> usize) -> Vec<Vec<u8>> {
    (0..FRAMES).map(|n| mpdu(suite_of(n), len(n))).collect()
}

fn seal_jobs(mpdus: &mut [Vec<u8>]) -> Vec<SealJob<'_>> {
    let job = |(n, mpdu)| SealJob {
        mpdu,
        header_len: HEADER.len(),
        pn: PacketNumber::new(n).unwrap(),
        key_id: KeyId::PAIRWISE,
    };
    (1..)
        .zip(mpdus.iter_mut().map(Vec::as_mut_slice))
        .map(job)
        .collect()
}

fn open_jobs(mpdus: &mut [Vec<u8>]) -> Vec<OpenJob<'_>> {
    mpdus
        .iter_mut()
        .map(|mpdu| OpenJob::new(mpdu, KeyId::PAIRWISE))
        .collect()
}

fn assert_allocates_nothing(what: &str, work: impl FnOnce()) {
    let measured = allocation_counter::measure(work);
    assert_eq!(measured.count_total, 0, "{what}: {measured:?}");
}

/// Damages three frames: a wrong MIC, a short frame, an unprotected frame. Rejecting them must not allocate either.
fn damage(mpdus: &mut [Vec<u8>]) {
    *mpdus[0].last_mut().unwrap() ^= 1;
    mpdus[1].truncate(30);
    mpdus[2][1] &= !0x40;
}

fn assert_opened<'a>(verdicts: impl Iterator<Item = Result<&'a [u8], OpenError>>, what: &str) {
    let refused = verdicts.filter(Result::is_err).count();
    assert_eq!(refused, 3, "{what}: number of rejected frames");
}

#[test]
fn the_counter_counts_allocations() {
    let measured = allocation_counter::measure(|| drop(std::hint::black_box(vec![0u8; 100])));
    assert_eq!(measured.count_total, 1);
}

#[test]
fn batches_under_one_key_allocate_nothing() {
    for backend in Backend::available() {
        for suite in SUITES {
            let what = format!("{suite:?} with {backend}");
            let tk = vec![7; suite.key_len()];
            for len in LENGTHS {
                let mut mpdus = mpdus(|_| suite, len);
                let mut jobs = seal_jobs(&mut mpdus);
                // Key expansion is not part of the hot path, but does not allocate either.
                assert_allocates_nothing(&what, || {
                    let key = TemporalKey::with_backend(suite, &tk, backend).unwrap();
                    key.seal(&mut jobs).unwrap();
                });
                drop(jobs);
                damage(&mut mpdus);
                let key = TemporalKey::with_backend(suite, &tk, backend).unwrap();
                let mut jobs = open_jobs(&mut mpdus);
                assert_allocates_nothing(&what, || key.open(&mut jobs));
                assert_opened(jobs.iter().map(OpenJob::payload), &what);
            }
        }
    }
}

#[test]
fn batches_with_a_key_and_a_suite_for_each_frame_allocate_nothing() {
    for backend in Backend::available() {
        let suite = |n: usize| SUITES[n % SUITES.len()];
        let key = |n: usize| TemporalKey::with_backend(suite(n), &vec![3; suite(n).key_len()], backend);
        let keys: Vec<_> = (0..FRAMES).map(|n| key(n).unwrap()).collect();
        for len in LENGTHS {
            let mut mpdus = mpdus(suite, len);
            let mut batch: Vec<_> = keys.iter().zip(seal_jobs(&mut mpdus)).collect();
            assert_allocates_nothing("seal_each", || seal_each(&mut batch).unwrap());
            drop(batch);
            damage(&mut mpdus);
            let mut batch: Vec<_> = keys.iter().zip(open_jobs(&mut mpdus)).collect();
            assert_allocates_nothing("open_each", || open_each(&mut batch));
            assert_opened(batch.iter().map(|(_, job)| job.payload()), backend.name());
        }
    }
}

#[test]
fn batches_of_wep_and_tkip_allocate_nothing() {
    for len in LENGTHS {
        for key in [&[1; 5][..], &[1; 13]] {
            let wep = Wep::new(key).unwrap();
            let mut mpdus = mpdus(|_| wep.suite(), len);
            let mut jobs = seal_jobs(&mut mpdus);
            assert_allocates_nothing("WEP", || wep.seal(&mut jobs).unwrap());
            drop(jobs);
            damage(&mut mpdus);
            let mut jobs = open_jobs(&mut mpdus);
            assert_allocates_nothing("WEP", || wep.open(&mut jobs));
            assert_opened(jobs.iter().map(OpenJob::payload), "WEP");
        }
        let [ap, station] = [Role::Ap, Role::Sta].map(|role| Tkip::new(&[9; 32], role));
        let mut mpdus = mpdus(|_| Suite::Tkip, len);
        let mut jobs = seal_jobs(&mut mpdus);
        assert_allocates_nothing("TKIP", || station.seal(&mut jobs).unwrap());
        drop(jobs);
        damage(&mut mpdus);
        let mut jobs = open_jobs(&mut mpdus);
        assert_allocates_nothing("TKIP", || ap.open(&mut jobs));
        assert_opened(jobs.iter().map(OpenJob::payload), "TKIP");
    }
}
