#!/bin/sh
# Installs the Debian packages that are missing for a purpose: build, run, test, bench, peers, guest, rtl or armv8.
set -eu

case "${1:?purpose}" in
build)
    wanted="cc:gcc ld:binutils"
    ;;
peers)
    wanted="cc:gcc"
    # Optional: the headers of the libraries that `airtoll ciphers` compares with.
    compares="airtoll ciphers"
    headers="openssl/evp.h:libssl-dev"
    [ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] && headers="$headers intel-ipsec-mb.h:libipsec-mb-dev"
    ;;
run)
    wanted="ip:iproute2 ss:iproute2 iperf3:iperf3 sockperf:sockperf irtt:irtt curl:curl unshare:util-linux"
    wanted="$wanted nsenter:util-linux timeout:coreutils"
    ;;
test)
    wanted="ping:iputils-ping iperf:iperf tshark:tshark tcpdump:tcpdump airdecap-ng:aircrack-ng valgrind:valgrind"
    wanted="$wanted chromium:chromium"
    wanted="$wanted pdflatex:texlive-latex-recommended freeradius:freeradius ssh:openssh-client sshd:openssh-server"
    ;;
bench)
    wanted="ping:iputils-ping iperf:iperf time:time"
    # Optional: a program that `make bench-link` compares with.
    compares="make bench-link"
    programs="wg:wireguard-tools"
    ;;
guest)
    wanted="tar:tar xz:xz-utils patch:patch make:make flex:flex bison:bison bc:bc gcc:gcc ld:binutils"
    wanted="$wanted setpriv:util-linux taskset:util-linux"
    # The programs of lab linux.
    wanted="$wanted hostapd:hostapd wpa_supplicant:wpasupplicant iw:iw"
    ;;
rtl)
    wanted="make:make g++:g++ perl:perl iverilog:iverilog yosys:yosys dot:graphviz"
    ;;
armv8)
    wanted="qemu-aarch64:qemu-user aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu"
    wanted="$wanted aarch64-linux-gnu-gcc:libc6-dev-arm64-cross"
    ;;
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
# Simulators load Python as a shared library.
if [ "$1" = rtl ] && ! "${PYTHON:-python3}" -c '
import ctypes, os, sysconfig
library, folder = sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LIBDIR")
os.path.exists(os.path.join(folder, library)) or ctypes.CDLL(library)' 2>/dev/null; then
    missing="$missing libpython3.$("${PYTHON:-python3}" -c 'import sys; print(sys.version_info.minor)')"
fi
useful=""
for pair in ${headers:-}; do
    [ -e "/usr/include/${pair%%:*}" ] || useful="$useful ${pair#*:}"
done
for pair in ${programs:-}; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || useful="$useful ${pair#*:}"
done
[ -z "$missing$useful" ] && exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1; then
    as_root="sudo"
elif [ -n "$missing" ]; then
    echo "airtoll needs these packages: apt-get install$missing$useful" >&2
    exit 1
else
    echo "$compares can make more comparisons after: apt-get install$useful" >&2
    exit 0
fi
echo "installing Debian packages with ${as_root:+$as_root }apt-get:$missing$useful"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Prints one line that says what to do if apt-get fails. Another apt-get may hold its lock for a while.
apt_get() {
    if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1; then
        reason=$(grep -m 1 '^E:' "$log" || tail -n 1 "$log")
        echo "airtoll: apt-get $1 failed (${reason#E: }); remove the cause, or install by hand: apt-get install$missing$useful" >&2
        return 2
    fi
}
# A package list from an older image may name versions that are no longer served: refresh it first.
apt_get update || [ -z "$missing" ] || exit 2
install() {
    apt_get install -y --no-install-recommends "$@"
}
# Some packages start a server on all interfaces, now and at every boot. airtoll starts its own, so a new one never runs. A
# package whose program is only outside the search path, such as /usr/sbin/sshd, is not new: its server is the user's.
servers=""
for package in $missing; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] && continue
    case $package in
    freeradius | irtt) servers="$servers $package.service" ;;
    openssh-server) servers="$servers ssh.service ssh.socket" ;;
    esac
done
systemd() {
    # shellcheck disable=SC2086 # a list of words
    [ -z "$servers" ] || $as_root systemctl "$@" $servers >/dev/null 2>&1 || true
}
# If systemd does not run, as in a container, nothing starts, and the folder that a mask creates would tell other packages
# that it runs.
runs=""
case $(systemctl is-system-running 2>/dev/null) in
"" | offline | unknown) ;;
*) runs=yes ;;
esac
[ -z "$runs" ] || systemd mask --runtime
status=0
# shellcheck disable=SC2086 # a list of words
[ -z "$missing" ] || install $missing || status=2
[ -z "$runs" ] || systemd unmask --runtime
systemd disable
[ "$status" = 0 ] || exit "$status"
for package in $useful; do
    install "$package" || echo "continuing without $package: $compares omits the comparisons that require it" >&2
done
