"""A second implementation of SAE and OWE, with Python's integers and the elliptic curves of pyca/cryptography.

    python vectors/sae/independent.py

writes `independent.json` here and in `../owe`. The Rust code and this program share only the standards: square roots
are powers, points are added with the affine formulas, and HKDF and KDF are written out. Secrets come from a seed.
"""

import hashlib
import hmac
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

Point = tuple[int, int] | None

# IANA number: prime, b, order, Z of simplified SWU (IEEE 802.11-2020 Table 12-2), hash, curve; a is -3.
GROUPS: dict[int, tuple[int, int, int, int, str, ec.EllipticCurve]] = {
    19: (
        2**256 - 2**224 + 2**192 + 2**96 - 1,
        0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
        0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
        -10,
        "sha256",
        ec.SECP256R1(),
    ),
    20: (
        2**384 - 2**128 - 2**96 + 2**32 - 1,
        0xB3312FA7E23EE7E4988E056BE3F82D19181D9C6EFE8141120314088F5013875AC656398D8A2ED19D2A85C8EDD3EC2AEF,
        0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973,
        -12,
        "sha384",
        ec.SECP384R1(),
    ),
    21: (
        2**521 - 1,
        int(
            "51953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e1"
            "56193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00",
            16,
        ),
        int(
            "1fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa"
            "51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409",
            16,
        ),
        -4,
        "sha512",
        ec.SECP521R1(),
    ),
}


