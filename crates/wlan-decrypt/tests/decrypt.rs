//! Files decrypt to the same output as captures in memory, for every format and length, without incomplete outputs.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use wlan_ciphers::Wep;
use wlan_decrypt::decap::{CaptureKey, Counts, Decap, LinkCounts};
use wlan_decrypt::{DecryptError, Decrypted, decrypt};
use wlan_frames::pcap::{self, LINKTYPE_ETHERNET, LINKTYPE_IEEE802_11};

const WEP40: [u8; 5] = [0x1f, 0x2e, 0x3d, 0x4c, 0x5b];

/// A temporary directory.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("airtoll-decrypt-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Folder(path)
    }

    /// Decrypts a capture to `out.pcap`.
    fn decrypt(&self, capture: &[u8]) -> Result<Decrypted, DecryptError> {
        fs::write(self.path("in.pcap"), capture).unwrap();
        self.decrypt_file("in.pcap", "out.pcap")
    }

    fn decrypt_file(&self, from: &str, to: &str) -> Result<Decrypted, DecryptError> {
        decrypt(&self.path(from), &self.path(to), keys(), |_| {
            ControlFlow::Continue(())
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn output(&self) -> Vec<u8> {
        fs::read(self.path("out.pcap")).unwrap()
    }

    /// The names of all files, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn keys() -> Vec<CaptureKey> {
    vec![CaptureKey::from(Wep::new(&WEP40).unwrap())]
}

/// A capture with twelve records; eight of them can be decrypted.
fn wep40() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    fs::read(folder.join("wep40.pcap")).unwrap()
}

fn in_memory(capture: &[u8]) -> (Vec<u8>, Counts) {
    let mut decap = Decap::new(keys());
    let mut out = pcap::file_header_of(LINKTYPE_ETHERNET).to_vec();
    for record in pcap::records(capture) {
        let (link_type, record) = record.unwrap();
        let _ = decap.record(link_type, &record, |frame| {
            out.extend(pcap::record_header(record.ts_ns, frame.len()));
            out.extend(frame);
        });
    }
    (out, decap.counts().clone())
}

/// Converts a pcap file to pcapng, with as many additional records of an Ethernet interface.
fn as_pcapng(capture: &[u8]) -> Vec<u8> {
    let words = |words: &[u32]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let block = |kind: u32, body: &[u8]| {
        let padded = body.len().next_multiple_of(4);
        let len = u32::try_from(padded + 12).unwrap();
        let mut block = [&words(&[kind, len]), body].concat();
        block.resize(8 + padded, 0);
        block.extend(words(&[len]));
        block
    };
    let mut file = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    file.extend(block(1, &words(&[1, 0])));
    // if_tsresol 9: nanoseconds.
    file.extend(block(1, &words(&[LINKTYPE_IEEE802_11, 0, 0x0001_0009, 9])));
    for record in pcap::records(capture) {
        let (_, record) = record.unwrap();
        let time = [record.ts_ns >> 32, record.ts_ns & 0xffff_ffff].map(|half| u32::try_from(half).unwrap());
        let kept = u32::try_from(record.data.len()).unwrap();
        let fields = words(&[1, time[0], time[1], kept, record.original_len]);
        file.extend(block(6, &[&fields, record.data].concat()));
        file.extend(block(3, &words(&[4, 0])));
    }
    file
}

#[test]
fn files_of_both_formats_decrypt_like_captures_in_memory() {
    let (expected, counts) = in_memory(&wep40());
    let folder = Folder::new();
    for (capture, other_link_type) in [(wep40(), 0), (as_pcapng(&wep40()), 12)] {
        let decrypted = folder.decrypt(&capture).unwrap();
        let as_expected = Decrypted {
            counts: counts.clone(),
            other_link_type,
            broken: None,
            stations: vec![],
            other_links: LinkCounts::default(),
            ssids: vec![],
        };
        assert_eq!(decrypted, as_expected);
        assert_eq!(folder.output(), expected);
        assert_eq!(folder.names(), ["in.pcap", "out.pcap"]);
    }
}

#[test]
fn a_capture_longer_than_a_piece_is_read_to_its_end() {
    let once = wep40();
    let (mut long, mut repeats) = (once.clone(), 1);
    while long.len() < 3 << 20 {
        long.extend(&once[24..]);
        repeats += 1;
    }
    let (expected, _) = in_memory(&long);
    let folder = Folder::new();
    fs::write(folder.path("in.pcap"), &long).unwrap();
    let mut seen = vec![];
    let decrypted = decrypt(
        &folder.path("in.pcap"),
        &folder.path("out.pcap"),
        keys(),
        |octets| {
            seen.push(octets);
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    assert_eq!(decrypted.counts.records, 12 * repeats);
    assert_eq!(folder.output(), expected);
    assert!(seen.is_sorted() && seen.len() > 3, "{seen:?}");
    assert_eq!(seen.last(), Some(&(long.len() as u64)));
}

#[test]
fn without_decrypted_frames_an_existing_output_is_kept() {
    let folder = Folder::new();
    fs::write(folder.path("out.pcap"), "older").unwrap();
    let captures = [
        pcap::file_header_of(LINKTYPE_IEEE802_11).to_vec(),
        wep40()[..100].to_vec(),
        vec![],
        b"<html>".to_vec(),
    ];
    for capture in captures {
        let frames = folder.decrypt(&capture).map(|decrypted| decrypted.counts.frames);
        assert!(matches!(frames, Ok(0) | Err(_)), "{frames:?}");
        assert_eq!(folder.names(), ["in.pcap", "out.pcap"]);
        assert_eq!(folder.output(), b"older");
    }
}

#[test]
fn a_stopped_decryption_leaves_no_file() {
    let folder = Folder::new();
    fs::write(folder.path("in.pcap"), wep40()).unwrap();
    let stopped = decrypt(&folder.path("in.pcap"), &folder.path("out.pcap"), keys(), |_| {
        assert_eq!(folder.names().len(), 2, "the temporary file is beside the output");
        ControlFlow::Break(())
    });
    assert!(matches!(stopped, Err(DecryptError::Stopped)));
    assert_eq!(folder.names(), ["in.pcap"]);
}

#[test]
fn unusable_files_are_reported_with_the_reason() {
    let folder = Folder::new();
    let said = |result: Result<Decrypted, DecryptError>| {
        let words = result.unwrap_err().to_string();
        words.replace(folder.0.to_str().unwrap(), "")
    };
    let of = |link_type, records: usize| {
        let record = pcap::record_header(0, 0);
        [&pcap::file_header_of(link_type)[..], &record.repeat(records)].concat()
    };
    let kinds = "not 802.11 frames (105, 119, 127, 163 or 192)";
    for (file, words) in [
        (of(1, 1), format!("link type 1 (Ethernet), {kinds}")),
        (of(250, 0), format!("link type 250, {kinds}")),
        (vec![], "the file is empty".into()),
        (
            b"<html></html>".to_vec(),
            "not a pcap capture: it starts with [3c, 68, 74, 6d]".into(),
        ),
    ] {
        assert_eq!(said(folder.decrypt(&file)), format!("/in.pcap: {words}"));
    }
    fs::write(folder.path("in.pcap"), wep40()).unwrap();
    symlink("in.pcap", folder.path("link.pcap")).unwrap();
    for (from, to, words) in [
        (
            "in.pcap",
            "in.pcap",
            "/in.pcap: the output would replace the capture",
        ),
        ("in.pcap", "link.pcap", "/link.pcap: not a regular file"),
        ("none.pcap", "out.pcap", "/none.pcap: No such file or directory"),
        ("", "out.pcap", "/: Is a directory"),
        ("in.pcap", "", "/: not a regular file"),
        (
            "in.pcap",
            "none/out.pcap",
            "/none/out.pcap: No such file or directory",
        ),
        (
            "in.pcap",
            "in.pcap/out.pcap",
            "/in.pcap/out.pcap: Not a directory",
        ),
    ] {
        assert_eq!(said(folder.decrypt_file(from, to)), words);
    }
}

#[test]
fn a_link_at_the_output_is_not_followed() {
    let folder = Folder::new();
    let (out, mine) = (folder.path("out.pcap"), folder.path("mine"));
    fs::write(&mine, "mine").unwrap();
    symlink("mine", &out).unwrap();
    let error = folder.decrypt(&wep40()).unwrap_err();
    assert!(matches!(error, DecryptError::NotRegular(_)), "{error}");

    // The link appears after the check.
    fs::remove_file(&out).unwrap();
    let decrypted = decrypt(&folder.path("in.pcap"), &out, keys(), |_| {
        let _ = symlink("mine", &out);
        ControlFlow::Continue(())
    });
    decrypted.unwrap();
    assert!(!out.is_symlink());
    assert_eq!(folder.output(), in_memory(&wep40()).0);
    assert_eq!(fs::read(&mine).unwrap(), b"mine");
}
