"""A study file is checked completely; every fault is one line that names the file and the key."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airtoll.errors import UsageError
from airtoll.study import find_study, load_study, shipped_studies

GOOD = """
title = "A study"
lab = "air"
[factors]
security = ["open", "ccmp"]
transport = ["udp"]
ip = ["ipv4"]
packet_size = ["128 B", "1408 B"]
phy = ["ofdm"]
rate = ["54 Mbit/s"]
[method]
repeats = 3
duration = "1 s"
[quick]
repeats = 1
[quick.factors]
packet_size = ["1408 B"]
"""


def written(folder: Path, text: str | bytes, name: str = "study.toml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusals(path: Path | str) -> list[str]:
    """The error lines for a study file, without the file's name in front."""
    with pytest.raises(UsageError) as caught:
        load_study(path)
    assert caught.value.exit_code == 2
    lines = str(caught.value).split("\n")
    for line in lines:
        assert line.isprintable(), line
        if str(path).isprintable():
            assert line.startswith((f"{path}: ", "and "))
    return [line.removeprefix(f"{path}: ") for line in lines]


def refusal(path: Path | str) -> str:
    """The first error line for a study file, without the file's name in front."""
    return refusals(path)[0]


def outcome(path: Path) -> str:
    """The complete error line, or nothing if the study is valid."""
    try:
        load_study(path)
    except UsageError as error:
        return str(error)
    return ""


def changed(*edits: tuple[str, str]) -> str:
    text = GOOD
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_defaults_are_20_mhz_long_gi_point_to_point_and_nothing_discarded(tmp_path: Path) -> None:
    study = load_study(written(tmp_path, GOOD))
    assert study.name == "study"
    assert study.factors.bandwidth == (20,)
    assert study.factors.gi == ("long",)
    assert study.factors.topology == ("point-to-point",)
    assert (study.method.discard_first, study.method.warmup, study.method.seed) == (0, 0.2, 1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [('"1.5 s"', 1.5), ('"500 ms"', 0.5), ('"500ms"', 0.5), ('"2 min"', 120.0), ("3", 3.0)],
)
def test_a_string_has_a_unit_and_a_number_is_in_seconds(tmp_path: Path, text: str, seconds: float) -> None:
    study = load_study(written(tmp_path, changed(('"1 s"', text))))
    assert study.method.duration == seconds


def test_bare_numbers_are_bytes_mbit_s_and_mhz(tmp_path: Path) -> None:
    text = changed(
        ('["128 B", "1408 B"]', '[1408, 128.0, "64 B"]'),
        ('["54 Mbit/s"]', '[54, "6Mbit/s"]\nbandwidth = [20]'),
    )
    factors = load_study(written(tmp_path, text)).factors
    assert factors.packet_size == (1408, 128, 64)
    assert factors.rate == ("54 Mbit/s", "6 Mbit/s")
    assert factors.bandwidth == (20,)


def test_every_rate_of_both_phys_is_known(tmp_path: Path) -> None:
    ofdm = changed(('"54 Mbit/s"', "6, 9, 12, 18, 24, 36, 48, 54"))
    assert len(load_study(written(tmp_path, ofdm)).factors.rate) == 8
    names = ", ".join(f'"mcs{index}"' for index in range(32))
    ht = changed(
        ('"ofdm"', '"ht"'), ('["54 Mbit/s"]', f'[{names}]\nbandwidth = [20, 40]\ngi = ["long", "short"]')
    )
    assert len(load_study(written(tmp_path, ht)).factors.rate) == 32


def test_one_security_level_is_enough(tmp_path: Path) -> None:
    assert load_study(written(tmp_path, changed(('"open", "ccmp"', '"ccmp"')))).factors.security == ("ccmp",)


