//! Compiles the C side and links Debian's libssl-dev and libipsec-mb-dev.

fn main() {
    println!("cargo:rerun-if-changed=src/peers.c");
    cc::Build::new()
        .file("src/peers.c")
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror")
        .opt_level(2)
        .compile("peers_c");
    println!("cargo:rustc-link-lib=crypto");
    println!("cargo:rustc-link-lib=IPSec_MB");
}
