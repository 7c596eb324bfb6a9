#!/bin/sh
# Checks what the build requires and no package manager installs: versions of Python and Rust, and space on the disk.
# Prints one line that says what to do, and exits with status 2, if a requirement is missing.
set -eu
cd "$(dirname "$0")/.."

python=${1:?Python interpreter}

missing() {
    echo "airtoll: $1" >&2
    exit 2
}

wanted=$(sed -n 's/^requires-python = ">=\(.*\)"$/\1/p' pyproject.toml)
command -v "$python" >/dev/null 2>&1 ||
    missing "the command $python is missing: install Python $wanted or later, or name it: make PYTHON=python3.12"
"$python" -c "import sys; sys.exit(sys.version_info[:2] < tuple(map(int, '$wanted'.split('.'))))" ||
    missing "$("$python" --version) is too old: install Python $wanted or later, and name it: make PYTHON=python$wanted"

wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
command -v cargo >/dev/null 2>&1 ||
    missing "Rust is missing: install Rust $wanted or later (https://rustup.rs), and open a new shell"
found=$(rustc --version | cut -d' ' -f2)
[ "$(printf '%s\n' "$wanted" "${found%%-*}" | sort -V | head -n 1)" = "$wanted" ] ||
    missing "Rust $found is too old: $wanted or later is required: rustup update stable"

# The environment and the build take 1.3 GB.
free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1024) }')
[ "$free" -ge 1500 ] || missing "the disk of $PWD has $free MB left, and the build requires 1500 MB: free some space"