@pytest.mark.parametrize(
    ("edit", "key", "says"),
    [
        # keys
        (("repeats = 3", "repeets = 3"), "method.repeets", "did you mean 'repeats'?"),
        (('lab = "air"', "duration = 1"), "duration", "it belongs in [method] or [quick]"),
        (('lab = "air"', '"a\\nb" = 1'), '"a\\nb"', "unknown key"),
        (('lab = "air"', '"" = 1'), '""', "unknown key"),
        (("[quick]", "[quick]\nseed = 2"), "quick.seed", "unknown key"),
        (('ip = ["ipv4"]', ""), "factors.ip", "missing key: Internet Protocol versions: ipv4 or ipv6"),
        (('title = "A study"', ""), "title", "missing key"),
        # tables and lists
        (
            ('[factors]\nsecurity = ["open", "ccmp"]', '[factors]\nsecurity = "open"'),
            "factors.security",
            "not a list",
        ),
        (('["open", "ccmp"]', "[]"), "factors.security", "at least one level"),
        (('["open", "ccmp"]', '["open", "ccmp", "open"]'), "factors.security[2]", "'open' is a duplicate"),
        (('["128 B", "1408 B"]', '["128 B", 128]'), "factors.packet_size[1]", "is a duplicate"),
        (('"open", "ccmp"', '["open"], "ccmp"'), "factors.security[0]", "a list is not allowed"),
        (
            ("[quick]\nrepeats = 1\n[quick.factors]", "[[quick]]\n[quick.x]"),
            "quick",
            "is not a table: expected [quick]",
        ),
        # names
        (('"ccmp"', '"cmp"'), "factors.security[1]", "use open, wep40,"),
        (('"ccmp"', '"CCMP"'), "factors.security[1]", "did you mean 'ccmp'?"),
        (
            ('"ccmp"', '"paper-lanes"'),
            "factors.security[1]",
            "'paper-lanes' is forgeable and only for study (docs/explanation/enhanced-ccmp.md); use enhanced8",
        ),
        (('"udp"', '"sctp"'), "factors.transport[0]", "use tcp or udp"),
        (('"ofdm"', '"he"'), "factors.phy[0]", "use dsss, ofdm, erp, ht or vht"),
        (('"air"', '"Air lab"'), "lab", "names consist of a-z, 0-9 and -"),
        (('"A study"', '"  "'), "title", "one line of text"),
        (('"A study"', "1979-05-27"), "title", "1979-05-27 is not a string"),
        # whole numbers
        (("repeats = 3", 'repeats = "3"'), "method.repeats", "a whole number from 1 to 1000"),
        (("repeats = 3", "repeats = true"), "method.repeats", "true is not allowed"),
        (("repeats = 3", "repeats = 0"), "method.repeats", "from 1 to 1000"),
        (("repeats = 3", "repeats = 2.5"), "method.repeats", "whole number"),
        (("repeats = 3", "repeats = 3\nseed = -1"), "method.seed", "from 0 to 9007199254740991"),
        (("repeats = 3", f"repeats = 0x{'f' * 9000}"), "method.repeats", "more than 64 bits"),
        # quantities
        (('"1 s"', '"2 m"'), "method.duration", "'2 m' has the wrong unit; give a string in s, ms or min"),
        (('"1 s"', '"2"'), "method.duration", "has no unit"),
        (('"1 s"', '"soon"'), "method.duration", "not a duration"),
        (('"1 s"', f'"{"9" * 5000} s"'), "method.duration", "not a duration"),
        (('"1 s"', "inf"), "method.duration", "not a duration"),
        (('"1 s"', "nan"), "method.duration", "not a duration"),
        (('"1 s"', "false"), "method.duration", "not a duration"),
        (('"1 s"', "0"), "method.duration", "outside 0.1 s to 3600 s"),
        (('"1 s"', '"-1 s"'), "method.duration", "outside 0.1 s to 3600 s"),
        (('"1 s"', '"1 s"\nwarmup = "-1 ms"'), "method.warmup", "outside 0 s to 600 s"),
        (
            ('"128 B"', '"128 kB"'),
            "factors.packet_size[0]",
            "'128 kB' has the wrong unit; give a string in B",
        ),
        (('"128 B"', "15"), "factors.packet_size[0]", "sockperf's header has 14 B and iperf3's 16 B"),
        (('"128 B"', "1473"), "factors.packet_size[0]", "1472 B at an MTU of 1500 B"),
        (('"128 B"', "128.5"), "factors.packet_size[0]", "not a whole number of B"),
        (
            ('"54 Mbit/s"', '"55 Mbit/s"'),
            "factors.rate[0]",
            "use 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48 or 54 Mbit/s",
        ),
        (('"54 Mbit/s"', '"54 Mbps"'), "factors.rate[0]", "wrong unit"),
        (('"54 Mbit/s"', '"mcs32"'), "factors.rate[0]", "for phy ht mcs0 to mcs31, for vht mcs0 to mcs9"),
        (
            ('["54 Mbit/s"]', '["54 Mbit/s"]\nbandwidth = ["60 MHz"]'),
            "factors.bandwidth[0]",
            "use 20, 40, 80 or 160 MHz",
        ),
        # combinations
        (
            ('"ofdm"', '"ht"'),
            "factors.rate[0]",
            "with phy ht: '54 Mbit/s' is not one of mcs0 to mcs31; rate 54 Mbit/s requires phy ofdm or erp",
        ),
        (
            ('"54 Mbit/s"', '"mcs7"'),
            "factors.rate[0]",
            "'mcs7' is not one of 6, 9, 12,",
        ),
        (
            ('["54 Mbit/s"]', '["54 Mbit/s"]\nbandwidth = [20, 40]'),
            "factors.bandwidth[1]",
            "40 MHz with phy ofdm",
        ),
        (('["54 Mbit/s"]', '["54 Mbit/s"]\ngi = ["short"]'), "factors.gi[0]", "short with phy ofdm"),
        (
            ('packet_size = ["1408 B"]', 'packet_size = ["64 B"]'),
            "quick.factors.packet_size[0]",
            "keep some of 128 B",
        ),
    ],
)
def test_an_error_names_the_key_and_the_allowed_values(
    tmp_path: Path, edit: tuple[str, str], key: str, says: str
) -> None:
    line = refusal(written(tmp_path, changed(edit)))
    assert line.startswith(f"{key}: "), line
    assert says in line


