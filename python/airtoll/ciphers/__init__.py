"""Frame protection: every cipher suite of 802.11 on batches of complete MPDUs, captures, and benchmarks.

`Protection` seals (encrypts) and opens (decrypts); `ReplayWindow` keeps the receiver's counters. `capture` decrypts
capture files. `speed` benchmarks this machine against other libraries, and `figure` plots the results. The cryptography
is in the Rust crate `wlan-ciphers`. The benchmarks are in `wlan-peers`, whose program `peers` builds and runs.
"""

from airtoll.ciphers.capture import (
    Decrypted,
    Secrets,
    Station,
    decrypt_capture,
    parse_passphrase,
    parse_pmk,
    parse_ssid,
    parse_wep_key,
    read_passphrase,
    shown_ssid,
)
from airtoll.ciphers.protection import Protection, Refused, ReplayWindow, backends, suites

__all__ = [
    "Decrypted",
    "Protection",
    "Refused",
    "ReplayWindow",
    "Secrets",
    "Station",
    "backends",
    "decrypt_capture",
    "parse_passphrase",
    "parse_pmk",
    "parse_ssid",
    "parse_wep_key",
    "read_passphrase",
    "shown_ssid",
    "suites",
]
