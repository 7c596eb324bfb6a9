"""Security profiles: what protects a link, in hostapd's words. Levels of the factor `security` are names of profiles.

`READY_MADE` declares the levels that every study has. Tables [security.NAME] of a study add others. A profile sets only
the keys that distinguish it: [link] supplies the key management, management frame protection and beacon protection of
profiles without these keys, and `SecurityProfile.on` derives the rest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from airtoll import _rust
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

SUITES: Final[Mapping[str, _rust.Suite]] = {suite.word: suite for suite in _rust.suites() if not suite.is_bip}
"""`open` and every cipher suite of data frames by its level, with the facts that Rust declares."""

CIPHERS: Final[Mapping[str, _rust.Suite]] = {
    suite.word: suite
    for suite in sorted(SUITES.values(), key=lambda suite: suite.strength)
    if suite.wpa  # not open
}
"""The cipher suites, the weakest first."""

AKMS: Final[Mapping[str, _rust.Akm]] = {akm.word: akm for akm in _rust.akms()}
"""Key managements with hostapd's names. If a network can combine two of them, the stronger one is later."""


def scheme(suite: _rust.Suite) -> str:
    """The title of a suite without its variant: "Enhanced CCMP" for "Enhanced CCMP, 1 lane"."""
    return suite.title.partition(", ")[0]


def is_enhanced(level: str) -> bool:
    """Whether a level is Enhanced CCMP, which only airtoll has: sealed on hosts if `crypto_at` is by-suite."""
    return level in SUITES and SUITES[level].lanes is not None


ManagementFrameProtection = Literal["disabled", "optional", "required"]
Eap = Literal["tls", "peap", "ttls"]
EapServer = Literal["hostapd", "freeradius"]

WITH_PASSPHRASE: Final = frozenset({"psk", "sae"})
"""The exchanges of key managements whose keys come from a passphrase."""

KeyManagements = Annotated[str | tuple[str, ...], *names_of(tuple(AKMS))]
"""One key management, or those of a network in transition mode."""

Ciphers = Annotated[str | tuple[str, ...], *names_of(tuple(CIPHERS))]