@pytest.mark.parametrize(
    ("security", "clause"), [("tkip", "12.6.3"), ("wep40", "9.4.2.24.2"), ("wep104", "9.4.2.24.2")]
)
def test_security_that_ht_forbids_is_refused_with_the_clause_and_a_remedy(
    tmp_path: Path, security: str, clause: str
) -> None:
    ofdm = changed(('"ccmp"', f'"{security}"'))
    assert load_study(written(tmp_path, ofdm)).factors.security[1] == security
    line = refusal(written(tmp_path, ofdm.replace("ofdm", "ht").replace("54 Mbit/s", "mcs7")))
    assert line.startswith(f"factors.security[1]: security {security} with phy ht is impossible: ")
    assert f"IEEE Std 802.11-2020, {clause}" in line
    assert "use open, ccmp, ccmp256, gcmp, gcmp256, enhanced1," in line
    assert f"security {security} requires phy dsss, ofdm or erp" in line
    assert "legacy_fallback lets stations fall back to legacy rates" in line


def test_ofdm_and_ht_in_one_study_are_an_impossible_combination_of_rates(tmp_path: Path) -> None:
    line = refusal(
        written(tmp_path, changed(('"ofdm"', '"ofdm", "ht"'), ('"54 Mbit/s"', '"54 Mbit/s", "mcs7"')))
    )
    assert line.startswith("factors.rate[0]: with phy ht: '54 Mbit/s' is not one of mcs0 to mcs31; ")
    assert "measure ht and ofdm in two studies" in line


