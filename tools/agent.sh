#!/bin/sh
# Builds airtoll-agent for an architecture: x86_64 (this machine's by default), aarch64 or armv7. The program is static.
# Rust's own linker makes musl programs of every architecture, so no compiler of the other architecture is required.
set -eu
cd "$(dirname "$0")/.."

name=${1:-$(uname -m)}
case $name in
x86_64 | amd64) name=x86_64 target=x86_64-unknown-linux-musl ;;
aarch64 | arm64) name=aarch64 target=aarch64-unknown-linux-musl ;;
armv7 | armv7l) name=armv7 target=armv7-unknown-linux-musleabihf ;;
*)
    echo "tools/agent.sh: no architecture $name: x86_64, aarch64 or armv7" >&2
    exit 2
    ;;
esac

installed() { [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; }
if ! installed "$target" && ! { command -v rustup >/dev/null && rustup --quiet target add "$target"; }; then
    host=$(rustc -vV | sed -n 's/^host: //p')
    if [ "${host%%-*}" != "$name" ]; then
        echo "tools/agent.sh: Rust has no target $target: rustup target add $target" >&2
        exit 1
    fi
    # A toolchain without rustup: the system's C library, linked statically.
    target=$host
fi
case $target in
*-musl*) flags='-C linker=rust-lld -C link-self-contained=yes' ;;
*) flags='-C target-feature=+crt-static' ;;
esac
# The program aborts on a panic, so it unwinds nothing.
flags="$flags -C force-unwind-tables=no -C relocation-model=static"
RUSTFLAGS="$flags" cargo build --quiet --profile agent --package airtoll-agent --target "$target"

program=python/airtoll/agent/programs/airtoll-agent-$name
tools/place.sh "target/$target/agent/airtoll-agent" "$program"
touch "$program" # `airtoll.agent.binary` compares its time with those of the sources
