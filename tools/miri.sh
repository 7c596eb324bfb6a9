#!/bin/sh
# Runs tests under Miri, which reports undefined behaviour: the portable engine of wlan-ciphers, and the parsers of
# wlan-frames and wlan-rsn. Miri needs a nightly toolchain; without it the script says so and succeeds, also where
# AIRTOLL_REQUIRE_ALL=1, because a release of Rust has no Miri.
set -eu
cd "$(dirname "$0")/.."

# Asking for a toolchain must not install it.
export RUSTUP_AUTO_INSTALL=0
if ! cargo +nightly miri --version >/dev/null 2>&1 ||
    ! [ -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ]; then
    echo "skipped: this toolchain has no Miri; to install it:" \
        "rustup component add --toolchain nightly miri rust-src"
    exit 0
fi

# The tests read their vectors from files. Build directories of other toolchains are never shared.
export MIRIFLAGS="-Zmiri-disable-isolation ${MIRIFLAGS:-}"
export CARGO_TARGET_DIR=target/miri
miri() {
    cargo +nightly miri test --quiet "$@"
}

# Under Stacked Borrows; MIRIFLAGS=-Zmiri-tree-borrows asks for the other model.
miri --package wlan-ciphers --test engine -- every_
miri --package wlan-frames --lib --test refusals --test rsn --test pcapng -- \
    --skip roundtrip --skip no_octets --skip one_wrong_octet --skip editcap --skip cut_anywhere
miri --package wlan-rsn --lib -- association suites cookie
