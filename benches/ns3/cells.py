"""The cells that ns-3 measures: their parameters, and the arguments of the program `cell` for them."""

from __future__ import annotations

from dataclasses import dataclass

IP_UDP_B = 28
LLC_B = 8
FCS_B = 4


@dataclass(frozen=True)
class Cell:
    """One combination of parameters; the defaults are those of the program `cell`."""

    phy: str
    rate: str = ""  # Mbit/s, of dsss, ofdm and erp
    mcs: int | None = None  # 0 to 31 for ht, 0 to 9 for vht
    bandwidth_mhz: int = 20
    gi_ns: int = 800
    streams: int = 1
    preamble: str = ""  # long or short, of dsss
    slot_us: int = 9
    protection: str = "none"  # or cts-to-self
    stations: int = 1
    rts: bool = False
    hidden: bool = False
    eifs: bool = True
    retry_limit: int = 7  # transmissions of an MPDU; 0: no limit
    access_categories: str = ""  # joined by +, in turn for the stations
    txop_limit_us: int | None = None  # of vi and vo; None: those of Table 9-155
    ampdu: bool = False
    amsdu_b: int = 0
    snr_db: str = ""
    security_b: int = 0
    packet_size_b: int = 1472  # UDP payload

    @property
    def msdu_len_b(self) -> int:
        return self.packet_size_b + IP_UDP_B + self.security_b

    @property
    def mpdu_len_b(self) -> int:
        header_b = 26 if self.phy in {"ht", "vht"} else 24
        return header_b + LLC_B + self.msdu_len_b + FCS_B

    @property
    def name(self) -> str:
        """The cell in one word: every parameter that differs from its default."""
        parts = [self.phy + (f"-mcs{self.mcs}" if self.mcs is not None else self.rate)]
        parts += [f"{self.bandwidth_mhz}mhz"] if self.phy in {"ht", "vht"} else []
        parts += [f"{self.streams}ss"] if self.streams > 1 else []
        parts += ["sgi"] if self.gi_ns == 400 else []
        parts += [self.preamble] if self.preamble else []
        parts += ["longslot"] if self.phy == "erp" and self.slot_us == 20 else []
        parts += [self.protection] if self.protection != "none" else []
        parts += ["ampdu"] if self.ampdu else []
        parts += [f"amsdu{self.amsdu_b}"] if self.amsdu_b else []
        parts += ["rts"] if self.rts else []
        parts += ["hidden"] if self.hidden else []
        parts += [self.access_categories] if self.access_categories else []
        parts += [f"txop{self.txop_limit_us}"] if self.txop_limit_us is not None else []
        parts += [f"snr{self.snr_db}"] if self.snr_db else []
        parts += [f"n{self.stations}", f"{self.packet_size_b}b"]
        parts += [f"sec{self.security_b}"] if self.security_b else []
        parts += ["difs"] if not self.eifs else []
        parts += ["forever"] if self.retry_limit == 0 else []
        return "-".join(parts)

    @property
    def txop_limits_us(self) -> str:
        """TXOP limit of each access category of the cell."""
        limits = {"be": 0, "bk": 0, "vi": 4096, "vo": 2080}
        if self.txop_limit_us is not None:
            limits |= {"vi": self.txop_limit_us, "vo": self.txop_limit_us}
        return "+".join(str(limits[ac]) for ac in self.access_categories.split("+") if ac)

    @property
    def arguments(self) -> list[str]:
        values: dict[str, object] = {
            "phy": self.phy,
            "streams": self.streams,
            "bandwidth": self.bandwidth_mhz,
            "gi": self.gi_ns,
            "shortPreamble": int(self.preamble == "short"),
            "longSlot": int(self.slot_us == 20),
            "ctsToSelf": int(self.protection == "cts-to-self"),
            "stations": self.stations,
            "msdu": self.msdu_len_b,
            "ampdu": int(self.ampdu),
            "amsdu": self.amsdu_b,
            "rts": int(self.rts),
            "hidden": int(self.hidden),
            "eifs": int(self.eifs),
            "retries": self.retry_limit,
        }
        if self.mcs is not None:
            values["mcs"] = self.mcs
        if self.rate:
            values["rate"] = self.rate
        if self.snr_db:
            values["snr"] = self.snr_db
        if self.access_categories:
            values["acs"] = self.access_categories
        if self.txop_limit_us is not None:
            values["txopLimit"] = self.txop_limit_us
        return [f"--{name}={value}" for name, value in values.items()]

    @property
    def run_s(self) -> float:
        """Simulated seconds of a run: some thousands of exchanges."""
        if self.ampdu and self.stations > 1:
            # PPDUs last milliseconds, so contention windows and ADDBA exchanges take seconds to settle.
            return 30
        if self.phy == "dsss":
            return 60 if self.rate in {"1", "2"} else 20
        slow = self.rate in {"6", "12"} or self.hidden
        if self.stations >= 50:
            return 8 if slow else 3
        if self.packet_size_b < 500 and not self.ampdu:
            return 10 if self.stations == 1 else 5
        return 10 if slow else 5


