"""An access point with OpenWrt, whose wireless configuration is changed by uci and restored afterwards.

The measured network has a name and a network of its own unless the inventory names a section to change. The
configuration file is restored octet for octet: by airtoll, or by the guard on the router (`openwrt_guard`). A change
also sets the unknown option `airtoll`, which OpenWrt ignores: a file without this option has been restored, or replaced
by its owner, and is left alone.
"""

import re
import secrets
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, FailFast, JsonValue, TypeAdapter

from airtoll.agent.connection import LostError
from airtoll.documents import read_json
from airtoll.errors import AirtollError
from airtoll.host import last_words
from airtoll.labs import hostapd
from airtoll.labs.access_points import base
from airtoll.labs.access_points.openwrt_guard import Guard, Heartbeat, Router
from airtoll.labs.journal import HostChange, HostJournal
from airtoll.labs.network import Network
from airtoll.study.phys import PHYS
from airtoll.study.security import AKMS, SUITES

CONFIG: Final = "/etc/config/wireless"
OWN: Final = "airtoll"
"""The names of the section and, by default, of the network of a measurement."""

_STATUS: Final = ("ubus", "call", "network.wireless", "status")
_COMMAND_S: Final = 20.0
_UP_S: Final = 60.0
_POLL_S: Final = 0.2
_WIDTHS_MHZ: Final = (20, 40, 80)

# Argument: value of the option `airtoll`. The batch is standard input. uci reports errors only in words. Other users of
# the router can read the argument and write to /tmp, so names there are new: a redirection would follow a link.
_CHANGE: Final = """
umask 077
folder=$(mktemp -d "/tmp/$1.change.XXXXXX") || exit
trap 'rm -rf "$folder"' EXIT
uci -t "$folder" batch 2> "$folder/errors"
if [ -s "$folder/errors" ]; then cat "$folder/errors" >&2; exit 1; fi
uci -t "$folder" commit wireless
"""

# Arguments: file, value of the option `airtoll`, length of the earlier content, which is standard input, and the folder
# of the guard. The guard requires no space on the flash. The content is for a guard that is missing or damaged. A new
# folder in /tmp remains while OpenWrt has not loaded the restored file. Folders of other users stay: rm of BusyBox
# follows a link that replaces a folder while rm descends.
_RESTORE: Final = """
umask 077
mark=$2 guard=$4/guard
has_guard() { grep -qsF "$mark" "$guard"; }
own() { for each in "/tmp/$mark.$1."*; do [ ! -O "$each" ] || [ -L "$each" ] || echo "$each"; done; }
if has_guard && sh "$guard" restore; then rm -rf $(own change) $(own restored); exit 0; fi
if [ ! -e "$1" ]; then echo "$1 is missing" >&2; exit 1; fi
if grep -qF "$2" "$1"; then
    new=$(mktemp "${1%/*}/.$2.XXXXXX") || exit
    cp -p "$1" "$new" && cat > "$new" || exit
    if [ "$(wc -c < "$new")" -ne "$3" ]; then echo "the copy is not complete" >&2; exit 1; fi
    mktemp -d "/tmp/$2.restored.XXXXXX" >/dev/null && sync && mv "$new" "$1" && sync || exit
fi
rm -rf $(own change) "${1%/*}/.$2."*
if [ -n "$(own restored)" ]; then wifi reload && rm -rf $(own restored) || exit; fi
if has_guard; then sh "$guard" restore || exit; fi
if [ ! -e "$guard" ]; then rm -rf "$4"; fi
"""

_BY_OTHERS: Final = (
    *("key1", "key2", "key3", "key4", "sae_password", "sae_password_file", "wpa_psk_file", "ppsk"),
    *("key", "ieee80211r", "hostapd_bss_options"),
)
"""Options of a network that change its security, which a change removes."""

_NAMED: Final = [
    [word] for word in {akm.exchange: akm.word for akm in reversed(tuple(AKMS.values()))}.values()
]
"""The key managements that the option `encryption` names: the first of each exchange, alone."""

_PSK: Final = {1: "psk", 2: "psk2", 3: "psk-mixed"}

Options = dict[str, str | list[str]]


class _InterfaceStatus(BaseModel):
    ifname: str | None = None
    config: dict[str, JsonValue] = {}


class _RadioStatus(BaseModel):
    """A radio in the answer of `ubus call network.wireless status`."""

    up: bool = False
    pending: bool = False
    retry_setup_failed: bool = False
    config: dict[str, JsonValue] = {}
    interfaces: Annotated[list[_InterfaceStatus], FailFast()] = []


class _HostapdStatus(BaseModel):
    status: str | None = None


_Answer = TypeVar("_Answer")
_RADIOS: Final = TypeAdapter(dict[str, _RadioStatus])
_HOSTAPD: Final = TypeAdapter(_HostapdStatus)


