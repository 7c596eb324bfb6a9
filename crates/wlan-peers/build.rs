//! Compiles the C shim of each library whose header is installed. Nothing is linked: the libraries are opened at run
//! time.

use std::env;
use std::path::PathBuf;

/// Configuration name, required header, source.
const SHIMS: [(&str, &str, &str); 2] = [
    ("openssl", "openssl/evp.h", "src/openssl.c"),
    ("ipsec_mb", "intel-ipsec-mb.h", "src/ipsec_mb.c"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/peers.h");
    println!("cargo::rerun-if-env-changed=CPATH");
    let directories = directories();
    for (cfg, header, source) in SHIMS {
        println!("cargo::rustc-check-cfg=cfg({cfg})");
        println!("cargo::rerun-if-changed={source}");
        let mut paths = directories.iter().map(|directory| directory.join(header));
        if let Some(found) = paths.find(|path| path.is_file()) {
            println!("cargo::rerun-if-changed={}", found.display());
            let mut build = cc::Build::new();
            build.file(source).extra_warnings(true).opt_level(2);
            match build.try_compile(&format!("peers_{cfg}")) {
                Ok(()) => println!("cargo::rustc-cfg={cfg}"),
                Err(error) => {
                    let error = error.to_string();
                    let reason = error.lines().next().unwrap_or_default();
                    println!("cargo::warning={source} is not built: {reason}");
                }
            }
        } else {
            // Watch the directories: cargo would rerun this script in every build if it watched a missing file.
            for directory in &directories {
                println!("cargo::rerun-if-changed={}", directory.display());
            }
        }
    }
}

/// The directories of headers. Empty when cross-compiling, because this machine's headers may not match the target, and
/// for a static program, which cannot open libraries.
fn directories() -> Vec<PathBuf> {
    let same_machine = env::var("HOST") == env::var("TARGET");
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    if !same_machine || is_static || env::var_os("CARGO_CFG_UNIX").is_none() {
        return Vec::new();
    }
    let named = env::var_os("CPATH").unwrap_or_default();
    env::split_paths(&named)
        .filter(|directory| !directory.as_os_str().is_empty())
        .chain(["/usr/local/include", "/usr/include"].map(PathBuf::from))
        .filter(|directory| directory.is_dir())
        .collect()
}
