#!/bin/sh
# Checks that wlan-frames and wlan-ciphers compile for a target without the standard library. Without this target the
# script says so and succeeds, also where AIRTOLL_REQUIRE_ALL=1, because only rustup installs targets.
set -eu
cd "$(dirname "$0")/.."
target=x86_64-unknown-none

# Asking for a toolchain must not install it.
export RUSTUP_AUTO_INSTALL=0
if ! library="$(rustc --print target-libdir --target "$target" 2>/dev/null)" || ! [ -d "$library" ]; then
    echo "skipped: this toolchain has no libraries for $target; to install them: rustup target add $target"
    exit 0
fi

cargo clippy --package wlan-frames --package wlan-ciphers --no-default-features --target "$target" --quiet -- -D warnings