def _ofdm() -> list[Cell]:
    cells = [
        Cell("ofdm", rate, stations=stations)
        for stations in (1, 5, 10, 50)
        for rate in ("6", "12", "24", "54")
    ]
    # As in Bianchi's model: no retry limit, DIFS after a collision.
    cells += [
        Cell("ofdm", rate, stations=stations, eifs=False, retry_limit=0)
        for stations, rates in (
            (5, ("6", "12", "24", "54")),
            (10, ("6", "12", "24", "54")),
            (50, ("6", "54")),
        )
        for rate in rates
    ]
    cells += [Cell("ofdm", rate, stations=n, packet_size_b=128) for rate in ("6", "54") for n in (1, 5, 10)]
    cells += [Cell("ofdm", rate, security_b=b) for rate in ("6", "24", "54") for b in (8, 16, 20, 24)]
    cells += [
        Cell("ofdm", rate, security_b=b, packet_size_b=128) for rate in ("6", "54") for b in (8, 16, 24)
    ]
    return cells


def _dsss() -> list[Cell]:
    cells = [
        Cell("dsss", rate, preamble="long", slot_us=20, stations=n, packet_size_b=size)
        for n in (1, 5)
        for size in (1472, 128)
        for rate in ("1", "2", "5.5", "11")
    ]
    cells += [
        Cell("dsss", rate, preamble="short", slot_us=20, stations=n)
        for n in (1, 5)
        for rate in ("5.5", "11")  # ns-3 always sends 2 Mbit/s with the long preamble
    ]
    return [*cells, Cell("dsss", "11", preamble="short", slot_us=20, packet_size_b=128)]


def _erp() -> list[Cell]:
    return [
        Cell("erp", "54"),
        Cell("erp", "6"),
        Cell("erp", "54", stations=5),
        Cell("erp", "6", stations=5),
        Cell("erp", "54", slot_us=20),
        Cell("erp", "54", slot_us=20, protection="cts-to-self"),
    ]


def _ht() -> list[Cell]:
    cells = [Cell("ht", mcs=mcs) for mcs in range(8)]
    cells += [Cell("ht", mcs=mcs, ampdu=True) for mcs in range(8)]
    cells += [Cell("ht", mcs=mcs, bandwidth_mhz=40, gi_ns=400, ampdu=True) for mcs in (0, 3, 7)]
    cells += [
        Cell("ht", mcs=7, bandwidth_mhz=40, gi_ns=400),
        Cell("ht", mcs=8, streams=2, ampdu=True),
        Cell("ht", mcs=15, streams=2, ampdu=True),
        Cell("ht", mcs=15, streams=2),
        Cell("ht", mcs=15, streams=2, bandwidth_mhz=40, gi_ns=400, ampdu=True),
        Cell("ht", mcs=7, amsdu_b=3839),
        Cell("ht", mcs=7, amsdu_b=7935),
        Cell("ht", mcs=7, amsdu_b=3839, ampdu=True),
        Cell("ht", mcs=7, packet_size_b=128),
        Cell("ht", mcs=7, packet_size_b=128, ampdu=True),
        Cell("ht", mcs=7, security_b=16, ampdu=True),
        Cell("ht", mcs=7, security_b=16),
        Cell("ht", mcs=0, stations=5),
        Cell("ht", mcs=7, stations=5),
        # ns-3 counts the retries of A-MPDUs wrongly (README.md), so there is no limit.
        Cell("ht", mcs=0, stations=5, ampdu=True, retry_limit=0),
        Cell("ht", mcs=7, stations=5, ampdu=True, retry_limit=0),
        Cell("ht", mcs=0, stations=10, ampdu=True, retry_limit=0),
        Cell("ht", mcs=7, stations=10, ampdu=True, retry_limit=0),
        Cell("ht", mcs=7, stations=20, ampdu=True, retry_limit=0),
    ]
    return cells


