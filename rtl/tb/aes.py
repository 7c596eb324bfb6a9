"""AES as printed in FIPS 197 and as implemented by `cryptography`: the reference of the AES modules."""

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

SUBSTITUTES = bytes.fromhex(
    "637c777bf26b6fc53001672bfed7ab76ca82c97dfa5947f0add4a2af9ca472c0"
    "b7fd9326363ff7cc34a5e5f171d8311504c723c31896059a071280e2eb27b275"
    "09832c1a1b6e5aa0523bd6b329e32f8453d100ed20fcb15b6acbbe394a4c58cf"
    "d0efaafb434d338545f9027f503c9fa851a3408f929d38f5bcb6da2110fff3d2"
    "cd0c13ec5f974417c4a77e3d645d197360814fdc222a908846eeb814de5e0bdb"
    "e0323a0a4906245cc2d3ac629195e479e7c8376d8dd54ea96c56f4ea657aae08"
    "ba78252e1ca6b4c6e8dd741f4bbd8b8a703eb5664803f60e613557b986c11d9e"
    "e1f8981169d98e949b1e87e9ce5528df8ca1890dbfe6426841992d0fb054bb16"
)
"""Figure 7: the substitutes of the octets 0 to 255."""

ENCRYPTED = (
    # Appendix B, C.1, C.3: key, block, encrypted block.
    (
        "2b7e151628aed2a6abf7158809cf4f3c",
        "3243f6a8885a308d313198a2e0370734",
        "3925841d02dc09fbdc118597196a0b32",
    ),
    (
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    ),
    (
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "00112233445566778899aabbccddeeff",
        "8ea2b7ca516745bfeafc49904b496089",
    ),
)

EXPANDED = (
    # Appendix A.1 and A.3: key, and words of its schedule by number.
    ("2b7e151628aed2a6abf7158809cf4f3c", {4: "a0fafe17", 10: "5935807a", 43: "b6630ca6"}),
    (
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        {8: "9ba35411", 12: "a8b09c1a", 59: "706c631e"},
    ),
)


def encrypt(key: bytes, block: bytes) -> bytes:
    """Encrypt one block with OpenSSL."""
    return Cipher(AES(key), ECB()).encryptor().update(block)  # noqa: S305


def round_keys(key: bytes) -> list[bytes]:
    """The key schedule in round keys (FIPS 197, 5.2)."""
    words = [key[at : at + 4] for at in range(0, len(key), 4)]
    each, constant = len(words), 1
    while len(words) < 4 * (each + 7):
        word = words[-1]
        if len(words) % each == 0:
            word = bytes(SUBSTITUTES[octet] for octet in (*word[1:], word[0]))
            word = bytes((word[0] ^ constant, *word[1:]))
            constant = constant << 1 ^ (0x11B if constant & 0x80 else 0)
        elif each > 6 and len(words) % each == 4:
            word = bytes(SUBSTITUTES[octet] for octet in word)
        words.append(xor(words[-each], word))
    return [b"".join(words[at : at + 4]) for at in range(0, len(words), 4)]


def xor(first: bytes, second: bytes) -> bytes:
    """Exclusive or of two strings of the same length."""
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


def number(octets: bytes) -> int:
    """Octets in the layout of the hardware: octet k in bits 8k+7 to 8k."""
    return int.from_bytes(octets, "little")
