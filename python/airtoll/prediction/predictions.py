"""Every metric of a cell in virtual time: lab sim's probes on the cell's link, with the definitions of measured
metrics.

The medium and its hosts are models (docs/explanation/simulation.md), so a prediction is the same on every machine. UDP
offers the load of the measured run, if known, so that loss and delay refer to the same load.
"""

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from os import cpu_count
from typing import Any, Final

from airtoll.errors import AirtollError
from airtoll.labs.sim import Sim
from airtoll.probes import probes_of
from airtoll.probes.base import Sample
from airtoll.probes.iperf3 import PACING_US, asks_for_all
from airtoll.stats.metrics import per_run
from airtoll.store.samples import Samples
from airtoll.study.cell import Cell, Method, Plan, resolved
from airtoll.study.contract import MEDIUM_KEYS
from airtoll.study.factors import StackName
from airtoll.study.link import LinkSettings, Stack
from airtoll.study.phys import PHYS
from airtoll.study.plan import measures
from airtoll.study.scenario import Scenario
from airtoll.study.security import SecurityProfile, with_ready_made
from airtoll.study.values import STATIONS_MAX

DURATION_S = 0.5
WARMUP_S = 0.5
"""Times of a prediction: TCP has found its rate, and the mean backoff is accurate to some 0.1 %."""

VIDEO_S = 10.0
"""Duration for video, whose groups of pictures vary more than backoffs."""

METHOD = Method(repeats=1, discard_first=0, duration=DURATION_S, warmup=WARMUP_S, seed=1)


@dataclass(frozen=True)
class Prediction:
    """The result of a case in virtual time."""

    values: Mapping[str, float]  # by metric, in the metric's unit
    answers: Mapping[str, Mapping[str, Any]]  # the medium's answers, by probe

    @property
    def mpdu_b(self) -> int | None:
        """Octets of an MPDU with the cell's packet over UDP, including header, security and FCS."""
        octets: int | None = self._fact("mpdu_bytes")
        return octets

    @property
    def phy_rate_bit_per_s(self) -> float | None:
        """PHY rate of the MPDU."""
        rate_kbit_per_s = self._fact("rate_kbit_per_s")
        return None if rate_kbit_per_s is None else 1e3 * rate_kbit_per_s

    @property
    def mpdus_per_bit(self) -> float | None:
        """MPDUs on the air per bit of received payload, including TCP acknowledgements and second hops."""
        answer, bit_per_s = self.answers.get("throughput"), self.values.get("throughput")
        if answer is None or not bit_per_s:
            return None
        mpdus: int = answer["counters"]["mpdus"]
        return mpdus / (WARMUP_S + DURATION_S) / bit_per_s

    @property
    def crypto(self) -> tuple[float, float, float] | None:
        """Time to seal or open a frame: us per frame, ns per octet, ns of latency per octet."""
        keys = ("processor_frame_us", "processor_byte_ns", "processor_latency_ns")
        frame_us, byte_ns, latency_ns = (self._fact(key) for key in keys)
        return None if frame_us is None else (frame_us, byte_ns, latency_ns)

    def _fact(self, name: str) -> Any:
        return next((answer["facts"][name] for answer in self.answers.values()), None)


CRYPTO: Final = {
    "card": ("processor_frame", "processor_byte", "processor_latency"),
    "host": ("host_frame", "host_byte"),
}
"""The settings of the time to seal or open a frame, in the order of `Prediction.crypto`."""

INSTANT_CRYPTO: Final = {name: 0.0 for names in CRYPTO.values() for name in names}
"""Settings of a link whose cards and hosts seal and open frames in no time."""


@dataclass(frozen=True)
class Case:
    """The subject of a prediction: a cell on a link."""

    cell: Cell
    link: LinkSettings
    udp_load_mbps: float | None = None  # payload that each sender offers; None: saturated
    seed: int = METHOD.seed

    def with_link(self, **settings: object) -> "Case":
        """The same case with these settings of the link."""
        return replace(self, link=self.link.model_copy(update=settings))

    def with_seed(self, seed: int) -> "Case":
        """The same case with other random numbers."""
        return replace(self, seed=seed)

    def with_cell(self, **levels: object) -> "Case":
        """The same case with these levels of the cell."""
        return replace(self, cell=self.cell.model_copy(update=levels))


