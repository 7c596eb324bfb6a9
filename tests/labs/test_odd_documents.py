"""Readers of documents from hosts, access points and journals return a value or raise one line, for every shape."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from agentless_stand_in import MAC
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_json import DEEP, ODD, RANDOM, changed

from airtoll.errors import AirtollError
from airtoll.guest import boot, job, recipe
from airtoll.labs import journal
from airtoll.labs.access_points import openwrt
from airtoll.labs.access_points.agentless import of_macos, of_windows
from airtoll.labs.access_points.station import report
from airtoll.labs.machines import Machines
from airtoll.store.origin import Origin
from airtoll.sweep.journal import Journal
from airtoll.sweep.table import make_table

STATUS = {
    "radio0": {
        "up": True,
        "pending": False,
        "config": {"channel": "36", "htmode": "VHT20"},
        "interfaces": [{"ifname": "wlan0", "config": {"ssid": "x", "encryption": "psk2"}}],
    }
}
ADDRESSES = [{"ifname": "eth0", "addr_info": [{"family": "inet", "local": "192.0.2.1", "tentative": False}]}]
CHANGE = {"what": "x", "host": "ap", "argv": ["true"], "stdin": "", "kept": ""}
FACTS = {"package": "linux-source", "version": "1", "sha256": "00"}
OUTCOME = {"virtual_s": 1.5, "error": "it failed", "exit_code": 1}
SWEEP: dict[str, object] = {"grid": "abc", "cells": 1}
HERE = Origin("1", "CPU", "6")
TABLE = [{**SWEEP, "airtoll": "1", "processor": "CPU", "kernel": "6"}, {"throughput": {"p50": 1.0}}]


def of_openwrt(text: bytes, _folder: Path) -> object:
    host = SimpleNamespace(
        name="openwrt", run=lambda argv, *_: subprocess.CompletedProcess(argv, 0, text, b"")
    )
    point = openwrt.OpenWrt(host, None)  # type: ignore[arg-type]
    point._json(openwrt._HOSTAPD, ["ubus"], text)
    status = point._json(openwrt._RADIOS, ["ubus"], text).get("radio0", openwrt._RadioStatus())
    of_network: Any = {"ssid": "x", "encryption": "psk2"}
    return openwrt._interface_of(status, of_network, {"channel": "36", "htmode": "VHT20"})


def of_hosts(text: bytes, _folder: Path) -> object:
    machines = Machines.__new__(Machines)
    host = SimpleNamespace(run=lambda argv, _s: subprocess.CompletedProcess(argv, 0, text, b""))
    machines.inventory = SimpleNamespace(hosts={"sta": SimpleNamespace(interface="eth0")})  # type: ignore[assignment]
    machines.host = lambda _role: host  # type: ignore[method-assign,assignment,return-value]
    found = machines.own_address("sta", "ipv4")
    assert found is None or not found.startswith("-")
    return found


def of_journal(text: bytes, folder: Path) -> object:
    (folder / "000001.json").write_bytes(text)
    found = journal._read(folder / "000001.json")
    assert all(isinstance(word, str) for word in (found.what, found.host, found.kept, *found.argv))
    return found


def of_recipe(text: bytes, folder: Path) -> object:
    (folder / recipe.FACTS).write_bytes(text)
    (folder / recipe.KERNEL).touch()
    return recipe.Kernel.read(folder)


def of_guest(text: bytes, folder: Path) -> object:
    console = boot._Console(dict)
    console.take(job.EVENT.encode() + text + b"\n")
    (folder / job.OUTCOME).write_bytes(text)
    return boot._outcome(folder / job.OUTCOME, console)


def of_sweep(text: bytes, folder: Path) -> object:
    """The first line and an answer of the journal of a sweep."""
    try:
        head, answer = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        head, answer = None, text.decode()
    (folder / "j").write_text(f"{json.dumps(head)}\n0 {json.dumps(answer)}\n0 {{}}\n")
    with Journal(folder / "j", SWEEP, HERE, resume=True, allow_mixed=True) as opened:
        return make_table(['{"seed":1}'], opened.cells())


READERS: dict[str, tuple[Callable[[bytes, Path], object], Any]] = {
    "openwrt": (of_openwrt, STATUS),
    "macos": (lambda text, _: of_macos(text.decode(), "en0"), MAC),
    "hosts": (of_hosts, ADDRESSES),
    "journal": (of_journal, CHANGE),
    "recipe": (of_recipe, FACTS),
    "guest": (of_guest, OUTCOME),
    "sweep": (of_sweep, TABLE),
}


def is_one_line(name: str, text: bytes, folder: Path) -> None:
    said = ""
    try:
        READERS[name][0](text, folder)
    except AirtollError as error:
        said = str(error)
    assert "\n" not in said


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(READERS)), RANDOM, ODD)
def test_any_shape_is_a_value_or_one_line(tmp_path: Path, name: str, at: Random, odd: object) -> None:
    is_one_line(name, json.dumps(changed(READERS[name][1], at, odd)).encode(), tmp_path)


@pytest.mark.parametrize(
    "text", [b"", b"null", b'"\xff"', b'{"a": 1', DEEP], ids=lambda text: text[:5].decode("latin1")
)
@pytest.mark.parametrize("name", sorted(set(READERS) - {"macos"}))
def test_a_text_that_is_no_document_is_one_line(tmp_path: Path, name: str, text: bytes) -> None:
    if name == "sweep" and text != b"null":
        (tmp_path / "j").write_bytes(text + b"\n")
        with pytest.raises(AirtollError):
            Journal(tmp_path / "j", SWEEP, HERE, resume=True)
    else:
        is_one_line(name, text, tmp_path)


UCI = """wireless.radio0=wifi-device
wireless.radio0.band='5g'
wireless.home=wifi-iface
wireless.home.device='radio0'
wireless.home.mode='ap'
wireless.home.ssid='it'\\''s'
"""
WPA = "wpa_state=COMPLETED\nssid=it\\xc3\\xa9\\n\nbssid=02::1\npairwise_cipher=CCMP\nkey_mgmt=WPA2-PSK\n"
IW = "\ttype managed\n\tchannel 36 (5180 MHz), width: 80 MHz\n\tMFP:\tyes\n"


def of_uci(text: str) -> object:
    host = SimpleNamespace(
        name="openwrt", run=lambda argv, *_: subprocess.CompletedProcess(argv, 0, text.encode(), b"")
    )
    point = openwrt.OpenWrt(host, None, "home")  # type: ignore[arg-type]
    network: Any = SimpleNamespace(channel=36, channel_mhz=5180, band="5 GHz")
    return point._chosen(point._sections(), network)


def of_station(text: str) -> dict[str, Any]:
    """The report of a station whose wpa_cli and iw print the two parts of the text."""
    status, _, radio = text.partition("\0")

    def run(argv: list[str], _s: float) -> subprocess.CompletedProcess[bytes]:
        printed = status if argv[0] == "wpa_cli" else radio
        return subprocess.CompletedProcess(argv, 0, printed.encode(), b"")

    host: Any = SimpleNamespace(name="sta", run=run, folder=lambda: "/x")
    return report(host, "wlan0")


def test_an_ssid_has_the_escapes_of_wpa_supplicant() -> None:
    assert of_uci(UCI) == ("home", "radio0")
    assert of_station(f"{WPA}\0{IW}")["ssid"] == "it\u00e9\n"
    for printed, ssid in {
        r"a\\\"": 'a\\"',
        r"\e\t\r": "\x1b\t\r",
        r"\x": "x",
        r"\N{BULLET}": "N{BULLET}",
    }.items():
        assert of_station(f"{WPA}ssid={printed}\n\0{IW}")["ssid"] == ssid


@given(
    st.sampled_from(["uci", "station"]),
    RANDOM,
    st.sampled_from(["", "'", '"', "\\", "\\x", "\\N", "=", "9" * 5000, "a 'b"]),
)
def test_any_output_of_a_router_or_station_is_a_value_or_one_line(name: str, at: Random, odd: str) -> None:
    """A word or a character of the output is replaced."""
    text, read = (UCI, of_uci) if name == "uci" else (f"{WPA}\0{IW}", of_station)
    start, end = at.choice([found.span() for found in re.finditer(r"\w+|[^\w\0]", text)])
    said = ""
    try:
        read(text[:start] + odd + text[end:])
    except AirtollError as error:
        said = str(error)
    assert said.isprintable()


@pytest.mark.parametrize(
    ("read", "text", "fault"),
    [
        (
            of_uci,
            UCI + 'wireless.home.key="a\n',
            "host openwrt: uci show wireless: its output is not readable",
        ),
        (of_station, WPA.replace("ssid=it", "sid=it"), "host sta: wpa_cli on wlan0: its status has no ssid"),
    ],
)
def test_an_odd_output_is_named(read: Callable[[str], object], text: str, fault: str) -> None:
    with pytest.raises(AirtollError, match=fault):
        read(text)


@pytest.mark.parametrize("channel", ["\u00b2", "9" * 5000, "-1"])
def test_no_channel_of_windows_is_too_odd(channel: str) -> None:
    text = f"Name : Wi-Fi\nState : connected\nChannel : {channel}\n"
    assert "frequency_mhz" not in (of_windows(text, "Wi-Fi") or {})
