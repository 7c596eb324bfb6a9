"""The guard of an access point with OpenWrt: it restores the wireless configuration without airtoll.

While airtoll measures, the earlier configuration is on the router, in /etc/airtoll-guard, beside a script that restores
it:

- when airtoll says so, at the end of a measurement;
- `LIMIT_S` after the last heartbeat of airtoll, which a service of procd observes;
- at boot, before netifd reads the configuration (START=15).

The earlier configuration returns by rename(2), which is atomic and requires no space for its content. A reserve, which
is removed first, makes space for the change of the name on a full flash. A failed attempt is repeated with back-off.
"""

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from airtoll.agent.processes import AgentProcess
from airtoll.errors import AirtollError
from airtoll.labs.journal import Runner

LIMIT_S: Final = 180
"""Time without a heartbeat until the router restores its configuration. A station takes less to join: the heartbeat may
come through the measured network."""

_BEATS: Final = 18
"""Heartbeats within that time."""

_LOOK_S: Final = 5
_RESERVE_KIB: Final = 32

# If this script is the service, procd ends it by SIGTERM, and by SIGKILL 5 s later. The folder is removed last, because
# an interrupted restoration is repeated while it exists. The shell has read all functions before the script's file is
# removed.
_GUARD: Final = """
root={root} mark={mark} limit_s={limit_s} look_s={look_s}
folder=$root/etc/airtoll-guard config=$root/etc/config/wireless init=$root/etc/init.d/airtoll
run=$root/var/run/airtoll-guard

restore() {{
    [ -d "$folder" ] || return 0
    if [ -e "$folder/wireless" ]; then
        if [ ! -e "$config" ] || grep -qF "$mark" "$config"; then
            rm -f "$folder/reserve"
            sync
            mv "$folder/wireless" "$config" || return
        fi
        sync
    fi
    if [ ! -e "$config" ] || grep -qF "$mark" "$config"; then
        echo "the earlier configuration is missing" >&2
        return 1
    fi
    if [ "$1" != boot ]; then wifi reload || return; fi
    trap '' TERM
    ubus call service delete '{{"name": "airtoll"}}' >/dev/null 2>&1
    rm -rf "$root"/etc/rc.d/S??airtoll "$init" "$run"
    rm -rf "$folder"
    sync
}}

watch() {{
    wait_s=$look_s
    while :; do
        last_s=$(cat "$run/beat" 2>/dev/null)
        if [ $(($(cut -d . -f 1 /proc/uptime) - ${{last_s:-0}})) -ge "$limit_s" ]; then
            restore watch && exit
            sleep "$wait_s"
            wait_s=$((wait_s < 150 ? 2 * wait_s : 300))
        else
            sleep "$look_s"
            wait_s=$look_s
        fi
    done
}}

case $1 in watch) watch ;; *) restore "$1"; exit ;; esac
"""

_INIT: Final = """#!/bin/sh {root}/etc/rc.common
START=15
USE_PROCD=1

boot() {{
    /bin/sh {root}/etc/airtoll-guard/guard boot || start
}}

start_service() {{
    procd_open_instance
    procd_set_param command /bin/sh {root}/etc/airtoll-guard/guard watch
    procd_set_param respawn 3600 5 0
    procd_close_instance
}}
"""

# Arguments: root, KiB of the reserve, the init script. Standard input: the guard. Nothing remains after a failure.
_INSTALL: Final = """
umask 077
root=$1 folder=$1/etc/airtoll-guard config=$1/etc/config/wireless init=$1/etc/init.d/airtoll
failed() {
    rm -rf "$root"/etc/rc.d/S??airtoll "$init" "$folder" "$root/var/run/airtoll-guard"
    echo "$1: is the flash full?" >&2
    exit 1
}
if [ -e "$folder/wireless" ]; then echo "$folder has the settings of an interrupted measurement" >&2; exit 1; fi
rm -rf "$folder"
mkdir -p "$folder" "$root/var/run/airtoll-guard" && cat > "$folder/guard" || failed "no guard"
dd if=/dev/urandom of="$folder/reserve" bs=1024 count="$2" 2>/dev/null || failed "no reserve"
cp -p "$config" "$folder/new" && [ "$(wc -c < "$folder/new")" -eq "$(wc -c < "$config")" ] || failed "no copy"
printf %s "$3" > "$init" && chmod 755 "$init" || failed "no service"
sync
mv "$folder/new" "$folder/wireless" && "$init" enable && sync || failed "no service"
cut -d . -f 1 /proc/uptime > "$root/var/run/airtoll-guard/beat" && "$init" start || failed "no service"
"""

_BEAT: Final = """
while read -r _; do cut -d . -f 1 /proc/uptime > "$0.new" && mv "$0.new" "$0"; done
"""


class Router(Runner, Protocol):
    """An access point that also runs a command whose standard input stays open."""

    def popen(self, argv: Sequence[str], *, stdin: bool = False) -> AgentProcess:
        """Start a command."""
        ...


@dataclass(frozen=True)
class Guard:
    """The guard of one measurement, whose settings contain the mark."""

    router: Router
    mark: str
    root: str = ""  # of the router's file system
    limit_s: int = LIMIT_S
    look_s: float = _LOOK_S

    @property
    def folder(self) -> str:
        """The folder of the guard on the router."""
        return f"{self.root}/etc/airtoll-guard"

    @property
    def beat(self) -> str:
        """The file with the time of the last heartbeat, in the memory of the router."""
        return f"{self.root}/var/run/airtoll-guard/beat"

    def install(self) -> tuple[list[str], bytes]:
        """The command that installs and starts the guard, and its standard input."""
        words = {"root": self.root, "mark": self.mark, "limit_s": self.limit_s, "look_s": self.look_s}
        init = _INIT.format(root=self.root)
        argv = ["sh", "-c", _INSTALL, "sh", self.root, str(_RESERVE_KIB), init]
        return argv, _GUARD.format(**words).encode()


class Heartbeat:
    """A thread that tells the guard again and again that airtoll is alive, through one connection."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._stopped = threading.Event()
        self._process: AgentProcess | None = None
        self._thread = threading.Thread(target=self._run, name="heartbeat of openwrt", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                if self._process is None or self._process.poll() is not None:
                    argv = ["sh", "-c", _BEAT, self._guard.beat]
                    self._process = self._guard.router.popen(argv, stdin=True)
                self._process.write(b"\n")
            except AirtollError:  # the router restores itself if this lasts
                self._process = None
            self._stopped.wait(self._guard.limit_s / _BEATS)

    def stop(self) -> None:
        """End the heartbeat."""
        self._stopped.set()
        self._thread.join()
        if self._process is not None:
            with suppress(AirtollError), self._process as process:
                process.kill()
