#!/bin/sh
# Installs the Debian packages that are missing for a purpose: build, run or test.
set -eu

case "${1:?purpose}" in
build) wanted="cc:gcc ld:binutils" ;;
run) wanted="ip:iproute2 iperf3:iperf3 sockperf:sockperf unshare:util-linux nsenter:util-linux" ;;
test) wanted="tshark:tshark chromium:chromium" ;;
*) echo "system-packages: unknown purpose '$1'" >&2; exit 2 ;;
esac

missing=""
for pair in $wanted; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
if [ "$1" = build ] && ! "${PYTHON:-python3}" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    missing="$missing python3-venv"
fi
if [ "$1" = build ] && ! echo 'int main(void){return 0;}' | cc -x c -o /dev/null - >/dev/null 2>&1; then
    missing="$missing libc6-dev gcc"
fi
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1; then
    as_root="sudo"
else
    echo "airtoll needs these packages: apt-get install$missing" >&2
    exit 1
fi
echo "installing$missing"
export DEBIAN_FRONTEND=noninteractive
# A package list from an older image may name versions that are no longer served: refresh it first.
$as_root apt-get -qq update
# shellcheck disable=SC2086 # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
