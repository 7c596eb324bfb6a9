"""The scheme of Hayajneh et al. as printed, as ccm_lanes interprets it: only for comparison, never to protect a frame.

The scheme is CCMP-128 except for the MIC. The payload's blocks go to the lanes in turn. The first lane processes B0 and
the AAD first; the other lanes start from zero. The MIC is the sum of all lanes. In `wlan_ciphers::study` the scheme is
`PaperLanes` with `Split::Interleaved` and `Head::FirstLane`.
"""

from collections.abc import Iterable

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from frames import header_octets

from airtoll.ciphers import Protection, Refused, ReplayWindow

_CCMP_HEADER, _MIC = 8, 8  # octets


class PaperLanes:
    """A key with the methods of `Protection` for frames.

    Layout, packet numbers and verdicts are those of `Protection("ccmp", ...)`; only the MIC is replaced.
    """

    def __init__(self, octets: bytes, lanes: int) -> None:
        """Take a temporal key of 16 octets."""
        self._ccmp = Protection("ccmp", octets)
        self._aes = Cipher(algorithms.AES(octets), modes.ECB())  # noqa: S305
        self._lanes = lanes

    def seal(self, frames: Iterable[bytes], pns: Iterable[int], key_id: int | None = None) -> list[bytes]:
        """Seal frames like `Protection.seal`."""
        return [mpdu[:-_MIC] + self._mic(mpdu, self._lanes) for mpdu in self._ccmp.seal(frames, pns, key_id)]

    def open(
        self, mpdus: Iterable[bytes], key_id: int | None = None, *, window: ReplayWindow | None = None
    ) -> list[bytes | Refused]:
        """Open MPDUs like `Protection.open`."""
        as_ccmp = []
        for mpdu in mpdus:
            mic = self._mic(mpdu, 1)
            if mpdu[-_MIC:] != self._mic(mpdu, self._lanes):
                mic = bytes(octet ^ 0xFF for octet in mic)
            as_ccmp.append(mpdu[:-_MIC] + mic)
        return self._ccmp.open(as_ccmp, key_id, window=window)

    def _encrypt(self, block: bytes) -> bytes:
        encryptor = self._aes.encryptor()
        return encryptor.update(block) + encryptor.finalize()

    def _mic(self, mpdu: bytes, lanes: int) -> bytes:
        """The MIC of the content of a sealed MPDU, with this number of lanes."""
        length = header_octets(mpdu)
        assert length is not None
        header, ccmp = mpdu[:length], mpdu[length : length + _CCMP_HEADER]
        ciphertext = mpdu[length + _CCMP_HEADER : -_MIC]
        aad, priority = _aad(header)
        nonce = bytes((priority,)) + header[10:16] + ccmp[:3:-1] + ccmp[1::-1]

        blocks = -(-len(ciphertext) // 16)
        stream = [self._encrypt(b"\x01" + nonce + count.to_bytes(2, "big")) for count in range(blocks + 1)]
        plaintext = _add(ciphertext, b"".join(stream[1:]))

        chains = [bytes(16)] * lanes
        head = b"\x59" + nonce + len(plaintext).to_bytes(2, "big") + len(aad).to_bytes(2, "big") + aad
        for block in _blocks(head):
            chains[0] = self._encrypt(_add(chains[0], block))
        for at, block in enumerate(_blocks(plaintext)):
            chains[at % lanes] = self._encrypt(_add(chains[at % lanes], block))
        mic = stream[0]
        for chain in chains:
            mic = _add(mic, chain)
        return mic[:_MIC]


def _aad(header: bytes) -> tuple[bytes, int]:
    """The AAD of a MAC header, and the nonce's first octet (IEEE 802.11-2020 12.5.3.3.3, 12.5.3.3.4)."""
    is_data = header[0] & 0x0C == 0x08
    qos_at = len(header) - 2 if is_data and header[0] & 0x80 else None
    if qos_at is not None and header[1] & 0x80:
        qos_at -= 4  # HT Control
    fc0 = header[0] & 0x8F if is_data else header[0]
    fc1 = header[1] & (0xC7 if qos_at is None else 0x47) | 0x40
    addr4 = header[24:30] if is_data and header[1] & 3 == 3 else b""
    tid = 0 if qos_at is None else header[qos_at] & 0x0F
    qos = b"" if qos_at is None else bytes((tid, 0))
    aad = bytes((fc0, fc1)) + header[4:22] + bytes((header[22] & 0x0F, 0)) + addr4 + qos
    return aad, tid if is_data else 0x10


def _add(block: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(block, other, strict=False))


def _blocks(octets: bytes) -> list[bytes]:
    return [octets[at : at + 16].ljust(16, b"\0") for at in range(0, len(octets), 16)]
