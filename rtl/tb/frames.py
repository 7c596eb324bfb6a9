"""Random MPDUs of all kinds that CCMP protects, from a seeded generator, and the length of their headers."""

from random import Random

SIZES = (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 65)
"""Payload sizes around the ends of blocks and of words of any width."""

_ROBUST = (10, 12, 13)  # Disassociation, Deauthentication, Action


def mac_header(rng: Random, *, kind: str = "") -> bytes:
    """A MAC header: data, qos, four (addresses), four-qos, htc, four-htc or management; by default a random kind."""
    kind = kind or rng.choice(
        ("data", "qos", "four", "four-qos", "htc", "four-htc", "management", "management-htc")
    )
    fc1 = rng.getrandbits(8) & 0x3C
    if kind.startswith("management"):
        fc0 = rng.choice((10, 12, 13)) << 4
        fc1 |= 0x80 if kind == "management-htc" else 0
        return bytes((fc0, fc1)) + rng.randbytes(26 if kind == "management-htc" else 22)
    qos = kind not in ("data", "four")
    fc0 = 0x08 | (0x80 if qos else 0) | rng.choice((0, 0x10, 0x20, 0x30))
    fc1 |= 3 if kind.startswith("four") else rng.choice((0, 1, 2))
    fc1 |= 0x80 if kind.endswith("htc") else 0
    if not qos:
        fc1 |= rng.choice((0, 0x80))  # Order: no HT Control without QoS
    length = (
        22 + (6 if kind.startswith("four") else 0) + (2 if qos else 0) + (4 if kind.endswith("htc") else 0)
    )
    return bytes((fc0, fc1)) + rng.randbytes(length)


def frame(rng: Random, size: int | None = None, *, kind: str = "") -> bytes:
    """A frame with a payload of this size; by default one of SIZES or a random size of up to 300 octets."""
    if size is None:
        size = rng.choice((rng.choice(SIZES), rng.randrange(300)))
    return mac_header(rng, kind=kind) + rng.randbytes(size)


def header_octets(mpdu: bytes) -> int | None:
    """Octets of the MAC header (IEEE 802.11-2020 9.2.3), or None for a frame that is never protected."""
    fc0, fc1 = mpdu[0], mpdu[1]
    kind, subtype = fc0 >> 2 & 3, fc0 >> 4
    if fc0 & 3 or (kind == 2 and subtype & 4) or (kind == 0 and subtype not in _ROBUST) or kind in (1, 3):
        return None
    qos = kind == 2 and bool(subtype & 8)
    octets = 24 + (6 if kind == 2 and fc1 & 3 == 3 else 0) + (2 if qos else 0)
    return octets + (4 if fc1 & 0x80 and (qos or kind == 0) else 0)
