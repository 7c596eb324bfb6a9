"""A cipher suite that Rust declares reaches studies, schema and labs without any further line of Python."""

import json
import subprocess
import sys

import pytest

from airtoll.study.security import CIPHERS, READY_MADE

WITH_A_TOY = """
import json
from types import SimpleNamespace
from airtoll import _rust

declared = _rust.suites()
toy = SimpleNamespace(
    word="toy", title="TOY-64", hostapd="TOY", common="Toy", strength=99, key_b=8, overhead_b=12, is_bip=False,
    is_wep=False, lanes=None, has_handshake=True, is_current=True, is_in_wpa=False, wpa=2,
)
_rust.suites = lambda: [*declared, toy]

from airtoll.ciphers.speed import SUITES
from airtoll.labs import hostapd
from airtoll.labs.access_points import agentless, base, openwrt, prompt
from airtoll.labs.network import Network
from airtoll.prediction import whatif
from airtoll.report.pages.colours import colour_names
from airtoll.study import LinkSettings, json_schema
from airtoll.study.factors import SECURITY
from airtoll.study.scenario import read_scenario
from airtoll.study.security import READY_MADE, SecurityProfile

profile = READY_MADE["toy"].on(LinkSettings(wpa_key_mgmt="sae"))
network = Network(
    level="toy", profile=profile, ssid="toy", secret="a passphrase", phy="vht", bandwidth_mhz=80, gi="long", channel=36,
)
try:
    _rust.check_scenario(read_scenario({"security": "toy"}).to_json())
except ValueError as error:
    medium = str(error)
print(json.dumps({
    "levels": list(READY_MADE), "phrase": SECURITY.phrase_of("toy"),
    "schema": json_schema()["$defs"]["SecurityProfile"]["properties"]["group"]["enum"],
    "strongest": SecurityProfile(pairwise=("toy", "ccmp")).cipher, "benchmarked": SUITES, "alternatives": whatif.SUITES,
    "hostapd": hostapd.words(network), "reported": hostapd.cipher("TOY"),
    "windows": agentless._CIPHER_OF_WINDOWS["TOY"],
    "uci": openwrt.encryption(network), "pages": prompt.security(profile), "obstacle": base.obstacle(network),
    "colours": colour_names(["open", "toy"]), "medium": medium,
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
    ready_made = list(READY_MADE)
    last = ready_made.index("enhanced8") + 1
    assert told["levels"] == [*ready_made[:last], "toy", *ready_made[last:]]
    assert told["schema"] == [*CIPHERS, "toy"]
    assert (told["phrase"], told["strongest"]) == ("TOY-64", "toy")
    assert told["colours"] == ["open", "other1"]
    assert str(told["medium"]).startswith("security: 'toy' is not one of open, wep40, ")


def test_benchmarks_and_predictions_have_the_toy(told: dict[str, object]) -> None:
    for suites in (told["benchmarked"], told["alternatives"]):
        assert isinstance(suites, list)
        assert suites[-1] == "toy"


def test_products_are_configured_for_the_toy(told: dict[str, object]) -> None:
    lines = told["hostapd"]
    assert isinstance(lines, dict)
    assert (lines["wpa"], lines["rsn_pairwise"], told["reported"], told["windows"]) == (
        2,
        "TOY",
        "toy",
        "toy",
    )
    assert (told["uci"], told["pages"]) == ("sae+toy", "WPA3-Personal, Toy")
    assert told["obstacle"] is None
