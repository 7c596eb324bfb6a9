"""Handshakes and frame protection of this project with unmodified hostapd and wpa_supplicant, in a guest.

`wlan-interop` is an access point, a station and an attacker on `wlan-rsn` and `wlan-ciphers`. `interop` runs it beside
hostapd or wpa_supplicant above the medium of lab linux.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from guest_script import run_script

from airtoll.guest import recipe
from airtoll.host import SYSTEM_PATH
from airtoll.labs.base import lab_lacks
from airtoll.labs.linux import Linux

ROOT: Final = Path(__file__).parents[2]
PROGRAM: Final = ROOT / "target" / "debug" / "wlan-interop"

PSK: Final = {"wpa_key_mgmt": "wpa-psk", "pairwise": "ccmp"}
SAE: Final = {"wpa_key_mgmt": "sae", "pairwise": "ccmp", "ieee80211w": "required", "beacon_prot": True}
OWE: Final = {"wpa_key_mgmt": "owe", "pairwise": "ccmp", "ieee80211w": "required"}

Profiles = Mapping[str, dict[str, Any]]

PROFILES: Final[Profiles] = {
    "wpa-psk tkip": {"wpa_key_mgmt": "wpa-psk", "pairwise": "tkip"},
    "wpa-psk ccmp": PSK,
    "wpa-psk gcmp256": {"wpa_key_mgmt": "wpa-psk", "pairwise": "gcmp256"},
    "wpa-psk-sha256 ccmp": {
        "wpa_key_mgmt": "wpa-psk-sha256",
        "pairwise": "ccmp",
        "ieee80211w": "required",
    },
    "sae ccmp": SAE,
    "sae gcmp256": {"wpa_key_mgmt": "sae", "pairwise": "gcmp256", "ieee80211w": "required", "sae_pwe": 0},
    "owe ccmp": OWE,
}
"""Profiles under which both ends exchange packets and replace their keys."""

MORE_PROFILES: Final[Profiles] = {
    "wpa-psk ccmp256": {"wpa_key_mgmt": "wpa-psk", "pairwise": "ccmp256"},
    "wpa-psk gcmp": {"wpa_key_mgmt": "wpa-psk", "pairwise": "gcmp"},
}

REKEYS: Final = [
    {"at_ms": 3500, "order": "rekey_pairwise"},
    {"at_ms": 5000, "order": "rekey_group"},
]

ATTACKED: Final = {name: PROFILES[name] for name in ("wpa-psk tkip", "sae ccmp")}
MORE_ATTACKED: Final = {"wpa-psk ccmp": PSK}
ATTACKS: Final = ("replay_data", "forge_data", "replay_handshake")
ATTACKS_ON_MANAGEMENT: Final = ("forge_deauthentication", "forge_association")

ENDS: Final = ("ap", "sta")
"""The roles of this project's end."""

ECHOES: Final = 50


