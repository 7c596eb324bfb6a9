"""Security profiles are levels of the factor security, in hostapd's words."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from airtoll.errors import UsageError
from airtoll.study import LinkSettings, Plan, SecurityProfile, expand, find_study, load_study, read_scenario
from airtoll.study.cell import resolved
from airtoll.study.security import READY_MADE, in_order, with_ready_made

STUDY = """
title = "Profiles"
lab = "sim"
[factors]
security = ["new", "open", "old-2"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = ["1408 B"]
phy = ["vht"]
rate = ["mcs7"]
[method]
repeats = 2
duration = "1 s"
[security.old-2]
wpa_key_mgmt = "wpa-psk"
[security.new]
title = "New"
wpa_key_mgmt = ["sae"]
pairwise = "gcmp256"
"""


def study_file(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text)
    return path


def with_profile(keys: str, link: str = "", level: str = "ccmp") -> str:
    """The study with only one profile, `mine`, of these keys."""
    head = STUDY.partition("[security.old-2]")[0].replace('"old-2"', '"mine"').replace('"new"', f'"{level}"')
    return f"{head}[security.mine]\n{keys}\n[link]\n{link}\n"


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load_study(path)
    line = str(caught.value).split("\n")[0]
    assert line.isprintable()
    assert line.startswith(f"{path}: ")
    return line.removeprefix(f"{path}: ")


def test_profiles_of_a_study_are_levels_and_part_of_its_plan(tmp_path: Path) -> None:
    plan = expand(load_study(study_file(tmp_path, STUDY)))
    assert list(plan.profiles) == ["old-2", "new"]
    assert plan.profiles["new"].akms == ("sae",)
    assert {run.cell.security for run in plan.runs} == {"open", "old-2", "new"}
    assert {run.id[5:] for run in plan.runs} == {f"udp-ipv4-1408-{name}" for name in ("open", "old-2", "new")}
    stored = Plan.model_validate_json(plan.model_dump_json())
    assert stored == plan
    assert list(stored.profiles) == ["old-2", "new"]


def test_a_plan_needs_the_profiles_of_its_levels(tmp_path: Path) -> None:
    plan = expand(load_study(study_file(tmp_path, STUDY))).model_dump()
    del plan["profiles"]["new"]
    with pytest.raises(ValueError, match=r"'new' is not allowed; .* old-2, or declare it in a table"):
        Plan.model_validate(plan)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("wpa_key_mgmt = 'SAE'", "security.mine.wpa_key_mgmt: 'SAE' is not allowed; use wpa-psk"),
        ("wpa_key_mgmt = []", "security.mine.wpa_key_mgmt: the list is empty"),
        ("wpa_key_mgmt = ['sae', 'sae']", "security.mine.wpa_key_mgmt: 'sae' is a duplicate"),
        ("wpa_key_mgmt = ['sae', 'owe']", "security.mine.wpa_key_mgmt: sae and owe cannot be combined"),
        ("wpa_key_mgmt = ['sae', 'wpa-eap']", "security.mine.wpa_key_mgmt: sae and wpa-eap cannot be"),
        ("pairwise = 'rot13'", "security.mine.pairwise: 'rot13' is not allowed; use wep40"),
        ("pairwise = ['wep40', 'ccmp']", "security.mine.pairwise: wep40 must be the only cipher"),
        ("pairwise = 'wep40'\nwpa = 2", "security.mine.wpa: does not apply to wep40"),
        ("pairwise = 'tkip'\nieee80211w = 'optional'", "security.mine.ieee80211w: does not apply to tkip"),
        ("group = 'gcmp256'\npairwise = 'ccmp'", "security.mine.group: gcmp256 is stronger than"),
        ("wpa = 4\npairwise = 'ccmp'", "security.mine.wpa: "),
        ("wpa = 1\nwpa_key_mgmt = 'sae'", "security.mine.wpa: 1 supports only"),
        ("sae_pwe = 1\npairwise = 'ccmp'", "security.mine.sae_pwe: requires wpa_key_mgmt sae"),
        (
            "sae_pwe = 0\nwpa_key_mgmt = 'sae-ext-key'",
            "security.mine.sae_pwe: 0 is not allowed with sae-ext-key",
        ),
        ("sae_groups = [18]\nwpa_key_mgmt = 'sae'", "security.mine.sae_groups: "),
        ("owe_group = 22\nwpa_key_mgmt = 'owe'", "security.mine.owe_group: "),
        ("eap = 'tls'\nwpa_key_mgmt = 'sae'", "security.mine.eap: requires wpa_key_mgmt wpa-eap"),
        ("eap = 'md5'\nwpa_key_mgmt = 'wpa-eap'", "security.mine.eap: 'md5' is not allowed"),
        ("title = 'Mine'", "security.mine: protects nothing: set wpa_key_mgmt or pairwise"),
        (
            "wpa_key_mgmt = 'sae'\nieee80211w = 'optional'",
            "security.mine: wpa_key_mgmt sae requires ieee80211w",
        ),
        (
            "wpa_key_mgmt = ['wpa-psk', 'sae']\nieee80211w = 'disabled'",
            "security.mine.ieee80211w: disabled is not",
        ),
        ("beacon_prot = true\npairwise = 'ccmp'", "security.mine: beacon_prot requires ieee80211w optional"),
        (
            "wpa_passphrase = 'x'",
            "security.mine.wpa_passphrase: unknown key; known keys: title, wpa_key_mgmt",
        ),
    ],
)
def test_a_table_that_no_network_can_have_is_refused(tmp_path: Path, keys: str, says: str) -> None:
    assert refusal(study_file(tmp_path, with_profile(keys))).startswith(says)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"new"', '"gone"', "factors.security[0]: 'gone' is not allowed; use open, "),
        ("[security.new]", "[security.sae]", "factors.security[0]: 'new' is not allowed"),
        ('"new", "open"', '"open", "sae"', "security.new: no level of factors.security has this name"),
        ("[security.new]", "[security.New]", "security.New: 'New' is not a name"),
        (
            'rate = ["mcs7"]',
            'rate = ["mcs7"]\n[security.sae]\npairwise = "ccmp"',
            "security.sae: is a ready-made",
        ),
        ('"new"', '"owen"', "factors.security[0]: 'owen' is not allowed; use open, "),
        ('"new"', '"wpa2"', "factors.security[0]: 'wpa2' is not allowed; use open, "),
    ],
)
def test_levels_and_tables_have_the_same_names(tmp_path: Path, old: str, new: str, says: str) -> None:
    said = refusal(study_file(tmp_path, STUDY.replace(old, new)))
    assert said.startswith(says)
    if "owen" in new:
        assert "did you mean 'owe'?" in said
    if "wpa2" in new:
        assert "; 'wpa2' is 'ccmp' here" in said


def test_a_name_that_would_make_too_long_run_names_is_refused(tmp_path: Path) -> None:
    name = "n" * 41
    text = STUDY.replace('"new"', f'"{name}"').replace("[security.new]", f"[security.{name}]")
    assert refusal(study_file(tmp_path, text)) == f"security.{name}: is longer than 40 characters"


def test_the_medium_checks_the_cipher_of_a_profile(tmp_path: Path) -> None:
    said = refusal(study_file(tmp_path, with_profile("pairwise = 'tkip'")))
    assert said.startswith("factors.security[2]: security tkip with phy vht is impossible: ")
    assert "security tkip requires phy dsss, ofdm or erp" in said


def test_the_link_supplies_the_keys_that_a_profile_does_not_set() -> None:
    link = LinkSettings(wpa_key_mgmt="wpa-psk-sha256", ieee80211w="optional")
    of_link = SecurityProfile(pairwise="ccmp").on(link)
    assert (of_link.akms, of_link.ieee80211w) == (("wpa-psk-sha256",), "optional")
    own = SecurityProfile(wpa_key_mgmt="sae", ieee80211w="required").on(link)
    assert (own.akms, own.ieee80211w, own.sae_pwe, own.sae_groups) == (("sae",), "required", 1, (19,))
    assert READY_MADE["open"].on(link).akms == ()
    assert READY_MADE["wpa3-transition"].on(LinkSettings()).words() == (
        "wpa_key_mgmt wpa-psk and sae, pairwise ccmp, wpa 2, group ccmp, ieee80211w optional, beacon_prot false, "
        "sae_pwe 1, sae_groups 19"
    )


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ({"pairwise": "tkip"}, {"wpa": 1, "group": "tkip", "ieee80211w": "disabled"}),
        ({"pairwise": ("tkip", "ccmp")}, {"wpa": 3, "group": "tkip", "cipher": "ccmp"}),
        ({"wpa_key_mgmt": "sae"}, {"wpa": 2, "ieee80211w": "required", "cipher": "ccmp"}),
        ({"wpa_key_mgmt": ("wpa-psk", "sae")}, {"ieee80211w": "optional"}),
        ({"wpa_key_mgmt": "owe"}, {"owe_group": 19, "ieee80211w": "required"}),
        (
            {"wpa_key_mgmt": "wpa-eap-suite-b-192"},
            {"cipher": "gcmp256", "eap": "tls", "ieee80211w": "required"},
        ),
    ],
)
def test_missing_keys_follow_from_the_others(profile: dict[str, Any], expected: dict[str, Any]) -> None:
    found = SecurityProfile.model_validate(profile).on(LinkSettings())
    assert {key: getattr(found, key) for key in expected} == expected


def test_levels_are_in_the_order_of_the_ready_made_profiles_and_the_tables() -> None:
    assert in_order(["b", "ccmp", "a", "open", "b"], ["b", "c", "a"]) == ("open", "ccmp", "b", "a")
    assert tuple(with_ready_made(None)) == tuple(READY_MADE)


def test_a_cell_is_resolved_to_its_cipher_and_link(tmp_path: Path) -> None:
    plan = expand(load_study(study_file(tmp_path, STUDY)))
    profiles = with_ready_made(plan.profiles)
    cells = {run.cell.security: run.cell for run in plan.runs}
    cell, link = resolved(cells["new"], LinkSettings(beacon_prot=True), {}, profiles)
    assert (cell.security, link.wpa_key_mgmt, link.beacon_prot) == ("gcmp256", "sae", True)
    assert resolved(cells["open"], plan.link, {}, profiles) == (cells["open"], plan.link)
    with pytest.raises(UsageError, match=r"^security: 'new' is not allowed; use open, "):
        resolved(cells["new"], plan.link, {}, READY_MADE)


def test_scenarios_have_the_ready_made_profiles() -> None:
    words = read_scenario({"security": "wpa3-transition"}).wire()
    assert (words["security"], list(words["wpa_key_mgmt"]), words["ieee80211w"]) == (
        "ccmp",
        ["wpa-psk", "sae"],
        "optional",
    )


def test_plans_of_studies_are_unchanged() -> None:
    """A digest changes only with the levels, the repeats or the seed of its study."""
    for name, expected in DIGESTS.items():
        runs = [
            [run.id, run.block, run.seed, run.discard, sorted(run.cell.model_dump().items())]
            for run in expand(load_study(find_study(name))).runs
        ]
        digest = hashlib.sha256(json.dumps(runs).encode()).hexdigest()[:16]
        assert digest == expected, name


DIGESTS = {
    "hayajneh-enhanced": "b5e5ea1351392436",
    "kolahi-11ac": "99d1b861bc512242",
    "kolahi-11n-udp": "c6ae04bc8324edc1",
    "pacheco-11ag": "ccfcecda2bc9e1b5",
    "quickstart": "5bd2f8f56904e07a",
    "tepsic-11n": "192b3ac950acf93c",
}