@pytest.mark.parametrize(
    ("phy", "rate", "more", "key", "says"),
    [
        (
            "dsss",
            '"11 Mbit/s"',
            "bandwidth = [40]",
            "factors.bandwidth[0]",
            "40 MHz with phy dsss is impossible",
        ),
        (
            "erp",
            "54",
            'gi = ["short"]',
            "factors.gi[0]",
            "short with phy erp is impossible: 802.11g has only gi long",
        ),
        (
            "ht",
            '"mcs7"',
            "bandwidth = [20, 80]",
            "factors.bandwidth[1]",
            "80 MHz with phy ht is impossible: 802.11n has only 20 or 40 MHz",
        ),
        (
            "ht",
            '"mcs7"',
            "streams = [5]",
            "factors.streams[0]",
            "5 with phy ht is impossible: 802.11n has only 1 to 4 spatial streams",
        ),
        (
            "ofdm",
            "54",
            "streams = [2]",
            "factors.streams[0]",
            "802.11a has only 1 spatial stream (IEEE Std 802.11-2020, clause 17)",
        ),
        (
            "vht",
            '"mcs10"',
            "",
            "factors.rate[0]",
            "with phy vht: 802.11ac has no MCS 10 (21.5); allowed: 0 to 9",
        ),
        (
            "dsss",
            "54",
            "",
            "factors.rate[0]",
            "with phy dsss: '54 Mbit/s' is not one of 1, 2, 5.5, 11 Mbit/s",
        ),
        ("ofdm", "54", "stations = [1, 5]", "factors.stations[1]", "use topology stations"),
        ("ofdm", "54", "stations = [0]", "factors.stations[0]", "9.4.1.8"),
        ("vht", '"mcs7"', "streams = [9]", "factors.streams[0]", "from 1 to 8"),
        (
            "ofdm",
            "54",
            'snr = ["loud"]',
            "factors.snr[0]",
            "such as '25 dB', or a plain number (in dB), or 'none'",
        ),
        ("ofdm", "54", "[link]\nqueue = 'red'", "link.queue", "use fifo or fq_codel"),
        ("ofdm", "54", "[link]\nqueue_limit = 0", "link.queue_limit", "from 1 to"),
        ("ofdm", "54", "[link]\nampdu = 1", "link.ampdu", "use true or false"),
        ("ofdm", "54", "[link]\nwired_delay = '1 h'", "link.wired_delay", "give a string in us or ms"),
        ("ofdm", "54", "[link]\nsecurity = 'open'", "link.security", "it belongs in [factors]"),
    ],
)
def test_levels_and_settings_of_every_phy(
    tmp_path: Path, phy: str, rate: str, more: str, key: str, says: str
) -> None:
    text = changed(('"ofdm"', f'"{phy}"'), ('["54 Mbit/s"]', f"[{rate}]\n{more}"))
    line = refusal(written(tmp_path, text))
    assert line.startswith(f"{key}: "), line
    assert says in line


def test_every_new_level_is_taken(tmp_path: Path) -> None:
    more = """bandwidth = [160]
streams = [8]
stations = [50]
topology = ["stations", "wired-ap", "through-ap"]
direction = ["down", "both"]
snr = ["none", 25, "-3.5 dB"]
crypto_at = ["host", "card"]
[link]
beacon_interval = "100 TU"
txop_limit = "1504 us"
"""
    security = '"open", "ccmp256", "gcmp", "enhanced1", "enhanced2", "enhanced4", "enhanced8"'
    text = changed(
        ('"open", "ccmp"', security), ('"ofdm"', '"vht"'), ('["54 Mbit/s"]', f'["mcs0", "mcs9"]\n{more}')
    )
    study = load_study(written(tmp_path, text))
    assert study.factors.snr == ("none", 25.0, -3.5)
    assert study.link.given() == {"beacon_interval": 100, "txop_limit": 1504.0}
    dsss = changed(('"ofdm"', '"dsss"'), ('"54 Mbit/s"', '1, "2 Mbit/s", 5.5, "5.50 Mbit/s", 11'))
    assert refusal(written(tmp_path, dsss)).startswith("factors.rate[3]: '5.5 Mbit/s' is a duplicate")
    dsss = dsss.replace(' "5.50 Mbit/s",', "")
    assert load_study(written(tmp_path, dsss)).factors.rate == (
        "1 Mbit/s",
        "2 Mbit/s",
        "5.5 Mbit/s",
        "11 Mbit/s",
    )


