"""Generates the captures in this directory without any code of the crate.

RC4, Michael and the TKIP key mixing are implemented here from IEEE 802.11-2020 12.3.2 and 12.5.2; everything else is
from Python's standard library. All inputs are fixed, so that the output is reproducible.

    python3 make.py         writes wep40.pcap, wep104.pcap and tkip.pcap

wep40   key 1f2e3d4c5b, link type 105, without FCS
wep104  key "thirteen-char", link type 127 (radiotap), with FCS
tkip    SSID "airtoll", passphrase "correct-horse", 4-way handshake first, link type 127, with FCS
"""

import hashlib
import hmac
import struct
import zlib
from pathlib import Path

AP, STA, FAR = (bytes([2, 0, 0, 0, 0, n]) for n in (1, 2, 3))
SNAP = bytes.fromhex("aaaa03000000")
TO_DS, FROM_DS, RETRY, PROTECTED = 0x01, 0x02, 0x08, 0x40


def rc4(key: bytes, text: bytes) -> bytes:
    s, j, out = list(range(256)), 0, bytearray()
    for i in range(256):
        j = (j + s[i] + key[i % len(key)]) % 256
        s[i], s[j] = s[j], s[i]
    i = j = 0
    for octet in text:
        i = (i + 1) % 256
        j = (j + s[i]) % 256
        s[i], s[j] = s[j], s[i]
        out.append(octet ^ s[(s[i] + s[j]) % 256])
    return bytes(out)


def crc(data: bytes) -> bytes:
    return struct.pack("<I", zlib.crc32(data))


def michael(key: bytes, message: bytes) -> bytes:
    def left(x: int, n: int) -> int:
        return (x << n | x >> (32 - n)) & 0xFFFFFFFF

    def swapped(x: int) -> int:
        return (x & 0xFF00FF00) >> 8 | (x & 0x00FF00FF) << 8

    first, second = struct.unpack("<II", key)
    message += b"\x5a" + bytes(4)
    message += bytes(-len(message) % 4)
    for (word,) in struct.iter_unpack("<I", message):
        first ^= word
        for rotation in (17, None, 3, 30):
            second ^= swapped(first) if rotation is None else left(first, rotation)
            first = (first + second) & 0xFFFFFFFF
    return struct.pack("<II", first, second)


def aes_s_box() -> list[int]:
    def times(a: int, b: int) -> int:
        product = 0
        while b:
            product ^= a * (b & 1)
            a = (a << 1) ^ (0x11B if a & 0x80 else 0)
            b >>= 1
        return product

    box = []
    for x in range(256):
        inverse = next((y for y in range(256) if times(x, y) == 1), 0)
        value = 0x63
        for n in range(5):
            value ^= (inverse << n | inverse >> (8 - n)) & 0xFF
        box.append(times(value, 2) << 8 | times(value, 3))
    return box


S_BOX = aes_s_box()


def s(word: int) -> int:
    high = S_BOX[word >> 8]
    return S_BOX[word & 0xFF] ^ (high >> 8 | (high & 0xFF) << 8)


def tkip_seed(tk: bytes, ta: bytes, tsc: int) -> bytes:
    key = struct.unpack("<8H", tk)
    p = [tsc >> 16 & 0xFFFF, tsc >> 32 & 0xFFFF, *struct.unpack("<3H", ta)]
    for i in range(8):
        j = i & 1
        for n, k in enumerate((key[j], key[2 + j], key[4 + j], key[6 + j], key[j])):
            p[n] = (p[n] + s(p[n - 1] ^ k) + (i if n == 4 else 0)) & 0xFFFF
    low = tsc & 0xFFFF
    p.append((p[4] + low) & 0xFFFF)
    for n in range(6):
        p[n] = (p[n] + s(p[n - 1] ^ key[n])) & 0xFFFF
    for n in range(6):
        x = p[n - 1] ^ (key[6 + n] if n < 2 else 0)
        p[n] = (p[n] + (x >> 1 | (x & 1) << 15)) & 0xFFFF
    head = bytes([low >> 8, (low >> 8 | 0x20) & 0x7F, low & 0xFF, (p[5] ^ key[0]) >> 1 & 0xFF])
    return head + struct.pack("<6H", *p)


def packet(number: int, size: int) -> bytes:
    """LLC/SNAP, IPv4 and UDP; `size` octets of payload."""
    udp = struct.pack(">4H", 5201, 5202, 8 + size, 0) + bytes((number + n) % 256 for n in range(size))
    addresses = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    ip = struct.pack(">BBHHHBBH8s", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0, addresses)
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    return SNAP + b"\x08\x00" + ip[:10] + struct.pack(">H", ~total & 0xFFFF) + ip[12:] + udp


def header(flags: int, number: int, tid: int | None = None) -> tuple[bytes, bytes, bytes]:
    """MAC header, DA and SA."""
    addresses, da, sa = {
        TO_DS: (AP + STA + FAR, FAR, STA),
        FROM_DS: (STA + AP + FAR, STA, FAR),
        TO_DS | FROM_DS: (AP + STA + FAR, FAR, STA),
    }[flags & (TO_DS | FROM_DS)]
    out = bytes([0x08 if tid is None else 0x88, flags, 0x2C, 0]) + addresses + struct.pack("<H", number << 4)
    out += STA if flags & 3 == 3 else b""
    return out + (b"" if tid is None else bytes([tid, 0])), da, sa


