//! Runs the fuzz targets on the seeds and on mutations of them, which are the same in every run. This detects only
//! simple faults; the fuzzer searches for the others.

/// SplitMix64 (Steele, Lea and Flood, 2014), good enough to choose mutations.
struct Changes(u64);

impl Changes {
    #[allow(clippy::cast_possible_truncation)] // the remainder is below `limit`
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % limit.max(1) as u64) as usize
    }

    fn apply(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut data = seed.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(data.len());
            match self.below(4) {
                0 if at < data.len() => data[at] ^= 1 << self.below(8),
                1 if at < data.len() => data[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                2 => data.truncate(at),
                _ => data.insert(at, self.below(256).to_le_bytes()[0]),
            }
        }
        data
    }
}

#[test]
fn mutated_seeds_violate_no_guarantee() {
    let targets = [
        airtoll_fuzz::frames,
        airtoll_fuzz::captures,
        airtoll_fuzz::open,
        airtoll_fuzz::seal,
        airtoll_fuzz::handshake,
        airtoll_fuzz::sae,
        airtoll_fuzz::phases,
        airtoll_fuzz::eap,
        airtoll_fuzz::netlink,
        airtoll_fuzz::agent,
    ];
    let mut changes = Changes(1);
    let copies = if std::env::var_os("AIRTOLL_LONG").is_some() {
        20
    } else {
        1
    };
    for seed in airtoll_fuzz::seeds() {
        for target in targets {
            target(&seed);
            for _ in 0..copies {
                target(&changes.apply(&seed));
            }
        }
    }
}