class Curve:
    def __init__(self, group: int) -> None:
        self.group = group
        self.p, self.b, self.order, self.z, self.hash, self.named = GROUPS[group]
        self.len = (self.p.bit_length() + 7) // 8
        self.hash_len = hashlib.new(self.hash).digest_size

    def cubic(self, x: int) -> int:
        return (x**3 - 3 * x + self.b) % self.p

    def root(self, square: int) -> int | None:
        # All three primes are 3 modulo 4.
        root = pow(square, (self.p + 1) // 4, self.p)
        return root if root * root % self.p == square % self.p else None

    def add(self, one: Point, two: Point) -> Point:
        if one is None or two is None:
            return one or two
        (x1, y1), (x2, y2) = one, two
        if x1 == x2 and (y1 + y2) % self.p == 0:
            return None
        slope = (
            (3 * x1 * x1 - 3) * pow(2 * y1, -1, self.p)
            if one == two
            else (y2 - y1) * pow(x2 - x1, -1, self.p)
        )
        x = (slope * slope - x1 - x2) % self.p
        return x, (slope * (x1 - x) - y1) % self.p

    def times(self, factor: int, point: Point) -> Point:
        total: Point = None
        for bit in f"{factor:b}":
            total = self.add(total, total)
            if bit == "1":
                total = self.add(total, point)
        return total

    def octets(self, number: int) -> bytes:
        return number.to_bytes(self.len, "big")

    def coordinates(self, point: Point) -> bytes:
        assert point is not None
        return self.octets(point[0]) + self.octets(point[1])

    def swu(self, u: int) -> Point:
        """Simplified SWU (12.4.4.2.3), step by step as in the standard."""
        p, a = self.p, -3
        m = (self.z**2 * pow(u, 4, p) + self.z * u * u) % p
        t = pow(m, p - 2, p)
        x1 = self.b * pow(self.z * a, -1, p) % p if m == 0 else -self.b * pow(a, -1, p) * (1 + t) % p
        x2 = self.z * u * u * x1 % p
        x = x1 if self.root(self.cubic(x1)) is not None else x2
        y = self.root(self.cubic(x))
        assert y is not None
        return (x, y) if y % 2 == u % 2 else (x, p - y)

    def mac(self, key: bytes, *parts: bytes) -> bytes:
        return hmac.new(key, b"".join(parts), self.hash).digest()

    def expand(self, prk: bytes, info: bytes, length: int) -> bytes:
        okm, block, i = b"", b"", 0
        while len(okm) < length:
            i += 1
            block = self.mac(prk, block, info, bytes([i]))
            okm += block
        return okm[:length]


def kdf(name: str, key: bytes, label: bytes, context: bytes, bits: int) -> int:
    blocks = range(1, bits // (8 * hashlib.new(name).digest_size) + 2)
    suffix = bits.to_bytes(2, "little")
    stream = b"".join(
        hmac.new(key, i.to_bytes(2, "little") + label + context + suffix, name).digest() for i in blocks
    )
    return int.from_bytes(stream, "big") >> 8 * len(stream) - bits


def secret_element(curve: Curve, ssid: bytes, password: bytes, identifier: bytes) -> Point:
    seed = curve.mac(ssid, password, identifier)
    length = curve.len + curve.len // 2
    u1, u2 = (
        int.from_bytes(curve.expand(seed, b"SAE Hash to Element " + name, length), "big") % curve.p
        for name in (b"u1 P1", b"u2 P2")
    )
    return curve.add(curve.swu(u1), curve.swu(u2))


def hash_to_element(curve: Curve, element: Point, addresses: Iterable[bytes]) -> Point:
    low, high = sorted(addresses)
    number = int.from_bytes(curve.mac(bytes(curve.hash_len), high, low), "big")
    return curve.times(number % (curve.order - 1) + 1, element)


def hunt_and_peck(curve: Curve, password: bytes, addresses: Iterable[bytes]) -> Point:
    low, high = sorted(addresses)
    for counter in range(1, 256):
        seed = hmac.new(high + low, password + bytes([counter]), "sha256").digest()
        x = kdf("sha256", seed, b"SAE Hunting and Pecking", curve.octets(curve.p), curve.p.bit_length())
        y = curve.root(curve.cubic(x)) if x < curve.p else None
        if y is not None:
            return (x, y) if y % 2 == seed[-1] % 2 else (x, curve.p - y)
    raise ValueError("no point")


def exchange(
    rng: random.Random, group: int, method: str, rejected: tuple[list[int], list[int]]
) -> dict[str, Any]:
    curve = Curve(group)
    own, peer = rng.randbytes(6), rng.randbytes(6)
    ssid, password = rng.randbytes(8).hex().encode(), rng.randbytes(6).hex().encode()
    identifier = rng.randbytes(3).hex().encode() if method == "hash-to-element" else b""
    vector: dict[str, Any] = {
        "name": f"{method}, group {group}" + (", groups rejected" if any(rejected) else ""),
        "method": method,
        "group": group,
        "ssid": ssid.decode(),
        "password": password.decode(),
        "addresses": [own.hex(), peer.hex()],
    }
    if method == "hash-to-element":
        vector["identifier"] = identifier.decode()
        element = secret_element(curve, ssid, password, identifier)
        vector["pt"] = curve.coordinates(element).hex()
        pwe = hash_to_element(curve, element, (own, peer))
        name = curve.hash
    else:
        pwe = hunt_and_peck(curve, password, (own, peer))
        name = "sha256"
    vector["pwe"] = curve.coordinates(pwe).hex()
    numbers = [rng.randrange(2, curve.order) for _ in range(4)]
    commits = []
    for rand, mask in (numbers[:2], numbers[2:]):
        product = curve.times(mask, pwe)
        assert product is not None
        commits.append(((rand + mask) % curve.order, (product[0], curve.p - product[1])))
    (scalar, own_element), (peer_scalar, peer_element) = commits
    secrets = [
        curve.times(rand, curve.add(curve.times(other_scalar, pwe), other_element))
        for rand, (other_scalar, other_element) in ((numbers[0], commits[1]), (numbers[2], commits[0]))
    ]
    assert secrets[0] == secrets[1]
    assert secrets[0] is not None
    lists = [b"".join(number.to_bytes(2, "little") for number in numbers) for numbers in rejected]
    ordered = lists if own > peer else lists[::-1]
    digest_len = hashlib.new(name).digest_size
    salt = b"".join(ordered) or bytes(digest_len)
    seed = hmac.new(salt, curve.octets(secrets[0][0]), name).digest()
    context = curve.octets((scalar + peer_scalar) % curve.order)
    bits = 8 * (digest_len + 32)
    keys = kdf(name, seed, b"SAE KCK and PMK", context, bits).to_bytes(bits // 8, "big")
    kck, pmk = keys[:digest_len], keys[digest_len:]
    said = curve.octets(scalar) + curve.coordinates(own_element)
    heard = curve.octets(peer_scalar) + curve.coordinates(peer_element)
    vector |= {
        "rand": curve.octets(numbers[0]).hex(),
        "mask": curve.octets(numbers[1]).hex(),
        "commit": said.hex(),
        "peer_commit": heard.hex(),
        "rejected": [octets.hex() for octets in lists],
        "secret": curve.octets(secrets[0][0]).hex(),
        "kck": kck.hex(),
        "pmk": pmk.hex(),
        "pmkid": context[:16].hex(),
        "send_confirm": 258,
        "confirm": hmac.new(kck, (258).to_bytes(2, "little") + said + heard, name).hexdigest(),
    }
    return vector


def opportunistic(rng: random.Random, group: int) -> dict[str, Any]:
    """OWE (RFC 8110 section 4.4); pyca/cryptography does the key exchange."""
    curve = Curve(group)
    station, access_point = (
        ec.derive_private_key(rng.randrange(1, curve.order), curve.named) for _ in range(2)
    )
    shared = station.exchange(ec.ECDH(), access_point.public_key())
    c, a = (curve.octets(key.public_key().public_numbers().x) for key in (station, access_point))
    prk = curve.mac(c + a + group.to_bytes(2, "little"), shared)
    return {
        "name": f"group {group}",
        "group": group,
        "station": curve.octets(station.private_numbers().private_value).hex(),
        "access_point": curve.octets(access_point.private_numbers().private_value).hex(),
        "station_public": c.hex(),
        "access_point_public": a.hex(),
        "pmk": curve.expand(prk, b"OWE Key Generation", curve.hash_len).hex(),
        "pmkid": hashlib.new(curve.hash, c + a).digest()[:16].hex(),
    }


def write(path: Path, vectors: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps({"vectors": vectors}, indent=1) + "\n")


def main() -> None:
    rng = random.Random(802)
    here = Path(__file__).parent
    none: tuple[list[int], list[int]] = ([], [])
    exchanges = [
        exchange(rng, group, method, rejected)
        for group in GROUPS
        for method, rejected in (
            ("hash-to-element", none),
            ("hash-to-element", ([25, 1], [30])),
            ("hunting-and-pecking", none),
        )
    ]
    write(here / "independent.json", exchanges)
    write(here.parent / "owe" / "independent.json", [opportunistic(rng, group) for group in GROUPS])


if __name__ == "__main__":
    main()
