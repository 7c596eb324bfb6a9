"""A second implementation of 802.11's frame protection, from the standard and on OpenSSL: the engine's reference.

Clauses are those of IEEE 802.11-2020. RC4, AES, CCM, GCM and CMAC are OpenSSL's. TKIP is that of the program that makes
the tests' captures, which also shares no code with the engine.
"""

import importlib.util
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM
from cryptography.hazmat.primitives.cmac import CMAC

ROOT = Path(__file__).parents[2]

TO_DS, FROM_DS, MORE_FRAGMENTS, RETRY, POWER, MORE_DATA, PROTECTED, ORDER = (1 << bit for bit in range(8))
DATA, QOS = 0x08, 0x80

KEY_LENS = {
    "wep40": 5,
    "wep104": 13,
    "tkip": 32,
    "ccmp": 16,
    "ccmp256": 32,
    "gcmp": 16,
    "gcmp256": 32,
    "enhanced1": 16,
    "enhanced2": 16,
    "enhanced4": 16,
    "enhanced8": 16,
    "bip-cmac-128": 16,
    "bip-cmac-256": 32,
    "bip-gmac-128": 16,
    "bip-gmac-256": 32,
}
"""Key length of every suite in octets."""
BIP = tuple(suite for suite in KEY_LENS if suite.startswith("bip"))
AES = tuple(suite for suite in KEY_LENS if suite.startswith(("ccmp", "gcmp", "enhanced")))


@dataclass(frozen=True)
class Frame:
    """A MAC header, with the fields that the suites use, and a plaintext."""

    header: bytes
    plaintext: bytes
    spp_amsdu: bool = False
    """Whether both ends support SPP A-MSDUs."""

    @property
    def octets(self) -> bytes:
        return self.header + self.plaintext

    @property
    def is_data(self) -> bool:
        return self.header[0] & 0x0C == DATA

    @property
    def is_qos(self) -> bool:
        return self.is_data and bool(self.header[0] & QOS)

    @property
    def addr2(self) -> bytes:
        return self.header[10:16]

    @property
    def addr4(self) -> bytes:
        both = self.is_data and self.header[1] & (TO_DS | FROM_DS) == TO_DS | FROM_DS
        return self.header[24:30] if both else b""

    @property
    def tid(self) -> int:
        return self.header[24 + len(self.addr4)] & 0x0F if self.is_qos else 0

    @property
    def protected_header(self) -> bytes:
        return self.header[:1] + bytes([self.header[1] | PROTECTED]) + self.header[2:]

    @property
    def aad(self) -> bytes:
        """The AAD (12.5.3.3.3)."""
        first = self.header[0] & ~0x70 if self.is_data else self.header[0]
        second = self.header[1] & ~(RETRY | POWER | MORE_DATA) | PROTECTED
        if self.is_qos:
            second &= ~ORDER
        sequence = bytes([self.header[22] & 0x0F, 0])
        amsdu_present = self.header[24 + len(self.addr4)] & 0x80 if self.is_qos and self.spp_amsdu else 0
        qos = bytes([self.tid | amsdu_present, 0]) if self.is_qos else b""
        return bytes([first, second]) + self.header[4:22] + sequence + self.addr4 + qos