def case_of(scenario: Scenario) -> Case | None:
    """The cell and link of a scenario; None if no cell of a study can express the scenario."""
    if scenario.hears is not None or scenario.path_loss is not None or isinstance(scenario.snr, tuple):
        return None
    words = scenario.model_dump()
    words["rate"] = scenario.rate or PHYS[scenario.phy].usual_rate
    words["topology"] = scenario.topology or ("stations" if scenario.stations > 1 else "point-to-point")
    words["offered"] = "max" if scenario.offered is None else scenario.offered
    levels = {name: words[name] for name in Cell.model_fields if name in words}
    settings = {name: words[name] for name in MEDIUM_KEYS}
    return Case(Cell(lab=Sim.name, **levels), LinkSettings.model_construct(**settings))


def paced_as_measured(settings: LinkSettings, cell: Cell, method: Method) -> LinkSettings:
    """The settings with which lab sim spaces the datagrams of a measured load as iperf3 did by this method.

    Lab sim knows the load, and would take a load that exceeds the link for one that the study sets.
    """
    if settings.pacing_timer is not None or not asks_for_all(cell, method):
        return settings
    return settings.model_copy(update={"pacing_timer": PACING_US[-1]})


@dataclass
class Predictions:
    """Predictions for the cells of a plan, each computed once."""

    method: Method = METHOD
    link: LinkSettings = field(default_factory=LinkSettings)
    stacks: Mapping[StackName, Stack] = field(default_factory=dict)
    profiles: Mapping[str, SecurityProfile] = field(default_factory=dict)
    _known: dict[Case, Prediction] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, plan: Plan) -> "Predictions":
        """Predictions for a plan, with its probes and its link."""
        return cls(plan.method, plan.link, plan.stacks, plan.profiles)

    def case(self, cell: Cell, udp_load_mbps: float | None = None) -> Case:
        """The case of a cell in the plan. Its security is the level of the cell's cipher."""
        cell, link = resolved(cell, self.link, self.stacks, with_ready_made(self.profiles))
        case = Case(cell, link, udp_load_mbps)
        if cell.crypto_at != "by-suite":
            return case
        return case.with_cell(crypto_at=cell.sealed_at)

    def all(self, cases: Iterable[Case]) -> dict[Case, Prediction]:
        """The prediction of each case, computed on all cores unless there are many stations; empty for a case that the
        medium refuses.
        """
        wanted = list(dict.fromkeys(cases))
        missing = [case for case in wanted if case not in self._known]
        largest = max((case.cell.stations for case in missing), default=1)
        workers = min(cpu_count() or 1, STATIONS_MAX // largest)  # a flow takes 0.5 MB of memory
        with ThreadPoolExecutor(workers) as pool:  # the medium releases the interpreter's lock
            self._known |= dict(zip(missing, pool.map(self._predict, missing), strict=True))
        return {case: self._known[case] for case in wanted}

    def __getitem__(self, case: Case) -> Prediction:
        """The prediction of one case."""
        return self.all([case])[case]

    def _predict(self, case: Case) -> Prediction:
        video = "video" in self.method.probes
        duration_s = VIDEO_S if video else DURATION_S
        own = {"probes": self.method.probes, "rtt_pause": self.method.rtt_pause}
        method = METHOD.model_copy(update={**own, "duration": duration_s})
        settings = case.link
        if case.udp_load_mbps is not None:
            method = method.model_copy(update={"udp_load": case.udp_load_mbps})
            settings = paced_as_measured(settings, case.cell, self.method)
        cell = case.cell.model_copy(update={"stack": "default"})
        lab = Sim(settings)
        if lab.check(cell) is not None:
            return Prediction({}, {})
        samples: list[Sample] = []
        answers = {}
        with lab.open(cell, case.seed) as link:
            for probe in probes_of(method.probes, Sim.name):
                if measures(probe.name, cell):
                    try:
                        measurement = probe.measure(link, cell, method)
                    except AirtollError:  # the medium cannot carry this traffic: no prediction
                        continue
                    samples += measurement.samples
                    answers[probe.name] = json.loads(measurement.raw["answer.json"])
        values = {metric: value for _, metric, value in per_run([Samples.of("case", samples)])}
        return Prediction(values, answers)