_DEFAULT: Final = "ccmp"
_DEFAULTS: Final = ", or ".join(
    [_DEFAULT, *(f"{akm.pairwise} for {akm.word}" for akm in AKMS.values() if akm.pairwise)]
)

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
        description=f"Key management: {one_of(tuple(AKMS))}; a list for transition mode.",
    )
    pairwise: Ciphers | None = Field(
        default=None,
        description=f"Cipher of data frames: {one_of(tuple(CIPHERS))}, or a list; default: {_DEFAULTS}.",
    )
    wpa: Annotated[int, *integer(1, 3)] | None = Field(
        default=None, description="Protocols: 1 is WPA, 2 is RSN (WPA2 and WPA3), 3 is both."
    )
    group: Annotated[str, *key_of(CIPHERS)] | None = Field(
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
    def akms(self) -> tuple[str, ...]:
        """The key managements that the profile sets; empty if it sets none."""
        return _listed(self.wpa_key_mgmt)

    @property
    def akm(self) -> str | None:
        """The strongest key management, which stations choose; None if the profile sets none."""
        return max(self.akms, key=tuple(AKMS).index, default=None)

    @property
    def exchanges(self) -> frozenset[str]:
        """Where the keys come from: psk, sae, owe or eap; empty if the profile sets no key management."""
        return frozenset(AKMS[akm].exchange for akm in self.akms)

    @property
    def is_cnsa(self) -> bool:
        """Whether a key management requires the suites of CNSA (WPA3-Enterprise 192-bit mode)."""
        return any(AKMS[akm].pairwise for akm in self.akms)

    @property
    def ciphers(self) -> tuple[str, ...]:
        """The pairwise ciphers; empty for an open network."""
        if self.pairwise is None and self.wpa_key_mgmt is not None:
            return (next((only for akm in self.akms if (only := AKMS[akm].pairwise)), _DEFAULT),)
        return _listed(self.pairwise)

    @property
    def cipher(self) -> str:
        """The level of the strongest pairwise cipher, which stations choose: `open` or one of `CIPHERS`."""
        return max(self.ciphers, key=_STRENGTH, default="open")

    @property
    def suite(self) -> _rust.Suite:
        """The facts of `cipher`."""
        return SUITES[self.cipher]

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
        if not self.suite.has_handshake:
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
        if self.suite.is_current:
            needs = [AKMS[akm].requires_mfp for akm in akms]
            derived = "required" if all(needs) else "optional" if any(needs) else "disabled"
            own["ieee80211w"] = self.ieee80211w or link.ieee80211w or derived
            own["beacon_prot"] = bool(link.beacon_prot if self.beacon_prot is None else self.beacon_prot)
        exchanges = {AKMS[akm].exchange for akm in akms}
        if "sae" in exchanges:
            own["sae_pwe"] = 1 if self.sae_pwe is None else self.sae_pwe
            own["sae_groups"] = self.sae_groups or (GROUP,)
        if "owe" in exchanges:
            own["owe_group"] = self.owe_group or GROUP
        if "eap" in exchanges:
            own["eap"] = self.eap or "tls"
            own["eap_server"] = self.eap_server or "hostapd"
        return self.model_copy(update=own)


class LinkKeys(Protocol):
    """The settings of [link] that a profile can also set."""

    @property
    def wpa_key_mgmt(self) -> str | tuple[str, ...] | None:
        """As in `SecurityProfile`, like the other keys."""
        ...

    @property
    def ieee80211w(self) -> ManagementFrameProtection | None: ...

    @property
    def beacon_prot(self) -> bool | None: ...


OF_LINK: Final = ("wpa_key_mgmt", "ieee80211w", "beacon_prot")
_STRENGTH: Final = tuple(CIPHERS).index
GROUP: Final = 19
"""The group that every station with SAE or OWE supports (IEEE Std 802.11-2020, 12.4.4.1; RFC 8110, 4.3)."""


def _listed(words: Any) -> tuple[Any, ...]:
    return () if words is None else (words,) if isinstance(words, str) else tuple(words)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return " and ".join(str(each) for each in value) if isinstance(value, tuple) else str(value)


def _protocols(ciphers: Sequence[str]) -> int:
    """The value of hostapd's `wpa`: the sum of WPA and RSN."""
    return sum({CIPHERS[cipher].wpa for cipher in ciphers})


READY_MADE: Final[Mapping[str, SecurityProfile]] = {
    "open": SecurityProfile(),
    **{
        name: SecurityProfile(title=suite.title, pairwise=name) for name, suite in SUITES.items() if suite.wpa
    },
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
    elif len(ciphers) > 1 and (alone := [cipher for cipher in ciphers if not _combines(CIPHERS[cipher])]):
        yield "pairwise", f"{alone[0]} must be the only cipher"
    elif profile.suite.is_wep and given:
        yield given[0], f"does not apply to {profile.cipher}, which has no key management"
    of_frames = [name for name in ("ieee80211w", "beacon_prot") if name in given]
    if profile.suite.has_handshake and not profile.suite.is_current and of_frames:
        yield of_frames[0], f"does not apply to {profile.cipher}, which protects only data frames"
    if profile.group is not None and any(_STRENGTH(profile.group) > _STRENGTH(cipher) for cipher in ciphers):
        yield (
            "group",
            f"{profile.group} is stronger than a pairwise cipher, so some stations may not support it",
        )
    if profile.wpa == 1 and not all(AKMS[akm].is_in_wpa for akm in akms):
        of_wpa = [akm.word for akm in AKMS.values() if akm.is_in_wpa]
        yield "wpa", f"1 supports only wpa_key_mgmt {' and '.join(of_wpa)}"
    kinds = {_keys_from(AKMS[akm]) for akm in akms}
    if len(kinds) > 1:
        yield "wpa_key_mgmt", f"{' and '.join(akms)} cannot be combined: {' and '.join(sorted(kinds))}"
    for name, exchange in _ONLY_WITH.items():
        if name in given and all(AKMS[akm].exchange != exchange for akm in akms):
            having = [akm.word for akm in AKMS.values() if akm.exchange == exchange]
            yield name, f"requires wpa_key_mgmt {one_of(having)}"
    of_group = [akm for akm in akms if AKMS[akm].exchange == "sae" and AKMS[akm].has_hash_of_group]
    if profile.sae_pwe == 0 and of_group:
        yield "sae_pwe", f"0 is not allowed with {of_group[0]}, which requires hash-to-element: use 1 or 2"


def _combines(suite: _rust.Suite) -> bool:
    """Whether a network can have the suite beside others."""
    return not suite.is_wep and suite.lanes is None


def _keys_from(akm: _rust.Akm) -> str:
    """The source of the keys. A network has a single source."""
    source = {"owe": "no secret", "eap": "802.1X"}.get(akm.exchange, "a passphrase")
    return f"{source} with CNSA suites" if akm.pairwise else source


_ONLY_WITH: Final = {
    "sae_pwe": "sae",
    "sae_groups": "sae",
    "owe_group": "owe",
    "eap": "eap",
    "eap_server": "eap",
}
"""Keys that apply only to key managements with this exchange."""


def in_order(levels: Iterable[str], own: Iterable[str] = ()) -> tuple[str, ...]:
    """Distinct levels, the baseline first: in the order of `READY_MADE`, followed by `own`, the study's profiles."""
    wanted = set(levels)
    return tuple(name for name in dict.fromkeys((*READY_MADE, *own)) if name in wanted)


def with_ready_made(own: Mapping[str, SecurityProfile] | None) -> dict[str, SecurityProfile]:
    """All profiles of a study by name, in the order of levels: those ready-made, then those of its tables."""
    return {**READY_MADE, **(own or {})}