@pytest.mark.parametrize(
    ("transport", "ip", "size", "fits"),
    [
        ("udp", "ipv4", 1472, True),
        ("udp", "ipv6", 1452, True),
        ("udp", "ipv6", 1453, False),
        ("tcp", "ipv6", 1472, True),
        ("udp", "ipv4", 16, True),
    ],
)
def test_a_datagram_must_fit_an_mtu_of_1500_bytes(
    tmp_path: Path, transport: str, ip: str, size: int, fits: bool
) -> None:
    text = changed(('"udp"', f'"{transport}"'), ('"ipv4"', f'"{ip}"'), ('"128 B"', f'"{size} B"'))
    path = written(tmp_path, text)
    if fits:
        assert load_study(path).factors.packet_size[0] == size
    else:
        line = refusal(path)
        assert line.startswith("factors.packet_size[0]: 1453 B with udp and ipv6")
        assert "at most 1452 B" in line


def test_a_study_of_more_than_9999_runs_is_refused_before_it_is_expanded(tmp_path: Path) -> None:
    most = changed(("repeats = 3", "repeats = 1000\ndiscard_first = 1000"))
    assert load_study(written(tmp_path, most)).method.repeats == 1000
    text = most.replace('"ipv4"', '"ipv4", "ipv6"')
    assert "16000 runs" in refusal(written(tmp_path, text))


def test_each_of_several_errors_is_a_line(tmp_path: Path) -> None:
    lines = refusals(
        written(tmp_path, changed(('"open"', '"opn!"'), ('"1 s"', '"2 m"'), ("repeats = 3", "repeats = 0")))
    )
    where = {line.split(": ")[0] for line in lines}
    assert where == {"factors.security[0]", "method.duration", "method.repeats"}


def test_ten_errors_are_shown_and_the_others_are_counted(tmp_path: Path) -> None:
    levels = ", ".join(f'"l{number}"' for number in range(12))
    lines = refusals(written(tmp_path, changed(('"open"', levels))))
    assert len(lines) == 11
    assert lines[-1] == "and 2 more errors"


def test_long_lists_and_many_errors_are_one_line(tmp_path: Path) -> None:
    """Pydantic keeps some 500 octets per error, which a list of integers has per two octets."""
    levels = ", ".join(["1"] * 10_000)
    lines = refusals(written(tmp_path, changed(('"open", "ccmp"', levels))))
    assert lines == ["factors.security: 10000 entries are too many; a study may have at most 9999 runs"]
    lines = refusals(written(tmp_path, GOOD + f"[link]\nwhere = [{levels}]"))
    assert lines == ["link.where: 10000 entries are too many; a study may have at most 9999 runs"]
    keys = "".join(f"key{number} = 1\n" for number in range(2000))
    assert refusals(written(tmp_path, GOOD + f"[link]\n{keys}")) == ["2000 values are invalid"]


def test_a_misspelt_key_is_reported_before_the_missing_key(tmp_path: Path) -> None:
    line, missing = refusals(written(tmp_path, changed(("duration =", "durations ="))))
    assert line.startswith("method.durations: unknown key; ")
    assert line.endswith("did you mean 'duration'?")
    assert missing.startswith("method.duration: missing key: ")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('title = "x"\nlab = = 3\n', "line 2, column 7: not TOML: "),
        ('title = "x"\nlab =', "line 2, column 6: not TOML: "),
        ("title = '''\nx", "line 2, column 2: not TOML: "),
        ('title = "x"\ntitle = "y"\n', "line 2, column 12: not TOML: "),
        (b'title = "x"\nlab = "\xff"\n', "line 2: is not UTF-8"),
        ("a = " + "9" * 5000, "not TOML: a number has too many digits"),
        (
            GOOD.replace('"1 s"', "0x" + "f" * 5000),
            "method.duration: a number of more than 64 bits is not a duration",
        ),
        ("\n" + ".".join(["a"] * 100_000) + " = 1", "line 2: a key has more than 100 parts"),
        ("[" + " . ".join(['"a\\""', "'\"'"] * 60) + "]", "line 1: a key has more than 100 parts"),
        ("a = " + "{a.a.a.a = " * 30 + "1" + "}" * 30, "is nested too deeply for a study file"),
        ("#" * (1 << 20) + "\n", "is longer than 1 MiB; expected a study file"),
        ("", "title: missing key"),
    ],
)
def test_invalid_toml_is_reported_with_its_line(tmp_path: Path, content: str | bytes, says: str) -> None:
    assert refusal(written(tmp_path, content)).startswith(says)