class OpenWrt:
    """One network of an access point with OpenWrt: a section `wifi-iface` and its radio."""

    name = "openwrt"

    def __init__(
        self,
        host: Router,
        journal: HostJournal,
        section: str | None = None,
        network: str = OWN,
        root: str = "",
    ) -> None:
        """`section` names a network to change, such as default_radio0 or @wifi-iface[1].

        Without it, the measurement has a section of its own, whose stations join the `network` of OpenWrt. `root` is
        that of the router's file system.
        """
        self._host = host
        self._journal = journal
        self._section = section
        self._network = network
        self._config = f"{root}{CONFIG}"
        self._guard = Guard(host, f"airtoll-{secrets.token_hex(8)}", root)
        self._change: HostChange | None = None
        self._heartbeat: Heartbeat | None = None

    def obstacle(self, network: Network) -> str | None:
        """Return why OpenWrt cannot offer the network, or None if it can."""
        return base.obstacle(network) or next(_obstacles(network), None)

    def switch(self, network: Network) -> dict[str, Any]:
        """Offer the network. Returns facts when hostapd of OpenWrt has started.

        Raises AirtollError if OpenWrt refuses the settings or does not offer the network in time.
        """
        if self._change is not None and not self.is_up():
            self.restore()  # the router has restored itself
        if self._change is None:
            self._journal.recover(self._host)
        sections = self._sections()
        section, radio = self._chosen(sections, network)
        if self._change is None:
            self._keep()
        of_network = {**_of_network(network), "airtoll": self._guard.mark}
        if self._section is None:
            of_network |= {"device": radio, "network": self._network}
        of_radio = _of_radio(network)
        obsolete = [name for name in _BY_OTHERS if name in sections.get(section, {})]
        batch = [
            *([] if section in sections else [f"set wireless.{section}=wifi-iface"]),
            *_batch(section, of_network, radio, of_radio, obsolete),
        ]
        self._do(
            ["sh", "-c", _CHANGE, "sh", self._guard.mark], "".join(f"{line}\n" for line in batch).encode()
        )
        self._do(["wifi", "reload"])
        interface = self._wait_until_up(radio, of_network, of_radio)
        others = [
            name
            for name, options in sections.items()
            if name != section and options.get("device") == radio and options.get("disabled") != "1"
        ]
        return {
            "kind": self.name,
            "interface": interface,
            "program": self._release(),
            "encryption": of_network["encryption"],
            "htmode": of_radio["htmode"],
            "other_networks": len(others),  # which share the radio's airtime
        }

    def is_up(self) -> bool:
        """Whether the router has the settings. It restores itself after a restart, or without heartbeats."""
        return self._run(["grep", "-qF", self._guard.mark, self._config]).returncode == 0

    def restore(self) -> None:
        """Restore the configuration. Raises AirtollError if that fails; then the journal keeps it.

        The heartbeat ends in any case, so the guard on the router repeats what failed.
        """
        if self._heartbeat is not None:
            self._heartbeat.stop()
            self._heartbeat = None
        if self._change is not None:
            self._change.revert()
            self._change = None

    def _keep(self) -> None:
        """Register the present configuration, and install the guard on the router.

        Raises AirtollError if the owner or another airtoll is changing the configuration, or if the flash is full.
        """
        if self._do(["uci", "changes", "wireless"]).strip():
            raise AirtollError(
                f"host {self._host.name}: wireless has uncommitted changes: "
                "uci commit wireless, or uci revert wireless"
            )
        content = self._do(["cat", self._config])
        if b"option airtoll " in content:
            raise AirtollError(
                f"host {self._host.name}: {self._config} has the settings of an interrupted measurement, which the "
                "journal of another inventory or machine restores"
            )
        mark = self._guard.mark
        argv = ["sh", "-c", _RESTORE, "sh", self._config, mark, str(len(content)), self._guard.folder]
        self._change = self._journal.before(
            self._host, f"the wireless configuration {self._config}", argv, content
        )
        try:
            self._do(*self._guard.install())
        except AirtollError:
            self.restore()
            raise
        self._heartbeat = Heartbeat(self._guard)

    def _sections(self) -> dict[str, Options]:
        argv = ["uci", "show", "wireless"]
        try:
            return parse(self._do(argv).decode(errors="replace"))
        except ValueError as error:
            raise AirtollError(f"{self._doing(argv)}: its output is not readable: {error}") from None

    def _chosen(self, sections: Mapping[str, Options], network: Network) -> tuple[str, str]:
        """The section of the network and its radio. The section of the measurement may not exist yet."""
        if self._section is None:
            return OWN, self._own_radio(sections, network)
        offered = {
            name: str(options.get("device"))
            for name, options in sections.items()
            if options.get("mode") == "ap" and str(options.get("device")) in sections
        }
        where = f"host {self._host.name}: {self._config}"
        if self._section not in offered:
            has = ", ".join(offered) or "none"
            raise AirtollError(f"{where} has no access point {self._section!r}; it has: {has}")
        radio = offered[self._section]
        band, wanted = _band(sections[radio]), _band_of(network)
        if band not in (None, wanted):
            raise AirtollError(
                f"host {self._host.name}: {radio} is a radio of band {band}, "
                f"and channel {network.channel} is in {wanted}"
            )
        return self._section, radio

    def _own_radio(self, sections: Mapping[str, Options], network: Network) -> str:
        """The radio for a section of its own. Raises AirtollError if the router lacks it, or the network."""
        where = f"host {self._host.name}"
        if self._run(["uci", "-q", "get", f"network.{self._network}"]).returncode != 0:
            raise AirtollError(
                f"{where}: OpenWrt has no network {self._network!r}, which keeps the measured stations apart from "
                "yours: create it (docs/how-to/control-an-access-point.md), or name one by access_point.network"
            )
        wanted = _band_of(network)
        radios = [
            name
            for name, options in sections.items()
            if any(other.get("device") == name for other in sections.values())
            and _band(options) in (None, wanted)
        ]
        if len(radios) != 1:
            has = ", ".join(radios) or "none"
            raise AirtollError(
                f"{where}: {len(radios)} radios of band {wanted} ({has}): name a network of one of them by "
                "access_point.section"
            )
        return radios[0]

    def _wait_until_up(self, radio: str, of_network: Options, of_radio: Options) -> str:
        """Wait until OpenWrt offers the network. Returns the name of its interface."""
        until_s = time.monotonic() + _UP_S
        was_up = False
        while True:
            status = self._json(_RADIOS, _STATUS, self._do(_STATUS)).get(radio, _RadioStatus())
            interface = _interface_of(status, of_network, of_radio)
            is_up = interface is not None and self._has_started(interface)
            # netifd can still report the earlier state for a moment after the new configuration.
            if interface is not None and is_up and was_up:
                return interface
            was_up = is_up
            if status.retry_setup_failed or time.monotonic() > until_s:
                raise AirtollError(
                    f"host {self._host.name}: {radio} does not offer encryption {of_network['encryption']} with "
                    f"htmode {of_radio['htmode']} on channel {of_radio['channel']}: see logread -e hostapd on it"
                )
            time.sleep(_POLL_S)

    def _has_started(self, interface: str) -> bool:
        """Whether hostapd offers the network of the interface. Versions without a status count as started."""
        argv = ["ubus", "call", f"hostapd.{interface}", "get_status"]
        done = self._run(argv)
        if done.returncode != 0:
            return b"Method not found" in done.stderr
        return self._json(_HOSTAPD, argv, done.stdout).status == "ENABLED"

    def _release(self) -> str | None:
        done = self._run(["cat", "/etc/openwrt_release"])
        found = re.search(rb"^DISTRIB_DESCRIPTION='(.*)'$", done.stdout, re.MULTILINE)
        return None if found is None else found[1].decode(errors="replace").strip()

    def _json(self, shape: TypeAdapter[_Answer], argv: Sequence[str], text: bytes) -> _Answer:
        return read_json(shape, text, self._doing(argv))

    def _do(self, argv: Sequence[str], stdin: bytes | None = None) -> bytes:
        """The output of a command that must succeed."""
        done = self._run(argv, stdin)
        if done.returncode != 0:
            raise AirtollError(f"{self._doing(argv)}: {last_words(done.stderr, done.stdout)}")
        return done.stdout

    def _run(self, argv: Sequence[str], stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        try:
            return self._host.run(argv, _COMMAND_S, stdin)
        except subprocess.TimeoutExpired:
            raise LostError(f"{self._doing(argv)}: no answer within {_COMMAND_S:.0f} s") from None

    def _doing(self, argv: Sequence[str]) -> str:
        script = "uci batch" if _CHANGE in argv else "the guard"
        return f"host {self._host.name}: {script if argv[0] == 'sh' else ' '.join(argv)}"


def _band(radio: Options) -> str | None:
    """The band of a radio; None if its options do not tell."""
    band = radio.get("band") or {"11a": "5g", "11g": "2g", "11b": "2g"}.get(str(radio.get("hwmode")))
    return None if band is None else str(band)


def _band_of(network: Network) -> str:
    return f"{network.band[0]}g"


def _obstacles(network: Network) -> Iterator[str]:
    profile, level = network.profile, f"security '{network.level}'"
    if network.bandwidth_mhz not in _WIDTHS_MHZ:
        yield f"bandwidth '{network.bandwidth_mhz} MHz': OpenWrt supports 20, 40 and 80 MHz"
    if PHYS[network.phy].is_dsss:
        yield f"phy '{network.phy}': OpenWrt cannot disable the rates of 802.11g"
    if profile.eap is not None:
        yield f"{level}: airtoll does not set up 802.1X on OpenWrt: use an access point of kind hook"
    if len(profile.ciphers) > 1 and not all(SUITES[cipher].is_in_wpa for cipher in profile.ciphers):
        yield f"{level}: OpenWrt cannot combine the ciphers {', '.join(profile.ciphers)}"


def parse(text: str) -> dict[str, Options]:
    """The sections in the output of `uci show wireless`, with their options; a list has several words.

    Raises ValueError for a quote without an end.
    """
    found: dict[str, Options] = {}
    entry = re.compile(r"^wireless\.([^.=\n]+)(?:\.([^.=\n]+))?=((?:'[^']*'|\\'|[^'\n])*)$", re.MULTILINE)
    for section, option, value in entry.findall(text):
        options = found.setdefault(section, {})
        if option:
            words = shlex.split(value)
            options[option] = words[0] if len(words) == 1 else words
    return found


def encryption(network: Network) -> str:
    """The value of the option `encryption`."""
    profile = network.profile
    if profile.suite.is_wep:
        return "wep-open"
    if not profile.akms:
        return "none"
    if "owe" in profile.exchanges:
        kind = "owe"
    elif "sae" in profile.exchanges:
        kind = "sae-mixed" if "psk" in profile.exchanges else "sae"
    else:
        kind = _PSK[profile.wpa or 2]
    # wireless_vif_parse_encryption in OpenWrt's netifd-wireless.sh
    return "+".join([kind, *sorted(profile.ciphers, key=lambda cipher: SUITES[cipher].strength)])


def _of_network(network: Network) -> Options:
    """The options of the section `wifi-iface`."""
    profile = network.profile
    options: Options = {
        "mode": "ap",
        "disabled": "0",
        "ssid": network.ssid,
        "encryption": encryption(network),
        "wmm": str(int(network.qos)),
    }
    if profile.suite.is_wep:
        return {**options, "key": "1", "key1": network.secret}
    if profile.akms:
        options["ieee80211w"] = str(hostapd.words(network)["ieee80211w"])
    if network.has_passphrase:
        options["key"] = network.secret
    if lines := list(_lines(network)):
        options["hostapd_bss_options"] = lines
    return options


def _lines(network: Network) -> Iterator[str]:
    """Lines of hostapd.conf for settings that have no option of OpenWrt, or whose option includes other settings."""
    profile, words = network.profile, hostapd.words(network)
    # OpenWrt adds WPA-PSK-SHA256 to WPA-PSK if management frames are protected.
    is_added = "psk" in profile.exchanges and profile.ieee80211w != "disabled"
    if profile.akms and (is_added or [*profile.akms] not in _NAMED):
        yield f"wpa_key_mgmt={words['wpa_key_mgmt']}"
    for name in ("group_cipher", "sae_pwe", "sae_groups", "owe_groups"):
        if name in words:
            yield f"{name}={words[name]}"
    if profile.beacon_prot:
        yield "beacon_prot=1"


def _of_radio(network: Network) -> Options:
    """The options of the section `wifi-device`."""
    phy = PHYS[network.phy]
    short = str(int(network.gi == "short"))
    options: Options = {
        "disabled": "0",
        "channel": str(network.channel),
        "htmode": f"{phy.label}{network.bandwidth_mhz}" if phy.is_ht else "NOHT",
        "beacon_int": str(network.beacon_interval_tu),
        **{f"short_gi_{width}": short for width in _WIDTHS_MHZ if phy.is_ht},
    }
    if network.country is not None:
        options["country"] = network.country
    if network.channel <= 14 and network.bandwidth_mhz == 40:
        options["noscan"] = "1"  # otherwise neighbours reduce the width to 20 MHz
    return options


def _batch(
    section: str, of_network: Options, radio: str, of_radio: Options, obsolete: Sequence[str]
) -> Iterator[str]:
    """The lines of `uci batch`."""
    for name in obsolete:
        yield f"delete wireless.{section}.{name}"
    for target, options in ((section, of_network), (radio, of_radio)):
        for name, value in options.items():
            if isinstance(value, list):
                for each in value:
                    yield f"add_list wireless.{target}.{name}={_quoted(each)}"
            else:
                yield f"set wireless.{target}.{name}={_quoted(value)}"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def _interface_of(status: _RadioStatus, of_network: Options, of_radio: Options) -> str | None:
    """The interface of the network in the status of its radio; None while the radio is not up with these options."""
    is_current = all(str(status.config.get(name)) == of_radio[name] for name in ("channel", "htmode"))
    if not (status.up and not status.pending and is_current):
        return None
    for interface in status.interfaces:
        if all(interface.config.get(name) == of_network[name] for name in ("ssid", "encryption")):
            return interface.ifname
    return None