def _vht() -> list[Cell]:
    cells = [Cell("vht", mcs=mcs, ampdu=True) for mcs in (0, 4, 8)]
    cells += [Cell("vht", mcs=mcs, bandwidth_mhz=40, ampdu=True) for mcs in (0, 9)]
    cells += [Cell("vht", mcs=mcs, bandwidth_mhz=80, ampdu=True) for mcs in (0, 2, 4, 7, 9)]
    cells += [
        Cell("vht", mcs=mcs, bandwidth_mhz=80, gi_ns=400, streams=streams, ampdu=True)
        for mcs, streams in ((9, 1), (4, 2), (9, 2), (9, 3))
    ]
    cells += [
        Cell("vht", mcs=mcs, bandwidth_mhz=160, gi_ns=400, streams=streams, ampdu=True)
        for mcs, streams in ((4, 1), (9, 1), (9, 2))
    ]
    cells += [
        Cell("vht", mcs=9, bandwidth_mhz=80),
        Cell("vht", mcs=9, bandwidth_mhz=80, ampdu=True, packet_size_b=128),
        Cell("vht", mcs=9, bandwidth_mhz=80, ampdu=True, security_b=16),
        Cell("vht", mcs=0, bandwidth_mhz=80, stations=5, ampdu=True, retry_limit=0),
        Cell("vht", mcs=9, bandwidth_mhz=80, stations=5, ampdu=True, retry_limit=0),
        Cell("vht", mcs=4, bandwidth_mhz=80, stations=10, ampdu=True, retry_limit=0),
        Cell("vht", mcs=9, bandwidth_mhz=80, stations=10, ampdu=True, retry_limit=0),
    ]
    return cells


def _rts() -> list[Cell]:
    # ns-3 does not count failed RTS frames towards the retry limit (README.md).
    cells = [
        Cell("ofdm", rate, stations=n, rts=True, packet_size_b=size, retry_limit=0)
        for rate, n, size in (
            ("54", 1, 1472),
            ("54", 1, 128),
            ("54", 5, 1472),
            ("54", 5, 128),
            ("54", 10, 1472),
            ("6", 1, 1472),
            ("6", 10, 1472),
        )
    ]
    cells += [Cell("ht", mcs=7, stations=n, rts=True, retry_limit=0) for n in (1, 5)]
    cells += [Cell("ht", mcs=7, stations=5, rts=True, ampdu=True, retry_limit=0)]
    # The default limit, which ns-3 does not apply to failed RTS frames.
    cells += [
        Cell("ofdm", rate, stations=n, rts=True) for rate, n in (("54", 5), ("54", 10), ("54", 50), ("6", 10))
    ]
    cells += [
        Cell("ht", mcs=7, stations=n, rts=True, ampdu=ampdu)
        for n, ampdu in ((5, False), (5, True), (10, True))
    ]
    return cells


def _hidden() -> list[Cell]:
    return [
        Cell("ofdm", rate, stations=2, hidden=True, rts=rts, packet_size_b=size, retry_limit=0 if rts else 7)
        for rts in (False, True)
        for rate in ("6", "54")
        for size in (1472, 128)
    ]


def _edca() -> list[Cell]:
    pairs = ("vo+vi", "vo+be", "vi+be")
    cells = [
        Cell("ht", mcs=7, stations=2, access_categories=acs) for acs in (*pairs, "be+be", "be+bk", "vi+vi")
    ]
    cells += [Cell("ht", mcs=7, access_categories=ac) for ac in ("vo", "vi", "bk")]
    # One frame per TXOP, so that the categories differ only in AIFS and contention window.
    cells += [
        Cell("ht", mcs=7, stations=2, access_categories=acs, txop_limit_us=0)
        for acs in (*pairs, "vo+vo", "vi+vi")
    ]
    # After seven frames, the rest of the TXOP is too short for a CF-End.
    cells += [
        Cell("ht", mcs=7, access_categories="vo", txop_limit_us=2048),
        Cell("ht", mcs=7, stations=2, access_categories="vi+be", txop_limit_us=2048),
    ]
    return cells


def _loss() -> list[Cell]:
    cells = [
        Cell("ofdm", rate, snr_db=snr)
        for rate, snrs in (
            ("6", ("3.5", "3.8", "4.2")),
            ("12", ("6.5", "7")),
            ("24", ("13", "13.5")),
            ("54", ("21.8", "22.2", "22.6", "30")),
        )
        for snr in snrs
    ]
    cells += [
        Cell("ht", mcs=mcs, snr_db=snr) for mcs, snr in ((0, "3.8"), (3, "13"), (7, "23.2"), (7, "23.7"))
    ]
    return [*cells, Cell("ht", mcs=7, snr_db="23.5", ampdu=True, retry_limit=0)]


def all_cells() -> list[Cell]:
    """Every cell once, the most used cells first."""
    cells = (
        _ofdm()[:26] + _dsss() + _ht() + _vht() + _rts() + _hidden() + _ofdm() + _erp() + _edca() + _loss()
    )
    return list(dict.fromkeys(cells))
