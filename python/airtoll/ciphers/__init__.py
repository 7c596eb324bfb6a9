"""Frame protection by itself: every cipher suite of 802.11 on batches of whole MPDUs, captures, and speed.

`Protection` seals and opens; `ReplayWindow` keeps the receiver's counters. `capture` decrypts capture files. `speed`
measures what this machine does beside other libraries, and `figure` draws it. The cryptography is the Rust crate
`wlan-ciphers`, the measuring `wlan-peers`; nothing here but conversions.
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
    "suites",
]
