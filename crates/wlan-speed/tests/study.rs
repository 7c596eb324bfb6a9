//! The broken schemes of `wlan-ciphers` are reachable only from measurements. Cargo builds `wlan-ciphers`
//! once for all crates of a program, so the feature `study` hides the schemes only from crates that are built without
//! this one.

use std::fs;
use std::path::{Path, PathBuf};

/// Names of the items that the feature adds to `wlan-ciphers`.
const NAMES: [&str; 5] = ["seal_half", "Half::", "half::", "study::", "PaperLanes"];

/// The crates that may use these names.
const ALLOWED: [&str; 3] = ["wlan-ciphers", "wlan-speed", "wlan-peers"];

fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let found = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    found.filter(|path| path.join("Cargo.toml").exists()).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_other_crate_uses_or_enables_the_broken_schemes() {
    let mut checked = 0;
    for path in crates() {
        if ALLOWED.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("\"study\""), "{}", path.display());
        let mut files = Vec::new();
        sources(&path.join("src"), &mut files);
        for file in files {
            let source = fs::read_to_string(&file).unwrap();
            for name in NAMES {
                assert!(!source.contains(name), "{name} in {}", file.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} files");
}