def wep(key: bytes, key_id: int, iv: int, mac_header: bytes, data: bytes) -> bytes:
    iv_octets = iv.to_bytes(3, "big")
    return mac_header + iv_octets + bytes([key_id << 6]) + rc4(iv_octets + key, data + crc(data))


def tkip(keys: bytes, tsc: int, mac_header: bytes, da: bytes, sa: bytes, tid: int, data: bytes) -> bytes:
    mic_key = keys[16:24] if mac_header[1] & FROM_DS else keys[24:32]
    data += michael(mic_key, da + sa + bytes([tid, 0, 0, 0]) + data)
    seed = tkip_seed(keys[:16], mac_header[10:16], tsc)
    extended = bytes([seed[0], seed[1], seed[2], 0x20]) + struct.pack("<I", tsc >> 16)
    return mac_header + extended + rc4(seed, data + crc(data))


def pcap(path: str, link_type: int, frames: list[bytes]) -> None:
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)
    for n, frame in enumerate(frames):
        out += struct.pack("<IIII", 1_000_000 + n, 1000 * n, len(frame), len(frame)) + frame
    Path(__file__).with_name(path).write_bytes(out)


def wep_frames(key: bytes) -> list[bytes]:
    frames = [bytes.fromhex("8000") + bytes(2) + b"\xff" * 6 + AP + AP + bytes(2) + bytes(12)]
    ways = [(TO_DS, None), (FROM_DS, None), (TO_DS, 5), (FROM_DS, 0), (TO_DS | FROM_DS, None)]
    for n, size in enumerate([0, 1, 60, 255, 1000, 1400, 33, 7]):
        flags, tid = ways[n % len(ways)]
        mac_header, _, _ = header(flags | PROTECTED, n, tid)
        frames.append(wep(key, n % 4, 0x00FFFD + n * 0x1_0101, mac_header, packet(n, size)))
    # A retransmission of the last frame, a frame with a damaged body, and an unprotected frame.
    frames.append(frames[-1][:1] + bytes([frames[-1][1] | RETRY]) + frames[-1][2:])
    frames.append(frames[3][:22] + bytes([0x90, 0]) + frames[3][24:60] + b"noise" + frames[3][65:])
    frames.append(header(TO_DS, 20)[0] + packet(20, 10))
    return frames


def eapol(info: int, replay: int, nonce: bytes, kck: bytes | None, data: bytes = b"") -> bytes:
    def body(mic: bytes) -> bytes:
        fixed = struct.pack(">BHHQ", 254, info, 32, replay) + nonce + bytes(32) + mic
        key = fixed + struct.pack(">H", len(data)) + data
        return struct.pack(">BBH", 1, 3, len(key)) + key

    mic = hmac.new(kck, body(bytes(16)), hashlib.md5).digest() if kck else bytes(16)
    return SNAP + b"\x88\x8e" + body(mic)


def tkip_frames() -> list[bytes]:
    pmk = hashlib.pbkdf2_hmac("sha1", b"correct-horse", b"airtoll", 4096, 32)
    anonce, snonce = hashlib.sha256(b"anonce").digest(), hashlib.sha256(b"snonce").digest()
    seed = min(AP, STA) + max(AP, STA) + min(anonce, snonce) + max(anonce, snonce)
    label = b"Pairwise key expansion\0"
    ptk = b"".join(hmac.new(pmk, label + seed + bytes([n]), hashlib.sha1).digest() for n in range(4))[:64]
    kck, keys = ptk[:16], ptk[32:]
    print("tkip key", keys.hex())

    # WPA element: group and pairwise TKIP, PSK.
    wpa = bytes.fromhex("dd160050f20101000050f20201000050f20201000050f202")
    beacon = bytes.fromhex("80000000") + b"\xff" * 6 + AP + AP + bytes(10) + bytes([100, 0, 0x11, 0])
    beacon += b"\x00\x07airtoll" + bytes.fromhex("010482848b96") + wpa
    frames = [beacon]
    shake = [(FROM_DS, 0x0089, 1, anonce, None, b""), (TO_DS, 0x0109, 1, snonce, kck, wpa),
             (FROM_DS, 0x01C9, 2, anonce, kck, wpa), (TO_DS, 0x0109, 2, bytes(32), kck, b"")]  # fmt: skip
    for n, (flags, *message) in enumerate(shake):
        frames.append(header(flags, n)[0].replace(FAR, AP) + eapol(*message))
    ways = [(TO_DS, None), (FROM_DS, None), (TO_DS, 6), (FROM_DS, 3)]
    for n, size in enumerate([0, 1, 60, 255, 1000, 1400, 33, 7]):
        flags, tid = ways[n % len(ways)]
        mac_header, da, sa = header(flags | PROTECTED, 10 + n, tid)
        # The TSC carries into its upper 32 bits.
        frames.append(tkip(keys, 0x3_FFFC + n, mac_header, da, sa, tid or 0, packet(n, size)))
    return frames


def main() -> None:
    pcap("wep40.pcap", 105, wep_frames(bytes.fromhex("1f2e3d4c5b")))
    # One field, the flags: an FCS is present.
    radiotap = bytes.fromhex("0000090002000000" + "10")
    pcap("wep104.pcap", 127, [radiotap + f + crc(f) for f in wep_frames(b"thirteen-char")])
    pcap("tkip.pcap", 127, [radiotap + f + crc(f) for f in tkip_frames()])


if __name__ == "__main__":
    main()
