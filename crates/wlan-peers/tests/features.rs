//! A default build does not compile AWS-LC, which only the feature `crates` requires.

use std::process::Command;

#[test]
fn a_default_build_has_no_aws_lc() {
    // The whole workspace, because cargo enables a feature for all packages if one of them requires it.
    let arguments = ["tree", "--workspace", "--offline", "--locked", "--prefix", "none"];
    let done = Command::new(env!("CARGO")).args(arguments).output().unwrap();
    let crates = String::from_utf8(done.stdout).unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(crates.contains("wlan-peers v"), "{errors}");
    assert!(!crates.contains("aws-lc-sys"), "{crates}");
}
