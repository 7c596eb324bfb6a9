"""A network that an access point offers: name, security, channel."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from airtoll.errors import UsageError
from airtoll.labs.enterprise import PUBLIC
from airtoll.study.factors import GuardInterval, Phy
from airtoll.study.security import WITH_PASSPHRASE, SecurityProfile

_SSID_MAX_B: Final = 32
_PASSPHRASE: Final = re.compile(r"[ -~]{8,63}")  # IEEE Std 802.11-2020, J.4.1
# Characters with a meaning in the files of hostapd and FreeRADIUS: the end of a text, an escape, an expansion.
_PASSWORD: Final = re.compile(r"[^\"\\%]*")


def channel_mhz(channel: int) -> int:
    """The centre of a channel of 20 MHz in the 2.4 and 5 GHz bands (IEEE Std 802.11-2020, 17.3.8.4.2 and Annex E)."""
    if channel == 14:
        return 2484
    return (2407 if channel < 14 else 5000) + 5 * channel


def band_of(mhz: int) -> str:
    """The band of a channel, in the words of studies."""
    return "5 GHz" if mhz > 5000 else "2.4 GHz"


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network that an access point shall offer. Raises UsageError for values that no access point accepts."""

    level: str  # the level of the factor `security`
    profile: SecurityProfile  # with a value for every key (`SecurityProfile.on`)
    ssid: str
    secret: str = field(repr=False)  # the passphrase, or the WEP key in hexadecimal digits; "" without either
    phy: Phy
    bandwidth_mhz: int
    gi: GuardInterval
    channel: int  # the primary channel
    qos: bool = True  # whether the stations send QoS Data frames
    beacon_interval_tu: int = 100
    country: str | None = None  # of the regulatory domain; None leaves the host's own
    certificates: Path = PUBLIC  # the folder of 802.1X's

    def __post_init__(self) -> None:
        octets = self.ssid.encode()
        if not 0 < len(octets) <= _SSID_MAX_B or not self.ssid.isprintable():
            raise UsageError(f"ssid {self.ssid!r}: expected 1 to {_SSID_MAX_B} printable octets")
        if self.country is not None and not re.fullmatch(r"[A-Z]{2}", self.country):
            raise UsageError(f"country {self.country!r}: expected two capital letters, such as DE")
        if not (1 <= self.channel <= 14 or 36 <= self.channel <= 177):
            raise UsageError(f"channel {self.channel}: expected 1 to 14 or 36 to 177")
        if self.profile.suite.is_wep:
            digits = 2 * self.profile.suite.key_b
            if not re.fullmatch(rf"[0-9A-Fa-f]{{{digits}}}", self.secret):
                raise UsageError(f"security '{self.level}': its key must be {digits} hexadecimal digits")
        elif self.has_passphrase and not _PASSPHRASE.fullmatch(self.secret):
            raise UsageError(
                f"security '{self.level}': its passphrase must be 8 to 63 printable ASCII characters"
            )
        elif self.has_password and not (
            _PASSPHRASE.fullmatch(self.secret) and _PASSWORD.fullmatch(self.secret)
        ):
            raise UsageError(
                f"security '{self.level}': its EAP password must be 8 to 63 printable ASCII characters without "
                '", \\ and %'
            )

    @property
    def has_passphrase(self) -> bool:
        """Whether the keys derive from a passphrase."""
        return bool(self.profile.akms) and self.profile.exchanges <= WITH_PASSPHRASE

    @property
    def has_password(self) -> bool:
        """Whether stations authenticate by a password in a TLS tunnel (EAP-PEAP, EAP-TTLS)."""
        return self.profile.eap in ("peap", "ttls")

    @property
    def band(self) -> str:
        """The band of the channel, in the words of studies."""
        return band_of(self.channel_mhz)

    @property
    def channel_mhz(self) -> int:
        """The centre of the primary channel."""
        return channel_mhz(self.channel)

    @property
    def secondary(self) -> Literal[-1, 0, 1]:
        """The place of the secondary channel: above (1) or below (-1) the primary channel; 0 without one."""
        if self.bandwidth_mhz < 40:
            return 0
        if self.channel <= 14:
            return 1 if self.channel <= 7 else -1
        return 1 if (self.channel - self._first) // 4 % 2 == 0 else -1

    @property
    def centre_of_80_mhz(self) -> int:
        """The number of the centre of the 80 MHz channel in the 5 GHz band that contains the primary channel."""
        return self._first + (self.channel - self._first) // 16 * 16 + 6

    @property
    def _first(self) -> int:
        return 149 if self.channel >= 149 else 36
