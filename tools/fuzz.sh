#!/bin/sh
# fuzz.sh [SECONDS]: fuzzes each target for SECONDS (default 900), two targets at a time, and prints each outcome.
set -eu
cd "$(dirname "$0")/../fuzz"
seconds=${1:-900}

if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "make fuzz needs cargo-fuzz: cargo install cargo-fuzz" >&2
    exit 2
fi
cargo run --quiet --bin seeds
cargo +nightly fuzz build --features libfuzzer

logs=../target/fuzz
mkdir -p $logs
fuzz() {
    if cargo +nightly fuzz run --features libfuzzer "$1" -- -max_total_time="$seconds" >"$logs/$1" 2>&1; then
        echo "$1: clean, $(grep '^Done' "$logs/$1")"
    else
        echo "$1: failed, see target/fuzz/$1"
        return 1
    fi
}

status=0
set -- frames captures open seal handshake sae phases eap netlink agent
while [ $# -gt 0 ]; do
    fuzz "$1" &
    first=$!
    shift
    if [ $# -gt 0 ]; then
        fuzz "$1" || status=1
        shift
    fi
    wait "$first" || status=1
done
exit $status
