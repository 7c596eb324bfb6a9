#!/bin/sh
# Builds the wheels for x86_64 and aarch64 and the source distribution in target/dist.
#
# Zig is the linker and the C compiler: it links with the symbol versions of glibc 2.28, so that the wheels run on every
# distribution with that version or a later one (manylinux_2_28).
set -eu
cd "$(dirname "$0")/.."

python=${1:?Python interpreter of the environment}
PATH=$(dirname "$python"):$PATH
output=target/dist
rm -rf "$output"
mkdir -p "$output"
# Every wheel contains the agents for all hosts that this toolchain can build.
for machine in x86_64 aarch64 armv7; do
    tools/agent.sh "$machine" || echo "dist: no agent for $machine" >&2
done
for machine in x86_64 aarch64; do
    target=$machine-unknown-linux-gnu
    if ! rustup target list --installed 2>/dev/null | grep -qx "$target" &&
        ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
        echo "dist: no wheel for $machine: the Rust toolchain lacks the target; rustup target add $target" >&2
        continue
    fi
    "$python" -m build --wheel --no-isolation --outdir "$output" \
        --config-setting=build-args="--zig --compatibility manylinux_2_28 --target $target" >"$output.log" 2>&1 ||
        { cat "$output.log" >&2; exit 1; }
done
"$python" -m build --sdist --no-isolation --outdir "$output" >"$output.log" 2>&1 || { cat "$output.log" >&2; exit 1; }
ls -sh "$output"
