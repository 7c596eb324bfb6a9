"""A PHY that Rust declares reaches studies, schema, options and errors without any further line of Python."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from airtoll.study.phys import PHYS

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
WITH_A_TOY = """
import json
from types import SimpleNamespace
from airtoll import _rust

declared = _rust.phys()
toy = SimpleNamespace(
    word="toy", amendment="802.11toy", generation=None, bands=["5 GHz"], bandwidths_mhz=[20, 320],
    guard_intervals=["long"], max_streams=2, rates=["mcs0", "mcs1"], usual_rate="mcs1", has_mcs=True,
    mcs_per_stream=None, is_ht=True, max_mpdu_in_ampdu_b=None, label="TOY", data_subcarriers={20: 52, 320: 832},
    bits_per_subcarrier=[(1, 2), (2, 2)], is_dsss=False, non_ht={"5 GHz": [(6.0, "ofdm", True)]},
    hostapd=[("ieee80211toy", "1"), ("toy_capab", "{ht40}{short_gi_80}")],
)
_rust.phys = lambda: [*declared, toy]

from airtoll.labs import hostapd, minstrel
from airtoll.labs.access_points import openwrt, prompt
from airtoll.labs.network import Network
from airtoll.study import LinkSettings, json_schema
from airtoll.study.cell import Cell
from airtoll.study.factors import PHY, RATE, WIDTH
from airtoll.study.scenario import WordError, read_scenario
from airtoll.study.security import READY_MADE

network = Network(
    level="ccmp", profile=READY_MADE["ccmp"].on(LinkSettings()), ssid="toy", secret="a passphrase", phy="toy",
    bandwidth_mhz=40, gi="short", channel=36,
)
cell = read_scenario({"phy": "toy", "bandwidth": 320}).model_dump()
cell = Cell.model_construct(**{**cell, "rate": "mcs1"})
factors = json_schema()["$defs"]["Factors"]["properties"]
try:
    read_scenario({"phy": "he"})
except WordError as error:
    refusal = str(error)
try:
    _rust.check_scenario(read_scenario({"phy": "toy", "bandwidth": 320}).to_json())
except ValueError as error:
    medium = str(error)
print(json.dumps({
    "levels": PHY.choices(), "phrase": PHY.phrase_of("toy"), "schema": factors["phy"]["items"]["enum"],
    "text": factors["phy"]["description"], "rates": RATE.text, "widths": WIDTH.choices(), "refusal": refusal,
    "hostapd": hostapd.words(network), "uci": openwrt._of_radio(network)["htmode"],
    "pages": dict(prompt.settings(network))["Wireless mode"], "iw": minstrel.only(cell, 5180),
    "bit_per_s": minstrel.rate_of(cell).phy_rate.bit_per_s,
    "wire": read_scenario({"phy": "toy", "bandwidth": 320}).wire(), "medium": medium,
}))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, object]:
    # The tables derive from the declarations when the package is imported, so this takes a process of its own.
    done = subprocess.run([sys.executable, "-c", WITH_A_TOY], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def test_the_toy_is_a_level_of_studies_and_of_their_schema(told: dict[str, object]) -> None:
    assert told["levels"] == [*PHYS, "toy"]
    assert told["schema"] == [*PHYS, "toy"]
    assert str(told["text"]).endswith("vht 802.11ac, toy 802.11toy.")
    assert told["phrase"] == "802.11toy"
    assert "mcs0 to mcs1 for toy" in str(told["rates"])
    assert told["widths"] == [20, 40, 80, 160, 320]


def test_scenarios_and_errors_know_the_toy(told: dict[str, object]) -> None:
    wire = told["wire"]
    assert isinstance(wire, dict)
    assert (wire["phy"], wire["rate"], wire["bandwidth"]) == ("toy", "mcs1", 320)
    assert told["refusal"] == "phy: 'he' is not allowed; use dsss, ofdm, erp, ht, vht or toy"
    assert told["medium"] == "phy: 'toy' is not one of dsss, ofdm, erp, ht, vht"


def test_products_are_configured_for_the_toy(told: dict[str, object]) -> None:
    lines = told["hostapd"]
    assert isinstance(lines, dict)
    assert (lines["hw_mode"], lines["ieee80211toy"], lines["toy_capab"]) == ("a", 1, "[HT40+][SHORT-GI-80]")
    assert (told["uci"], told["pages"]) == ("TOY40", "toy")
    assert told["iw"] == ["toy-mcs-5", "1:1", "lgi-5"]
    assert told["bit_per_s"] == 832 / 4e-6


@pytest.mark.parametrize("phy", PHYS)
def test_every_phy_is_in_the_reference(phy: str) -> None:
    page = (REFERENCE / "study-files.md").read_text(encoding="utf-8")
    assert f"`{phy}`" in page
