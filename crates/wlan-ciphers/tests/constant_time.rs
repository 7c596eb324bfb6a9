//! No branch and no table lookup of the portable backend depends on a secret. memcheck treats key and plaintext as
//! undefined and reports every instruction that depends on them (the method of A. Langley's ctgrind). It checks the
//! instructions of this build, not their timing: a multiplication takes as long as it does on the CPU at hand.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

use std::arch::asm;
use std::collections::BTreeSet;
use std::process::Command;

use wlan_ciphers::{Backend, KeyId, Lanes, OpenJob, PacketNumber, SealJob, Suite, TemporalKey};

const SUITES: [Suite; 6] = [
    Suite::Ccmp128,
    Suite::Ccmp256,
    Suite::Gcmp128,
    Suite::Gcmp256,
    Suite::Enhanced(Lanes::Two),
    Suite::Enhanced(Lanes::Eight),
];

/// QoS Data to the access point.
const HEADER: [u8; 26] = *b"\x88\x01\0\0\x02AAAAA\x02BBBBB\x02CCCCC\x10\0\x05\0";

/// Frames of a batch. Each is longer than the previous one.
const FRAMES: usize = 20;

/// A client request of memcheck (`memcheck.h`): the tool code "MC" and a number.
#[derive(Clone, Copy)]
enum Request {
    MakeUndefined = 0x4d43_0001,
    MakeDefined = 0x4d43_0002,
}

/// Makes memcheck treat these octets as undefined or defined. Does nothing outside memcheck.
fn ask(request: Request, octets: &[u8]) {
    let args = [request as usize, octets.as_ptr().addr(), octets.len(), 0, 0, 0];
    // SAFETY: four rotations by 128 bits in total and an exchange of a register with itself (`valgrind.h`) change
    // nothing. valgrind reads `args` and writes its unused result to RDX.
    unsafe {
        asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") args.as_ptr(), inout("rdx") 0_usize => _,
        );
    }
}

fn key(suite: Suite) -> (Vec<u8>, TemporalKey) {
    let tk: Vec<u8> = (1..)
        .map(|n: u8| n.wrapping_mul(37))
        .take(suite.key_len())
        .collect();
    ask(Request::MakeUndefined, &tk);
    let key = TemporalKey::with_backend(suite, &tk, Backend::Portable).unwrap();
    (tk, key)
}

#[test]
#[ignore = "run by another test, under valgrind"]
fn work_with_secrets() {
    for suite in SUITES {
        let (_, key) = key(suite);
        let mut mpdus: Vec<Vec<u8>> = (0..FRAMES)
            .map(|n| [&HEADER[..], &vec![0x5a; suite.overhead() + 13 * n]].concat())
            .collect();
        for mpdu in &mpdus {
            let payload = HEADER.len() + suite.header_len()..mpdu.len() - suite.mic_len();
            ask(Request::MakeUndefined, &mpdu[payload]);
        }
        let mut jobs: Vec<_> = (1..)
            .zip(&mut mpdus)
            .map(|(n, mpdu)| SealJob {
                mpdu,
                header_len: HEADER.len(),
                pn: PacketNumber::new(n).unwrap(),
                key_id: KeyId::PAIRWISE,
            })
            .collect();
        key.seal(&mut jobs).unwrap();
        // Transmitted octets are not secret.
        mpdus.iter().for_each(|mpdu| ask(Request::MakeDefined, mpdu));
        let mut jobs: Vec<_> = mpdus
            .iter_mut()
            .map(|mpdu| OpenJob::new(mpdu, KeyId::PAIRWISE))
            .collect();
        key.open(&mut jobs);
        assert!(jobs.iter().all(|job| job.verdict().is_ok()));
    }
}

#[test]
#[ignore = "run by another test, under valgrind"]
fn look_up_at_a_secret_place() {
    let (tk, _) = key(Suite::Ccmp128);
    let table = std::hint::black_box([7; 256]);
    std::hint::black_box(table[usize::from(tk[0])]);
}

/// The reports of memcheck for a branch and for an address.
const KINDS: [&str; 2] = [
    "Conditional jump or move depends on uninitialised value",
    "Use of uninitialised value",
];

/// The stacks that memcheck reports for a test of this file. `None`, after a skip, if valgrind is not installed.
fn reports(test: &str) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("valgrind");
    command.args(["--error-limit=no", "--num-callers=40"]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", test]);
    let output = test_support::output(&mut command)?;
    let (told, log) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(told.contains("1 passed"), "{told}{log}");
    assert!(log.contains("ERROR SUMMARY"), "{log}");
    // Each line starts with "==PID== ". Stack frames are "   at 0x...: function (file:line)" and "   by ...".
    let lines: Vec<_> = log
        .lines()
        .map(|line| line.split_once(' ').map_or("", |(_, rest)| rest.trim()))
        .collect();
    let stacks = lines.split(|line| line.is_empty()).flat_map(|report| {
        report
            .split(|line| KINDS.iter().any(|kind| line.starts_with(kind)))
            .skip(1)
    });
    Some(
        stacks
            .map(|stack| stack.iter().map(|line| line.to_string()).collect())
            .collect(),
    )
}

/// The file names of this crate, except `mod.rs` and `lib.rs`, which other crates have too.
fn files() -> BTreeSet<String> {
    let src = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    [src.to_string(), format!("{src}/engine")]
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".rs") && !["mod.rs", "lib.rs"].contains(&&name[..]))
        .collect()
}

#[test]
fn only_the_verdict_over_a_frame_depends_on_secrets() {
    let Some(control) = reports("look_up_at_a_secret_place") else {
        return;
    };
    assert!(
        !control.is_empty(),
        "memcheck must report a lookup that depends on a secret"
    );
    let (files, mut verdicts) = (files(), 0);
    for stack in reports("work_with_secrets").unwrap() {
        // The innermost stack frame of this crate.
        let frame = stack
            .iter()
            .find(|frame| files.iter().any(|file| frame.contains(&format!("({file}:"))));
        match frame {
            // Whether a frame opened is reported to the receiver and therefore not secret.
            Some(frame) if frame.contains("check_mic") || frame.contains("is_mic") => verdicts += 1,
            _ => panic!("depends on a secret: {stack:#?}"),
        }
    }
    assert!(
        verdicts > 0,
        "memcheck must report the verdict, which depends on the key"
    );
}
