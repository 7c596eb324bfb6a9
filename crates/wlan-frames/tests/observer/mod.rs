//! tshark as the independent observer: what it reads in a capture of ours. Shared by the tests of several crates.

use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

use wlan_frames::pcap;

/// A capture of frames that each begin with a radiotap header; frame n is from second n + 1.
pub fn capture(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = pcap::file_header().to_vec();
    for (second, frame) in (1u64..).zip(frames) {
        file.extend(pcap::record_header(second * 1_000_000_000, frame.len()));
        file.extend(frame);
    }
    file
}

/// What tshark reads in `capture`: for every frame its values of `fields`, as text. None, with the reason printed,
/// where tshark is not installed.
pub fn tshark(capture: &[u8], options: &[&str], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command
        .args([
            "-r",
            "-",
            "-n",
            "-T",
            "fields",
            "-E",
            "separator=|",
            "-E",
            "occurrence=f",
        ])
        .args(options);
    for field in fields {
        command.args(["-e", field]);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!(
                "skipped: tshark is not installed, so no independent observer could look at the frames"
            );
            return None;
        }
        Err(error) => panic!("tshark does not start: {error}"),
    };
    let mut stdin = child.stdin.take().expect("piped");
    let file = capture.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&file));
    let output = child.wait_with_output().expect("tshark ends");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark: {complaint}");
    writer
        .join()
        .expect("the writer ends")
        .expect("tshark reads the whole capture");
    let text = String::from_utf8(output.stdout).expect("fields are text");
    Some(
        text.lines()
            .map(|line| line.split('|').map(str::to_owned).collect())
            .collect(),
    )
}
