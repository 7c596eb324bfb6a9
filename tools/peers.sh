#!/bin/sh
# Builds airtoll-peers, the program of `airtoll ciphers`, for a wheel: for this machine or, with the name of a target, for
# every distribution with glibc 2.28 or later. For that Zig is the linker, as for the extension module (tools/dist.sh).
set -eu
cd "$(dirname "$0")/.."

target=${1:-}
folder=target/peers
mkdir -p "$folder"
if [ -n "$target" ]; then
    machine=${target%%-*}
    linker=$PWD/$folder/linker-$machine
    printf '#!/bin/sh\nexec maturin zig cc -- -target %s-linux-gnu.2.28 "$@"\n' "$machine" >"$linker"
    chmod +x "$linker"
    export "CARGO_TARGET_$(echo "$target" | tr a-z- A-Z_)_LINKER=$linker"
fi
# Cargo then compiles the engine with the same features as the extension, and so not again.
cargo build --quiet --release --package airtoll-agent --package airtoll-py --package wlan-peers \
    --features airtoll-py/extension-module --bin airtoll-peers ${target:+--target "$target"}

tools/place.sh "${CARGO_TARGET_DIR:-target}/${target:+$target/}release/airtoll-peers" \
    python/airtoll/ciphers/programs/airtoll-peers