def test_endless_nesting_is_one_line(tmp_path: Path) -> None:
    assert "nested too deeply" in refusal(written(tmp_path, "a = " + "[" * 20000))


def test_a_byte_order_mark_and_crlf_are_accepted(tmp_path: Path) -> None:
    assert (
        load_study(written(tmp_path, b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())).title
        == "A study"
    )


def test_unreadable_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.toml") == "cannot be read: No such file or directory"
    assert refusal(tmp_path) == "is a directory; expected a study file"
    assert refusal(tmp_path / ("n" * 300)) == "cannot be read: File name too long"
    assert refusal("/dev/zero") == "is not a regular file; expected a study file"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert refusal(fifo) == "is not a regular file; expected a study file"
    assert "is not a valid file name" in refusal("a\0b")
    assert "No such file" in refusal(tmp_path / "two\nlines.toml")


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_file_is_a_study_or_one_line(tmp_path: Path, data: st.DataObject) -> None:
    content = GOOD.encode()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 12)))
    middle = data.draw(st.binary(max_size=12) | st.text('[]{}"=.,\n19ae_', max_size=12).map(str.encode))
    path = written(tmp_path, content[:start] + middle + content[end:])
    line = outcome(path)
    assert line == "" or line.startswith(f"{path}: ")
    assert line == "" or line.replace("\n", "").isprintable()


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.sampled_from(
        ["factors.security", "factors.packet_size", "factors.rate", "method.duration", "lab"]
    ),
    junk=JUNK,
)
def test_a_value_of_any_type_is_taken_or_named(tmp_path: Path, key: str, junk: object) -> None:
    def toml(value: object) -> str:
        if isinstance(value, list):
            return f"[{', '.join(toml(item) for item in value)}]"
        if isinstance(value, str):
            return '"' + "".join(f"\\U{ord(c):08x}" for c in value if not "\ud800" <= c <= "\udfff") + '"'
        return {"None": "1979-05-27"}.get(str(value), str(value).lower())

    name = key.rpartition(".")[2]
    lines = GOOD.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith(f"{name} = "))
    lines[at] = f"{name} = {toml(junk)}"
    path = written(tmp_path, "\n".join(lines))
    line = outcome(path)
    # Levels that are valid alone may still contradict the levels of [quick].
    assert line == "" or line.startswith((f"{path}: {key}", f"{path}: quick.{key}"))
    assert line == "" or line.replace("\n", "").isprintable()


def test_a_bare_name_is_a_shipped_study() -> None:
    assert find_study("quickstart") in shipped_studies()
    assert load_study(find_study("quickstart")).name == "quickstart"


def test_a_path_is_used_unchanged_and_a_similar_name_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, GOOD)
    assert find_study(path) == path
    assert find_study("no/such.toml") == Path("no/such.toml")  # load_study reports that it is missing
    monkeypatch.chdir(tmp_path)
    written(tmp_path, GOOD, "mine")
    written(tmp_path, GOOD, "quickstart")
    assert find_study("mine") == Path("mine")
    assert find_study("quickstart") in shipped_studies()
    with pytest.raises(
        UsageError, match=r"^'quikstart' is neither a study nor a file; .*; did you mean 'quickstart'\?$"
    ):
        find_study("quikstart")
    for nothing in ("", "a\0b", "n" * 5000):
        with pytest.raises(UsageError, match="neither a study nor a file"):
            find_study(nothing)