def attacks(profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Attacks while the ends exchange packets. Without protected management frames, anyone can end an association."""
    names = (*ATTACKS, *ATTACKS_ON_MANAGEMENT) if profile.get("ieee80211w") == "required" else ATTACKS
    return [{"at_ms": 4000 + 500 * at, "order": name} for at, name in enumerate(names)]


Scenarios = dict[str, dict[str, Any]]
"""The words of `interop.Scenario`, by the scenario's name, which begins with the role of this project's end."""


def exchanges(profiles: Profiles, attacked: Profiles) -> Scenarios:
    """The scenarios in which both ends exchange packets, across rekeys and under attack."""
    found: Scenarios = {}
    for ours in ENDS:
        for name, profile in profiles.items():
            found[f"{ours}: {name}"] = {"profile": profile, "schedule": REKEYS}
        for name, profile in attacked.items():
            found[f"{ours}: attacks on {name}"] = {"profile": profile, "attacks": attacks(profile)}
    return found


def scenarios() -> Scenarios:
    """All scenarios by name, without those of long tests."""
    found = exchanges(PROFILES, ATTACKED)
    for ours in ENDS:
        for name, profile in (("wpa-psk", PSK), ("sae", SAE)):
            found[f"{ours}: wrong {name} passphrase"] = {
                "profile": profile,
                "passphrase": "not the passphrase",
                "joins": False,
            }
        for name, profile in (("sae", SAE), ("owe", OWE)):
            found[f"{ours}: wrong {name} group"] = {"profile": profile, "groups": [20], "joins": False}
        second = {"profile": {**SAE, "sae_groups": [19, 20]}, "groups": [20]}
        found[f"{ours}: second sae group"] = second
    for name, profile in (("sae", SAE), ("owe", OWE)):
        found[f"sta: own second {name} group"] = {"profile": profile, "groups": [20, 19]}
    leaves = {"profile": SAE, "schedule": [{"at_ms": 8500, "order": "deauthenticate"}]}
    found["sta: leaves"] = leaves
    found["ap: leaves"] = leaves
    to_all = [{"at_ms": 8500, "order": "deauthenticate_all"}]
    found["ap: leaves all"] = {"profile": SAE, "schedule": to_all}
    found["sta: hostapd leaves all"] = {
        "profile": SAE,
        "commands": [[8500, "deauthenticate ff:ff:ff:ff:ff:ff"]],
    }
    return found


Outcomes = dict[str, dict[str, Any]]
"""The result of each scenario, by name."""


@pytest.fixture(scope="module")
def outcomes(kernel: recipe.Kernel, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    return perform(kernel, tmp_path_factory.mktemp("interop"), scenarios())


@pytest.fixture(scope="module")
def more(kernel: recipe.Kernel, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    return perform(kernel, tmp_path_factory.mktemp("more"), exchanges(MORE_PROFILES, MORE_ATTACKED))


def perform(kernel: recipe.Kernel, folder: Path, wanted: Scenarios) -> Outcomes:
    """Perform scenarios in one guest."""
    if (reason := Linux().missing() or lab_lacks("linux", {"iw": "iw"}, SYSTEM_PATH)) is not None:
        pytest.skip(reason)
    subprocess.run(["cargo", "build", "--quiet", "--package", "wlan-interop"], cwd=ROOT, check=True)
    file = folder / "scenarios.json"
    file.write_text(json.dumps([{"ours": name.split(":")[0], **words} for name, words in wanted.items()]))
    argv = f"{sys.executable} {Path(__file__).with_name('interop.py')} {PROGRAM} {file}"
    run_script(kernel, f"{argv} > /run/job/outcomes 2> /run/job/errors", folder)
    lines = (folder / "job" / "outcomes").read_text().splitlines()
    assert len(lines) == len(wanted), (folder / "job" / "errors").read_text()
    return dict(zip(wanted, map(json.loads, lines), strict=True))


def events(outcome: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The events of this project's end with this name."""
    return [event for event in outcome["events"] if event["event"] == name]


def counts(outcome: Mapping[str, Any]) -> dict[str, int]:
    """The frames of this project's end by their fate."""
    (event,) = events(outcome, "counts")
    found: dict[str, int] = event["counts"]
    return found


def told(outcome: Mapping[str, Any], words: str) -> int:
    """How often the other program printed these words."""
    return sum(words in line for line in outcome["told"])


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("ours", ENDS)
def test_both_ends_agree_and_exchange_packets_across_rekeys(
    outcomes: Outcomes, ours: str, profile: str
) -> None:
    assert_exchange(outcomes[f"{ours}: {profile}"], ours, PROFILES[profile])


@pytest.mark.long
@pytest.mark.parametrize("profile", MORE_PROFILES)
@pytest.mark.parametrize("ours", ENDS)
def test_both_ends_agree_on_more_suites(more: Outcomes, ours: str, profile: str) -> None:
    assert_exchange(more[f"{ours}: {profile}"], ours, MORE_PROFILES[profile])


def assert_exchange(outcome: Mapping[str, Any], ours: str, words: Mapping[str, Any]) -> None:
    """Both ends agreed on the profile, exchanged packets, and replaced their keys."""
    (associated,) = events(outcome, "associated")
    assert associated["wpa_key_mgmt"] == words["wpa_key_mgmt"]
    assert associated["mfp"] == ("ieee80211w" in words)
    assert associated["qos"]
    assert [event["cipher"] for event in events(outcome, "pairwise")] == [words["pairwise"]] * 2
    assert len({event["key_id"] for event in events(outcome, "group")}) == 2
    assert len(events(outcome, "integrity")) == (2 if "ieee80211w" in words else 0) * (
        2 if ours == "sta" and "beacon_prot" in words else 1
    )
    assert outcome["answered"] == ECHOES
    assert events(outcome, "failed") == []
    drops = {
        key: count for key, count in counts(outcome).items() if key in ("unopened", "replays", "unprotected")
    }
    assert set(drops.values()) == {0}, drops
    if ours == "ap":
        assert told(outcome, "Key negotiation completed") == 2
        assert told(outcome, "UNPROT-BEACON") == 0
    else:
        assert told(outcome, "pairwise key handshake completed") == 2
        assert counts(outcome)["group_received"] > 0


def test_a_station_verifies_the_beacons_of_hostapd(outcomes: Outcomes) -> None:
    found = counts(outcomes["sta: sae ccmp"])
    assert found["beacons_verified"] > 50
    assert found["beacons_rejected"] == 0


@pytest.mark.parametrize("profile", ATTACKED)
@pytest.mark.parametrize("ours", ENDS)
def test_replayed_and_forged_frames_change_nothing(outcomes: Outcomes, ours: str, profile: str) -> None:
    assert_attacks_failed(outcomes[f"{ours}: attacks on {profile}"], ATTACKED[profile])


@pytest.mark.long
@pytest.mark.parametrize("profile", MORE_ATTACKED)
@pytest.mark.parametrize("ours", ENDS)
def test_more_attacks_change_nothing(more: Outcomes, ours: str, profile: str) -> None:
    assert_attacks_failed(more[f"{ours}: attacks on {profile}"], MORE_ATTACKED[profile])


def assert_attacks_failed(outcome: Mapping[str, Any], profile: Mapping[str, Any]) -> None:
    """The ends lost no packet, and counted the replayed and forged frames."""
    assert outcome["answered"] == ECHOES
    assert len(events(outcome, "established")) == 1
    assert events(outcome, "failed") == []
    found = counts(outcome)
    assert found["replays"] == 8
    assert found["unopened"] >= 8
    assert found["discarded"] == 2, "two messages of the handshake came again"
    if profile.get("ieee80211w") == "required":
        assert found["unprotected"] == 2, "a Deauthentication and a Disassociation frame"
        assert outcome["replays"] == 8, "of the other end"


@pytest.mark.parametrize("key_management", ["wpa-psk", "sae"])
def test_a_wrong_passphrase_is_named(outcomes: Outcomes, key_management: str) -> None:
    name = f"wrong {key_management} passphrase"
    for ours in ENDS:
        (reason, *_) = events(outcomes[f"{ours}: {name}"], "failed")
        assert "the peer has another pass" in reason["why"]
        assert events(outcomes[f"{ours}: {name}"], "established") == []
    assert told(outcomes[f"ap: {name}"], "CTRL-EVENT-CONNECTED") == 0
    assert told(outcomes[f"sta: {name}"], "AP-STA-CONNECTED") == 0


def test_a_group_that_the_other_end_lacks_is_refused(outcomes: Outcomes) -> None:
    (reason,) = events(outcomes["sta: wrong sae group"], "failed")
    assert reason["why"] == "the peer supports none of the offered groups"
    (reason,) = events(outcomes["sta: wrong owe group"], "failed")
    assert reason["why"] == "association refused with status code 77"
    (reason, *_) = events(outcomes["ap: wrong owe group"], "refused")
    assert reason["status"] == 77
    assert events(outcomes["ap: wrong sae group"], "associated") == []


@pytest.mark.parametrize(
    "name",
    [
        "ap: second sae group",
        "sta: second sae group",
        "sta: own second sae group",
        "sta: own second owe group",
    ],
)
def test_the_ends_agree_on_a_second_group(outcomes: Outcomes, name: str) -> None:
    assert outcomes[name]["answered"] == ECHOES


def test_protected_deauthentication_ends_an_association(outcomes: Outcomes) -> None:
    remote = "CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:00:01 reason=3"
    for name in ("ap: leaves", "ap: leaves all"):
        lines = [line for line in outcomes[name]["told"] if remote in line]
        assert "locally_generated" not in lines[0], name
    assert told(outcomes["sta: leaves"], "AP-STA-DISCONNECTED") == 1
    (reason,) = events(outcomes["sta: hostapd leaves all"], "failed")
    assert "the access point ended the association" in reason["why"]
