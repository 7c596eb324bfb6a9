from collections.abc import Callable, Sequence
from pathlib import Path

VERSION: str
DEVICE_NAME: str
AGENT_VERSION: str

def emulate() -> int: ...

VIDEO_DEADLINE_NS: int  # a frame is late this long after its capture
VIDEO_HEADER_B: int  # octets of a packet before the picture data

def link_overhead(suite: str) -> int: ...  # octets per packet; ValueError for an unknown suite
def run_link(access_point: bool, config: Path) -> None: ...  # ValueError, RuntimeError: one line

class Phy:
    word: str  # "ht"
    amendment: str  # "802.11n"
    generation: str | None  # "wifi4"
    bands: list[str]  # the default first
    bandwidths_mhz: list[int]
    guard_intervals: list[str]
    max_streams: int
    rates: list[str]  # in ascending order: "54 Mbit/s" or "mcs7"
    usual_rate: str  # of a scenario that names none
    has_mcs: bool  # whether the rates are MCSs
    mcs_per_stream: int | None  # MCSs per number of streams, if the MCS implies the number
    is_ht: bool  # HT or later: QoS data frames and aggregation, but neither WEP nor TKIP
    max_mpdu_in_ampdu_b: int | None  # octets of the longest MPDU in an A-MPDU, if an A-MSDU can exceed them
    label: str  # of OpenWrt and of minstrel, and in lower case of iw: "HT"
    data_subcarriers: dict[int, int]  # by channel width; empty without MCSs
    bits_per_subcarrier: list[
        tuple[int, int]
    ]  # data bits per stream by MCS, as a fraction; empty without MCSs
    is_dsss: bool
    non_ht: dict[
        str, list[tuple[float, str, bool]]
    ]  # rates of its BSS by band: Mbit/s, PHY, whether it is basic
    hostapd: list[tuple[str, str]]  # lines of hostapd.conf, with the fields of `Phy::hostapd` in Rust

def phys() -> list[Phy]: ...  # every PHY of the medium, in the order of the standard's clauses

# PHY, rate, width in MHz, guard interval and streams of each mode with MCSs at this data rate, rounded to one decimal
def modes_at(mbps: float) -> list[tuple[str, str, int, str, int]]: ...

class Values:
    kind: str  # word, words, switch, integer, quantity, whole quantity, number, number or matrix, matrix, table, factor
    words: list[str]
    bounds: tuple[int, int]  # of an integer
    of: str  # source of the bounds, name in `airtoll.study.quantity`, or unit of a matrix
    parameters: list[tuple[str, Values]]  # of a table

class ScenarioKey:
    name: str
    json: list[str]  # the names of the value in a scenario's JSON, the outermost first; empty: not there
    table: str  # real hosts, hosts, medium, factors, scenario
    values: Values
    initial: float | None  # the default; None: the medium chooses
    text: str
    panel: str
    labs: list[str]  # that can set the key; lab sim can set every key of the medium
    set_by: str | None  # the program that sets the key in place of lab linux
    crypto_at: str | None  # required value of crypto_at

def scenario_keys() -> list[ScenarioKey]: ...  # in the order of a scenario's JSON
def check_scenario(scenario: str) -> None: ...  # ValueError: one line with the error and the clause
def refusal(
    scenario: str, is_of_any_width: bool
) -> str | None: ...  # as `check_scenario`, at any width and streams
def unused_keys(
    scenario: str, given: list[str]
) -> list[tuple[str, str]]: ...  # keys without effect, with the error
def simulate(scenario: str) -> str: ...  # JSON to JSON; releases the interpreter's lock
def model(scenario: str) -> str: ...

class Suite:
    word: str  # "ccmp256"
    title: str  # "CCMP-256"
    hostapd: str | None  # its name in files and in status, if hostapd has the suite
    common: str  # its name on the pages of access points: "AES"
    strength: int  # rank among the pairwise suites of a network
    key_b: int
    overhead_b: int  # octets that protection adds to an MPDU
    is_bip: bool  # protects only group addressed management frames
    is_wep: bool  # its key is given to stations
    lanes: int | None  # of Enhanced CCMP
    has_handshake: bool  # a key management agrees on the keys
    is_current: bool  # management frames and beacons can be protected; used with HT and later PHYs
    is_in_wpa: bool  # in WPA too, not only in RSN
    wpa: int  # hostapd's `wpa` of a network with this suite alone: 1 is WPA, 2 is RSN; 0 for open

def suites() -> list[Suite]: ...  # open, the suites for any frame from oldest to newest, BIP

class Akm:
    word: str  # "wpa-psk"
    hostapd: str  # "WPA-PSK"
    exchange: str  # where the keys come from: psk, sae, owe or eap
    is_in_wpa: bool  # in WPA too, not only in RSN
    requires_mfp: bool
    has_hash_of_group: bool
    pairwise: str | None  # the only pairwise cipher
    since: tuple[int, int] | None  # first version of hostapd, if Debian 12 has an older version
    is_offered: bool  # by the emulated air and `airtoll link`, if it requires no authentication server

def akms() -> list[Akm]: ...  # if a network can combine two of them, the stronger one is later
def backends() -> list[str]: ...

class ReplayWindow:
    def __new__(cls, start: int) -> ReplayWindow: ...

class Protection:
    def __new__(
        cls,
        suite: str,
        key: bytes,
        backend: str | None = None,
        authenticator: str | None = None,
        spp_amsdu: bool = False,
    ) -> Protection: ...
    @property
    def backend(self) -> str | None: ...
    @property
    def overhead_b(self) -> int: ...
    def seal(self, frames: list[bytes], pns: list[int], key_id: int) -> list[bytes]: ...
    def open(
        self, mpdus: list[bytes], key_id: int, window: ReplayWindow | None = None
    ) -> list[bytes | tuple[str, str]]: ...

class CaptureStation:
    bssid: str
    station: str | None  # None: group-addressed frames
    peer: str | None  # the other station of direct frames
    ssid: bytes | None
    akm: str | None
    cipher: str | None
    messages: list[int]  # counts of 4-way handshake messages 1 to 4
    keys: int
    finding: str
    decrypted: int
    without_key: int
    wrong_key: int
    other: int

def check_passphrase(text: bytes) -> None: ...  # ValueError: one line
def decrypt_capture(
    capture: Path,
    out: Path,
    keys: Sequence[bytes],
    passphrase: bytes | None,
    pmks: Sequence[bytes],
    ssid: bytes | None,
    progress: Callable[[int], object],
) -> tuple[int, int, int, dict[str, int], str | None, list[CaptureStation], list[int], list[bytes]]: ...

# Name, type, values, distinct words of text, and one byte per row that is 0 if the row has no value (None: all rows
# have one). The values are little-endian: 8 bytes per number, 4 bytes per text (an index into the words), 1 byte per
# truth value.
_Column = tuple[str, str, bytes, list[str], bytes | None]

def write_parquet(columns: Sequence[_Column]) -> bytes: ...  # ValueError: one line
def read_parquet(content: bytes) -> list[_Column]: ...  # ValueError: one line