@pytest.mark.parametrize(
    ("table", "line", "says"),
    [
        (
            "factors",
            'stack = ["default", "windows"]',
            "factors.stack[1]: 'windows' has no table [stack.windows]",
        ),
        (
            "factors",
            'tcp_size = ["segment"]',
            "factors.tcp_size[0]: 'segment' is not allowed; use write or mss",
        ),
        ("factors", 'offered = ["much"]', "factors.offered[0]: 'much' is not a data rate"),
        ("method", 'probes = ["ftp"]', "method.probes[0]: ftp requires transport tcp"),
        ("method", 'probes = ["sockperf"]', "factors.transport[0]: no probe of the study measures udp"),
        ("method", 'probes = ["video"]', "factors.offered: probe video requires a data rate"),
        (
            "method",
            'probes = ["throughput", "video"]',
            "method.probes: video and throughput both measure throughput over udp",
        ),
        ("factors", 'direction = ["sideways"]', "factors.direction[0]: 'sideways' is not allowed"),
        ("method", 'udp_load = "tcp"', "method.udp_load: tcp requires both transports"),
        ("method", 'stop = "agreement"\nleast_repeats = 4', "method.least_repeats: 4 is not allowed"),
        ("method", 'stop = "precision"\nwithin = "0 %"', "method.within: '0 %' is outside 0.01 % to 100 %"),
        ("method", 'stop = "precision"', "quick.least_repeats: 2 is not allowed with stop precision"),
        ("method", 'probes = ["rtt", "rtt"]', "method.probes[1]: 'rtt' is a duplicate"),
        ("stack.default", 'system = "Plan 9"', "stack.default: is reserved for the hosts' own stack"),
        ("stack.other", 'system = "Plan 9"', "stack.other: no level of factors.stack has this name"),
        ("stack.other", "sack = true", "stack.other.system: missing key"),
        ("stack.other", 'system = "x"\ncolour = 1', "stack.other.colour: unknown key; known keys:"),
        ("stack.Other", 'system = "x"', "stack.Other: 'Other' is not a name"),
    ],
)
def test_keys_that_require_each_other_are_requested_together(
    tmp_path: Path, table: str, line: str, says: str
) -> None:
    text = GOOD.replace(f"[{table}]\n", f"[{table}]\n{line}\n")
    if text == GOOD:
        text += f"[{table}]\n{line}\n"
    assert refusal(written(tmp_path, text)).startswith(says)


def test_segments_are_as_long_as_an_mtu_lets_them_be(tmp_path: Path) -> None:
    text = GOOD.replace('["udp"]', '["tcp"]').replace("[factors]\n", '[factors]\ntcp_size = ["mss"]\n')
    assert outcome(written(tmp_path, text)) == ""
    longer = text.replace("1408 B", "1440 B")
    assert outcome(written(tmp_path, longer)) == ""
    both = longer.replace('["ipv4"]', '["ipv4", "ipv6"]')
    assert "segments carry 76 to 1428 B" in refusal(written(tmp_path, both))
    assert outcome(written(tmp_path, both + "[link]\ntimestamps = false\n")) == ""


def test_wep_and_tkip_go_with_ht_where_they_may_fall_back(tmp_path: Path) -> None:
    text = GOOD.replace('"ccmp"]', '"tkip", "wep104"]').replace("ofdm", "ht").replace("54 Mbit/s", "mcs7")
    assert "12.6.3" in refusal(written(tmp_path, text))
    assert outcome(written(tmp_path, text + "[link]\nlegacy_fallback = true\n")) == ""


def test_irtt_has_no_datagram_shorter_than_its_header(tmp_path: Path) -> None:
    text = GOOD.replace("[method]\n", '[method]\nprobes = ["irtt"]\n')
    assert outcome(written(tmp_path, text)) == ""
    assert "its headers take 60 B" in refusal(written(tmp_path, text.replace("128 B", "59 B")))


def test_the_medium_alone_says_which_levels_suit_a_phy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airtoll._rust.refusal", lambda *_: "rate: no")
    line = refusal(written(tmp_path, GOOD))
    assert line.startswith("factors.security[0]: with phy ofdm: rate: no")


def test_the_primary_metric_is_one_that_a_probe_of_the_study_measures(tmp_path: Path) -> None:
    path = written(tmp_path, f'primary = "rtt"\n{GOOD}')
    assert load_study(path).primary == "rtt"
    assert refusal(written(tmp_path, f'primary = "video_rtt"\n{GOOD}')) == (
        "primary: no probe of the study measures video_rtt: add video to method.probes"
    )
    assert refusal(written(tmp_path, f'primary = "troughput"\n{GOOD}')).startswith(
        "primary: 'troughput' is not allowed; use throughput, "
    )