def seal(suite: str, key: bytes, frame: Frame, pn: int, key_id: int, authenticator: bytes = b"") -> bytes:
    """Seal a frame into an MPDU. TKIP frames with four addresses are the authenticator's if A2 is `authenticator`."""
    number = pn.to_bytes(6, "big")
    if suite.startswith("wep"):
        iv = number[3:]
        text = frame.plaintext + struct.pack("<I", zlib.crc32(frame.plaintext))
        return frame.protected_header + iv + bytes([key_id << 6]) + rc4(iv + key, text)
    if suite == "tkip":
        sealed: bytes = _tkip(key, frame, pn, authenticator)
        return sealed[: len(frame.header) + 3] + bytes([0x20 | key_id << 6]) + sealed[len(frame.header) + 4 :]
    if suite in BIP:
        return _bip(suite, key, frame, number, key_id)
    pn5, pn4, pn3, pn2, pn1, pn0 = number
    cipher_header = bytes([pn0, pn1, 0, 0x20 | key_id << 6, pn2, pn3, pn4, pn5])
    if suite.startswith("gcmp"):
        body = AESGCM(key).encrypt(frame.addr2 + number, frame.plaintext, frame.aad)
    else:
        # 12.5.3.3.4: priority, and bit 4 for management frames.
        nonce = bytes([frame.tid if frame.is_data else 0x10]) + frame.addr2 + number
        if suite.startswith("enhanced"):
            body = _enhanced(int(suite[-1]), key, nonce, frame.aad, frame.plaintext)
        else:
            mic_len = 8 if suite == "ccmp" else 16
            body = AESCCM(key, tag_length=mic_len).encrypt(nonce, frame.plaintext, frame.aad)
    return frame.protected_header + cipher_header + body


def rc4(key: bytes, text: bytes) -> bytes:
    return Cipher(ARC4(key), mode=None).encryptor().update(text)


def _load_maker() -> Any:
    path = ROOT / "crates/wlan-decrypt/tests/captures/make.py"
    spec = importlib.util.spec_from_file_location("make_captures", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_MAKER = _load_maker()


def _tkip(key: bytes, frame: Frame, tsc: int, authenticator: bytes) -> Any:
    """Seal with TKIP (12.5.2); DA and SA by 9.3.2.1."""
    to_ds, from_ds = frame.header[1] & TO_DS, frame.header[1] & FROM_DS
    addr1, addr3 = frame.header[4:10], frame.header[16:22]
    da = addr3 if to_ds else addr1
    sa = (frame.addr4 or addr3) if from_ds else frame.addr2
    if frame.addr4 and frame.addr2 != authenticator:
        # The maker uses the first Michael key for every frame with From DS.
        key = key[:16] + key[24:] + key[16:24]
    return _MAKER.tkip(key, tsc, frame.protected_header, da, sa, frame.tid, frame.plaintext)


def _bip(suite: str, key: bytes, frame: Frame, ipn: bytes, key_id: int) -> bytes:
    """Protect a frame with BIP (12.5.4)."""
    mic_len = 8 if suite == "bip-cmac-128" else 16
    mme = bytes([0x4C, 8 + mic_len, key_id, 0]) + ipn[::-1]
    first, second = frame.header[0], frame.header[1] & ~(RETRY | POWER | MORE_DATA)
    covered = bytes([first, second]) + frame.header[4:22] + frame.plaintext + mme + bytes(mic_len)
    if "cmac" in suite:
        cmac = CMAC(algorithms.AES(key))
        cmac.update(covered)
        mic = cmac.finalize()
    else:
        mic = AESGCM(key).encrypt(frame.addr2 + ipn, b"", covered)
    return frame.octets + mme + mic[:mic_len]


def _enhanced(lanes: int, key: bytes, nonce: bytes, aad: bytes, plaintext: bytes) -> bytes:
    """CCM except for the MIC, which is the sum of the lanes' CBC-MACs, each from its own B0."""
    # ECB keeps no state between blocks, so one encryptor serves all of them.
    aes = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305
    length = struct.pack(">H", len(plaintext))
    text = struct.pack(">H", len(aad)) + aad
    text += bytes(-len(text) % 16) + plaintext
    text += bytes(-len(text) % 16)
    blocks = [text[at : at + 16] for at in range(0, len(text), 16)]
    mic = aes.update(b"\x01" + nonce + bytes(2))
    for lane in range(lanes):
        flags = 0x81 | (lanes.bit_length() - 1) << 5 | lane << 2
        chain = aes.update(bytes([flags]) + nonce + length)
        for block in blocks[lane::lanes]:
            chain = aes.update(_xor(chain, block))
        mic = _xor(mic, chain)
    counters = range(1, 1 + -(-len(plaintext) // 16))
    stream = b"".join(aes.update(b"\x01" + nonce + struct.pack(">H", count)) for count in counters)
    return _xor(plaintext, stream) + mic[:8]


def _xor(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=False))
