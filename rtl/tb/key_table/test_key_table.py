"""key_table: packets of keys become round keys, packet numbers and replay counters."""

import os
from random import Random
from typing import Any

import cocotb
from aes import EXPANDED, round_keys
from clocked import cycle, reset, run_clock
from reference import Key

W = int(os.environ.get("W", "32"))
PRIORITIES = 17  # 16 TIDs, and management
KEYS = 32


class Bench:
    """The table, and the round keys that it wrote."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, Random(seed)
        self.round_keys: dict[int, bytes] = {}  # by address
        self.last_keys: dict[int, dict[int, bytes]] = {}  # by key, then word

    async def start(self) -> "Bench":
        """Reset, and wait until no key is known."""
        run_clock(self.dut)
        streams = {"k_valid": 0, "k_data": 0, "k_last": 0, "empty": 1}
        keys = {"key": 0, "key_pn_write": 0, "key_pn_next": 0}
        replays = {"replay_key": 0, "replay_priority": 0, "replay_write": 0, "replay_pn_next": 0}
        await reset(self.dut, **streams, **keys, **replays)
        for _ in range(KEYS + 4):
            await self.step()
        return self

    async def step(self, **inputs: int) -> bool:
        """Run one cycle; whether k_error was 1."""
        await cycle(self.dut, **inputs)
        if self.dut.round_key_write.value:
            self.round_keys[int(self.dut.round_key_addr.value)] = int(self.dut.round_key_word.value).to_bytes(
                16, "little"
            )
        if self.dut.last_key_write.value:
            words = self.last_keys.setdefault(int(self.dut.last_key_addr.value), {})
            at = int(self.dut.last_key_word_addr.value) if W < 128 else 0
            words[at] = int(self.dut.last_key_word.value).to_bytes(W // 8, "little")
        return bool(self.dut.k_error.value)

    async def send(self, packet: bytes) -> int:
        """Send a packet and wait until it is processed; the number of errors."""
        errors = 0
        for at in range(0, len(packet), 4):
            last = int(at + 4 == len(packet))
            errors += await self.step(
                k_valid=1, k_data=int.from_bytes(packet[at : at + 4], "little"), k_last=last
            )
            for _ in range(2000):
                if self.dut.k_ready.value:
                    break
                errors += await self.step()
            else:
                raise AssertionError("the packet was not taken")
        for _ in range(3):  # from the word in the register to the pause
            errors += await self.step(k_valid=0)
        for _ in range(2000):
            if not self.dut.pause.value:
                break
            errors += await self.step()
        for _ in range(3):
            errors += await self.step()
        return errors

    async def key(self, number: int) -> tuple[int, int, int, int]:
        """Whether the key is known, whether it is long, its Key ID and packet number, after two cycles."""
        await self.step(key=number)
        await self.step()
        await self.step()
        dut = self.dut
        if not dut.key_known.value:
            return (0, 0, 0, 0)
        return (1, int(dut.key_long.value), int(dut.key_id.value), int(dut.key_pn.value))

    async def replays(self, number: int) -> list[int]:
        """The last packet number received with each priority."""
        numbers = []
        for priority in range(PRIORITIES):
            await self.step(replay_key=number, replay_priority=priority)
            await self.step()
            await self.step()
            numbers.append(int(self.dut.replay_pn.value))
        return numbers

    def check_round_keys(self, number: int, key: bytes) -> None:
        """Compare the round keys that were written."""
        schedule = round_keys(key)
        assert [self.round_keys[16 * number + at] for at in range(len(schedule))] == schedule
        words = self.last_keys[number]
        assert b"".join(words[at] for at in range(128 // W)) == schedule[-1]


@cocotb.test()
async def no_key_is_known_after_a_reset(dut: Any) -> None:
    bench = await Bench(dut, 1).start()
    assert not any([(await bench.key(number))[0] for number in range(KEYS)])


@cocotb.test()
async def keys_are_expanded_and_their_numbers_kept(dut: Any) -> None:
    bench = await Bench(dut, 2).start()
    printed = [bytes.fromhex(key) for key, _ in EXPANDED]
    keys = [*printed, bench.rng.randbytes(16), bench.rng.randbytes(32)]
    for number, octets in zip(bench.rng.sample(range(KEYS), len(keys)), keys, strict=True):
        key = Key(octets, bench.rng.randrange(4), bench.rng.getrandbits(48), bench.rng.getrandbits(48))
        assert await bench.send(key.packet(number)) == 0
        bench.check_round_keys(number, octets)
        assert await bench.key(number) == (1, int(len(octets) == 32), key.key_id, key.sent)
        assert await bench.replays(number) == [key.received] * PRIORITIES


@cocotb.test()
async def numbers_that_are_written_are_read(dut: Any) -> None:
    bench = await Bench(dut, 3).start()
    for number in (3, 4):
        assert await bench.send(Key(bytes(16), received=5).packet(number)) == 0
    await bench.step(key=3)
    for _ in range(3):
        await bench.step()
    await bench.step(key_pn_write=1, key_pn_next=77)
    await bench.step(key_pn_write=0, replay_write=1, replay_key=3, replay_priority=16, replay_pn_next=2**47)
    await bench.step(replay_write=0)
    assert await bench.key(3) == (1, 0, 0, 77)
    assert await bench.key(4) == (1, 0, 0, 0)
    assert await bench.replays(3) == [5] * 16 + [2**47]
    assert await bench.replays(4) == [5] * PRIORITIES


@cocotb.test()
async def a_packet_waits_for_the_core_to_be_empty(dut: Any) -> None:
    bench = await Bench(dut, 4).start()
    assert not dut.pause.value
    packet = Key(bytes(16)).packet(1)
    await bench.step(empty=0, k_valid=1, k_data=int.from_bytes(packet[:4], "little"), k_last=0)
    assert dut.k_ready.value
    await bench.step(k_valid=0)
    for _ in range(50):
        await bench.step(k_valid=1, k_data=bench.rng.getrandbits(32), k_last=bench.rng.getrandbits(1))
        assert dut.pause.value
        assert not dut.k_ready.value
    assert not bench.round_keys
    await bench.step(k_valid=0, empty=1)
    assert await bench.send(packet[4:]) == 0
    assert (await bench.key(1))[0] == 1
    bench.check_round_keys(1, bytes(16))


@cocotb.test()
async def a_head_alone_removes_and_what_is_no_key_is_an_error(dut: Any) -> None:
    bench = await Bench(dut, 5).start()
    packet = Key(bench.rng.randbytes(16)).packet(2)
    for wrong, errors in ((packet[:4], 0), (packet[:12], 1), (packet[:28], 1), (packet + bytes(4), 1)):
        assert await bench.send(packet) == 0
        assert (await bench.key(2))[0] == 1
        assert await bench.send(wrong) == errors
        assert (await bench.key(2))[0] == 0
