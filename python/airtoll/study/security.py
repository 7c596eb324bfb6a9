"""Security profiles: what protects a link, in hostapd's words. Levels of the factor `security` are names of profiles.

`READY_MADE` declares the levels that every study has. Tables [security.NAME] of a study add others. A profile sets only
the keys that distinguish it: [link] supplies the key management, management frame protection and beacon protection of
profiles without these keys, and `SecurityProfile.on` derives the rest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Protocol, get_args

from pydantic import BaseModel, ConfigDict, Field

from airtoll.study.quantity import one_of, show
from airtoll.study.values import (
    FORGEABLE,
    NAME_PATTERN,
    Title,
    did_you_mean,
    integer,
    is_name,
    key,
    key_of,
    name_of,
    names_of,
    normal,
    switch,
)

KeyManagement = Literal[
    "wpa-psk",
    "wpa-psk-sha256",
    "sae",
    "sae-ext-key",
    "owe",
    "wpa-eap",
    "wpa-eap-sha256",
    "wpa-eap-suite-b-192",
]
"""Key managements with hostapd's names. If a network can combine two of them, the stronger one is later."""

Cipher = Literal[
    "wep40",
    "wep104",
    "tkip",
    "ccmp",
    "gcmp",
    "ccmp256",
    "gcmp256",
    "enhanced1",
    "enhanced2",
    "enhanced4",
    "enhanced8",
]
"""Cipher suites of data frames, the weakest first, with hostapd's names where they exist; enhancedN is Enhanced CCMP
with N lanes."""


@dataclass(frozen=True, kw_only=True)
class CipherEntry:
    """The properties of a cipher that code relies on instead of its name."""

    is_wep: bool = False  # a key that stations are given, as hexadecimal digits
    is_enhanced: bool = (
        False  # Enhanced CCMP, which only airtoll has: sealed on hosts if `crypto_at` is by-suite
    )
    has_handshake: bool = True  # a key management agrees on the keys
    protects_management: bool = True  # management frames and beacons can be protected
    with_ht: bool = True  # allowed with HT and later PHYs (IEEE Std 802.11-2020, 12.6.3)

    @property
    def combines(self) -> bool:
        """Whether a network can have the cipher beside others."""
        return not (self.is_wep or self.is_enhanced)


_WEP: Final = CipherEntry(is_wep=True, has_handshake=False, protects_management=False, with_ht=False)

CIPHERS: Final[Mapping[str, CipherEntry]] = {
    "open": CipherEntry(has_handshake=False, protects_management=False),
    **dict.fromkeys(get_args(Cipher), CipherEntry()),
    **dict.fromkeys(("wep40", "wep104"), _WEP),
    "tkip": CipherEntry(protects_management=False, with_ht=False),
    **dict.fromkeys(("enhanced1", "enhanced2", "enhanced4", "enhanced8"), CipherEntry(is_enhanced=True)),
}
"""`open` and every cipher by its level."""


def cipher_entry(level: str) -> CipherEntry:
    """The properties of a cipher; the defaults for a level that is the name of a profile and of no cipher."""
    return CIPHERS.get(level, CipherEntry())


ManagementFrameProtection = Literal["disabled", "optional", "required"]
Eap = Literal["tls", "peap", "ttls"]
EapServer = Literal["hostapd", "freeradius"]

EAP: Final[frozenset[KeyManagement]] = frozenset({"wpa-eap", "wpa-eap-sha256", "wpa-eap-suite-b-192"})
"""The key managements whose keys come from an authentication server, by 802.1X."""

SAE: Final[frozenset[KeyManagement]] = frozenset({"sae", "sae-ext-key"})
"""The key managements of WPA3-Personal."""

NEED_PROTECTION: Final[frozenset[KeyManagement]] = SAE | {"owe", "wpa-eap-suite-b-192"}
"""The key managements that require protected management frames (WPA3 Specification 3.1; RFC 8110, 4.5)."""


KeyManagements = Annotated[KeyManagement | tuple[KeyManagement, ...], *names_of(get_args(KeyManagement))]
"""One key management, or those of a network in transition mode."""

Ciphers = Annotated[Cipher | tuple[Cipher, ...], *names_of(get_args(Cipher))]

_GROUPS: Final = (19, 20, 21)  # NIST P-256, P-384 and P-521


