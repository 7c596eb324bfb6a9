#!/bin/sh
# Runs tests under Miri, which reports undefined behaviour: the portable engine of wlan-ciphers, and the parsers of
# wlan-frames and wlan-rsn. Miri requires a nightly toolchain. Without one the script says so and succeeds, even with
# AIRTOLL_REQUIRE_ALL=1, because stable Rust has no Miri.
set -eu
cd "$(dirname "$0")/.."

# rustup must not install a missing toolchain.
export RUSTUP_AUTO_INSTALL=0
if ! cargo +nightly miri --version >/dev/null 2>&1 ||
    ! [ -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ]; then
    echo "skipped: this toolchain has no Miri; to install it:" \
        "rustup component add --toolchain nightly miri rust-src"
    exit 0
fi

# Isolation is disabled because the tests read vectors from files. Toolchains never share a build directory.
export MIRIFLAGS="-Zmiri-disable-isolation ${MIRIFLAGS:-}"
export CARGO_TARGET_DIR=target/miri
miri() {
    cargo +nightly miri test --quiet "$@"
}

# Under Stacked Borrows; MIRIFLAGS=-Zmiri-tree-borrows selects Tree Borrows.
miri --package wlan-ciphers --test engine -- every_
miri --package wlan-frames --lib --test refusals --test rsn --test pcapng -- \
    --skip roundtrip --skip no_octets --skip one_wrong_octet --skip editcap --skip cut_anywhere
miri --package wlan-rsn --lib -- association suites cookie
