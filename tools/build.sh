#!/bin/sh
# Builds what measuring on emulated air requires: the extension `airtoll._rust` and the agent of this machine's hosts.
# Cargo builds only what changed.
set -eu
cd "$(dirname "$0")/.."

python=${1:-python3}
if ! [ -d target/release ]; then
    echo "building airtoll: two to five minutes on two cores; later builds compile what changed" >&2
fi
# The stable ABI is the same for every Python, so the binding need not ask one.
export PYO3_NO_PYTHON=1
"$python" tools/explained.py cargo build --release --package airtoll-py --package airtoll-agent \
    --features airtoll-py/extension-module

tools/place.sh target/release/lib_rust.so python/airtoll/_rust.abi3.so
tools/place.sh target/release/airtoll-agent python/airtoll/agent/programs/airtoll-agent
script=python/airtoll/report/pages/templates/vega.js
[ -f "$script" ] || "$python" tools/vega.py "$script"