def _groups(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not value or any(each not in _GROUPS for each in value):
        raise ValueError(
            f"{show(value)} is not allowed; give a list of {one_of([str(each) for each in _GROUPS])}"
        )
    return tuple(value)


class SecurityProfile(BaseModel):
    """How a network is protected, in hostapd's words. Missing keys are as in [link], or derived from the others."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    title: Title | None = Field(default=None, description="Text that explains the profile in reports.")
    wpa_key_mgmt: KeyManagements | None = Field(
        default=None,
        description=f"Key management: {one_of(get_args(KeyManagement))}; a list for transition mode.",
    )
    pairwise: Ciphers | None = Field(
        default=None,
        description=f"Cipher of data frames: {one_of(get_args(Cipher))}, or a list; default: ccmp, or gcmp256 for "
        "wpa-eap-suite-b-192.",
    )
    wpa: Annotated[int, *integer(1, 3)] | None = Field(
        default=None, description="Protocols: 1 is WPA, 2 is RSN (WPA2 and WPA3), 3 is both."
    )
    group: Annotated[Cipher, *name_of(Cipher)] | None = Field(
        default=None, description="Cipher of group addressed frames; default: the weakest pairwise cipher."
    )
    ieee80211w: Annotated[ManagementFrameProtection, *name_of(ManagementFrameProtection)] | None = Field(
        default=None, description="Protection of management frames: disabled, optional or required."
    )
    beacon_prot: Annotated[bool, *switch()] | None = Field(
        default=None, description="Whether beacons are protected as well."
    )
    sae_pwe: Annotated[int, *integer(0, 2)] | None = Field(
        default=None,
        description="How SAE derives its password element: 0 is hunting and pecking, 1 is hash-to-element, 2 is both.",
    )
    sae_groups: (
        Annotated[
            tuple[int, ...],
            *key(
                _groups,
                {"type": "array", "items": {"enum": list(_GROUPS)}, "minItems": 1, "uniqueItems": True},
            ),
        ]
        | None
    ) = Field(default=None, description="Groups of SAE, the preferred one first.")
    owe_group: Annotated[int, *integer(_GROUPS[0], _GROUPS[-1])] | None = Field(
        default=None, description="Group of OWE."
    )
    eap: Annotated[Eap, *name_of(Eap)] | None = Field(
        default=None, description="EAP method of 802.1X: tls, peap or ttls; default: tls."
    )
    eap_server: Annotated[EapServer, *name_of(EapServer)] | None = Field(
        default=None,
        description="EAP server of 802.1X: hostapd (its own server) or freeradius; default: hostapd.",
    )

    @property
    def akms(self) -> tuple[KeyManagement, ...]:
        """The key managements that the profile sets; empty if it sets none."""
        return _listed(self.wpa_key_mgmt)

    @property
    def akm(self) -> KeyManagement | None:
        """The strongest key management, which stations choose; None if the profile sets none."""
        return max(self.akms, key=get_args(KeyManagement).index, default=None)

    @property
    def ciphers(self) -> tuple[Cipher, ...]:
        """The pairwise ciphers; empty for an open network."""
        if self.pairwise is None and self.wpa_key_mgmt is not None:
            return ("gcmp256",) if "wpa-eap-suite-b-192" in self.akms else ("ccmp",)
        return _listed(self.pairwise)

    @property
    def cipher(self) -> str:
        """The level of the strongest pairwise cipher, which stations choose: `open` or a name of `Cipher`."""
        return max(self.ciphers, key=_STRENGTH, default="open")

    @property
    def entry(self) -> CipherEntry:
        """The properties of `cipher`."""
        return CIPHERS[self.cipher]

    def words(self) -> str:
        """The keys that have a value, in one line: "wpa_key_mgmt sae, pairwise ccmp"."""
        keys = self.model_dump(exclude_none=True, exclude={"title"})
        return ", ".join(f"{name} {_word(value)}" for name, value in keys.items())

    def of_link(self) -> dict[str, Any]:
        """The keys that replace those of [link]."""
        return self.model_dump(include=set(OF_LINK), exclude_none=True)

    def on(self, link: "LinkKeys") -> "SecurityProfile":
        """The profile with a value for every key that applies to it.

        `link` supplies the keys of [link] that the profile does not set; hostapd's rules derive the others.
        """
        if not self.entry.has_handshake:
            own = {"pairwise": self.ciphers, "ieee80211w": "disabled", "beacon_prot": False}
            return self.model_copy(update=own)
        akms = self.akms or _listed(link.wpa_key_mgmt) or ("wpa-psk",)
        own = {
            "wpa_key_mgmt": akms,
            "pairwise": self.ciphers,
            "wpa": self.wpa or _protocols(self.ciphers),
            "group": self.group or min(self.ciphers, key=_STRENGTH),
            "ieee80211w": "disabled",
            "beacon_prot": False,
        }
        if self.entry.protects_management:
            needs = [akm in NEED_PROTECTION for akm in akms]
            derived = "required" if all(needs) else "optional" if any(needs) else "disabled"
            own["ieee80211w"] = self.ieee80211w or link.ieee80211w or derived
            own["beacon_prot"] = bool(link.beacon_prot if self.beacon_prot is None else self.beacon_prot)
        if SAE & set(akms):
            own["sae_pwe"] = 1 if self.sae_pwe is None else self.sae_pwe
            own["sae_groups"] = self.sae_groups or (GROUP,)
        if "owe" in akms:
            own["owe_group"] = self.owe_group or GROUP
        if EAP & set(akms):
            own["eap"] = self.eap or "tls"
            own["eap_server"] = self.eap_server or "hostapd"
        return self.model_copy(update=own)


class LinkKeys(Protocol):
    """The settings of [link] that a profile can also set."""

    @property
    def wpa_key_mgmt(self) -> KeyManagement | tuple[KeyManagement, ...] | None:
        """As in `SecurityProfile`, like the other keys."""
        ...

    @property
    def ieee80211w(self) -> ManagementFrameProtection | None: ...

    @property
    def beacon_prot(self) -> bool | None: ...


OF_LINK: Final = ("wpa_key_mgmt", "ieee80211w", "beacon_prot")
_STRENGTH: Final = get_args(Cipher).index
GROUP: Final = 19
"""The group that every station with SAE or OWE supports (IEEE Std 802.11-2020, 12.4.4.1; RFC 8110, 4.3)."""


def _listed(words: Any) -> tuple[Any, ...]:
    return () if words is None else (words,) if isinstance(words, str) else tuple(words)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return " and ".join(str(each) for each in value) if isinstance(value, tuple) else str(value)


def _protocols(ciphers: Sequence[Cipher]) -> int:
    """The value of hostapd's `wpa`: TKIP is WPA, every other cipher is RSN."""
    return (1 if "tkip" in ciphers else 0) + (2 if set(ciphers) - {"tkip"} else 0)


READY_MADE: Final[Mapping[str, SecurityProfile]] = {
    "open": SecurityProfile(),
    "wep40": SecurityProfile(title="WEP-40", pairwise="wep40"),
    "wep104": SecurityProfile(title="WEP-104", pairwise="wep104"),
    "tkip": SecurityProfile(title="TKIP", pairwise="tkip"),
    "ccmp": SecurityProfile(title="CCMP", pairwise="ccmp"),
    "ccmp256": SecurityProfile(title="CCMP-256", pairwise="ccmp256"),
    "gcmp": SecurityProfile(title="GCMP", pairwise="gcmp"),
    "gcmp256": SecurityProfile(title="GCMP-256", pairwise="gcmp256"),
    "enhanced1": SecurityProfile(title="Enhanced CCMP, 1 lane", pairwise="enhanced1"),
    "enhanced2": SecurityProfile(title="Enhanced CCMP, 2 lanes", pairwise="enhanced2"),
    "enhanced4": SecurityProfile(title="Enhanced CCMP, 4 lanes", pairwise="enhanced4"),
    "enhanced8": SecurityProfile(title="Enhanced CCMP, 8 lanes", pairwise="enhanced8"),
    "sae": SecurityProfile(title="SAE", wpa_key_mgmt="sae", pairwise="ccmp", ieee80211w="required"),
    "owe": SecurityProfile(title="OWE", wpa_key_mgmt="owe", pairwise="ccmp", ieee80211w="required"),
    "wpa3-transition": SecurityProfile(
        title="WPA3 transition mode", wpa_key_mgmt=("wpa-psk", "sae"), pairwise="ccmp", ieee80211w="optional"
    ),
    "wpa2-eap": SecurityProfile(title="WPA2-Enterprise", wpa_key_mgmt="wpa-eap", pairwise="ccmp"),
    "wpa3-eap": SecurityProfile(
        title="WPA3-Enterprise", wpa_key_mgmt="wpa-eap-sha256", pairwise="ccmp", ieee80211w="required"
    ),
    "wpa3-192": SecurityProfile(
        title="WPA3-Enterprise 192-bit",
        wpa_key_mgmt="wpa-eap-suite-b-192",
        pairwise="gcmp256",
        ieee80211w="required",
    ),
}
"""The levels of every study, in their order. The first level of a study in this order, followed by the study's own
profiles, is the baseline of its comparisons."""


ALIASES: Final = {
    "none": "open",
    **dict.fromkeys(("wep", "wep128"), "wep104"),
    "wep64": "wep40",
    **dict.fromkeys(("wpa", "wpapsk", "wpapersonal"), "tkip"),
    **dict.fromkeys(("wpa2", "wpa2psk", "wpa2personal", "aes"), "ccmp"),
    **dict.fromkeys(("wpa3", "wpa3psk", "wpa3sae", "wpa3personal"), "sae"),
    **dict.fromkeys(("wpa2enterprise", "802.1x", "eap"), "wpa2-eap"),
    "wpa3enterprise": "wpa3-eap",
    "wpa2/wpa3": "wpa3-transition",
}
"""The ready-made profile that users mean by another name, in the form of `normal`. A study may declare a profile of
such a name itself."""


def undeclared(name: object, own: Iterable[str] = ()) -> str:
    """The error for a level of a study without a profile. `own` are the names of the study's tables."""
    return not_ready_made(name, own, ", or declare it in a table [security.NAME]")


def not_ready_made(name: object, own: Iterable[str] = (), or_else: str = "") -> str:
    """The error for a name that is no profile's, where there are only the ready-made profiles and `own`."""
    known = tuple(dict.fromkeys((*READY_MADE, *own)))
    hint = ""
    if isinstance(name, str):
        meant = ALIASES.get(normal(name))
        hint = f"; {show(name)} is '{meant}' here" if meant else did_you_mean(name.lower(), known)
    return f"{show(name)} is not allowed; use {one_of(known)}{or_else}{hint}"


def _name(value: Any) -> str:
    if isinstance(value, str) and (why := FORGEABLE.get(value)):
        raise ValueError(f"{show(value)} {why}")
    if not isinstance(value, str) or not is_name(value):
        raise ValueError(undeclared(value))
    return value


Security = Annotated[
    str,
    *key(
        _name,
        {
            "anyOf": [
                {"type": "string", "enum": list(READY_MADE)},
                {"type": "string", "pattern": NAME_PATTERN},
            ]
        },
    ),
]
"""The name of a profile: ready-made, or of a table [security.NAME]. Only the study knows which tables exist."""

ReadyMade = Annotated[str, *key_of(READY_MADE, FORGEABLE, ALIASES)]
"""The name of a ready-made profile, where there are no tables."""


Fault = tuple[str | None, str]
"""A key of a profile, or None for the profile itself, and the error."""


def faults(profile: SecurityProfile, link: LinkKeys) -> Iterator[Fault]:
    """Keys of a table that contradict each other in hostapd. The medium knows the other contradictions."""
    akms, ciphers = profile.on(link).akms, profile.ciphers
    given = [name for name in profile.model_dump(exclude_none=True) if name not in ("title", "pairwise")]
    if not ciphers:
        yield None, "protects nothing: set wpa_key_mgmt or pairwise"
    elif len(ciphers) > 1 and (alone := [cipher for cipher in ciphers if not CIPHERS[cipher].combines]):
        yield "pairwise", f"{alone[0]} must be the only cipher"
    elif profile.entry.is_wep and given:
        yield given[0], f"does not apply to {profile.cipher}, which has no key management"
    of_frames = [name for name in ("ieee80211w", "beacon_prot") if name in given]
    if profile.cipher == "tkip" and of_frames:
        yield of_frames[0], "does not apply to tkip, which protects only data frames"
    if profile.group is not None and any(_STRENGTH(profile.group) > _STRENGTH(cipher) for cipher in ciphers):
        yield (
            "group",
            f"{profile.group} is stronger than a pairwise cipher, so some stations may not support it",
        )
    if profile.wpa == 1 and set(akms) - {"wpa-psk", "wpa-eap"}:
        yield "wpa", "1 supports only wpa_key_mgmt wpa-psk and wpa-eap"
    kinds = {KEYS_FROM.get(akm, "a passphrase") for akm in akms}
    if len(kinds) > 1:
        yield "wpa_key_mgmt", f"{' and '.join(akms)} cannot be combined: {' and '.join(sorted(kinds))}"
    for name, of in _ONLY_WITH.items():
        if name in given and not of & set(akms):
            yield name, f"requires wpa_key_mgmt {one_of(sorted(of))}"
    if profile.sae_pwe == 0 and "sae-ext-key" in akms:
        yield "sae_pwe", "0 is not allowed with sae-ext-key, which requires hash-to-element: use 1 or 2"


KEYS_FROM: Final[Mapping[str, str]] = {
    "owe": "no secret",
    "wpa-eap": "802.1X",
    "wpa-eap-sha256": "802.1X",
    "wpa-eap-suite-b-192": "802.1X with CNSA suites",
}
"""The source of the keys, if it is not a passphrase. A network has a single source."""

_ONLY_WITH: Final[Mapping[str, frozenset[KeyManagement]]] = {
    "sae_pwe": SAE,
    "sae_groups": SAE,
    "owe_group": frozenset({"owe"}),
    "eap": EAP,
    "eap_server": EAP,
}
"""Keys that apply only to some key managements."""


def in_order(levels: Iterable[str], own: Iterable[str] = ()) -> tuple[str, ...]:
    """Distinct levels, the baseline first: in the order of `READY_MADE`, followed by `own`, the study's profiles."""
    wanted = set(levels)
    return tuple(name for name in dict.fromkeys((*READY_MADE, *own)) if name in wanted)


def with_ready_made(own: Mapping[str, SecurityProfile] | None) -> dict[str, SecurityProfile]:
    """All profiles of a study by name, in the order of levels: those ready-made, then those of its tables."""
    return {**READY_MADE, **(own or {})}
