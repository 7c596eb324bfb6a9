"""Predicted effects of a different engine, other suites or larger frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from airtoll.prediction.predictions import CRYPTO, INSTANT_CRYPTO, Case, Predictions
from airtoll.study.phys import PHYS
from airtoll.study.security import CIPHERS, Security

SUITES: Final[tuple[Security, ...]] = (
    "open",
    *(word for word, suite in CIPHERS.items() if suite.is_current and suite.hostapd),
)
"""The suites of current stations, and open."""

ENGINES: Final = (2, 4, 8)
"""Factors by which the engine is faster."""

AMSDU_B: Final = 7935
"""The longest A-MSDU of HT (IEEE Std 802.11-2020, 9.4.2.55.2)."""

AMSDU_IN_HT_AMPDU_B: Final = 3839
"""The longest A-MSDU in an HT A-MPDU, whose MPDUs have at most 4095 octets (9.7.1)."""

PACKET_SIZE_MAX_B: Final = {"ipv4": 1472, "ipv6": 1452}


@dataclass(frozen=True)
class Alternative:
    """A question about a case, and the prediction that answers it."""

    question: str
    metric: str
    now: float  # predicted for the unchanged case, in the metric's unit
    then: float

    @property
    def percent(self) -> float:
        """The change of the metric in percent."""
        return 100 * (self.then / self.now - 1)


def alternatives(predictions: Predictions, case: Case, metric: str) -> tuple[Alternative, ...]:
    """The predicted effect of each alternative on the metric. Omits alternatives that the medium refuses."""
    asked = _asked(predictions, case)
    predictions.all([case, *(other for _, other in asked)])
    now = predictions[case].values.get(metric)
    if not now:
        return ()
    found = ((question, predictions[other].values.get(metric)) for question, other in asked)
    return tuple(Alternative(question, metric, now, then) for question, then in found if then is not None)


def _asked(predictions: Predictions, case: Case) -> Sequence[tuple[str, Case]]:
    cell = case.cell
    asked: list[tuple[str, Case]] = []
    if cell.security != "open" and (cost := predictions[case].crypto) is not None:
        for times in ENGINES:
            faster = {name: of / times for name, of in zip(CRYPTO[cell.sealed_at], cost, strict=False)}
            asked.append((f"an engine {times} times as fast", case.with_link(**faster)))
        asked.append(("an engine that takes no time", case.with_link(**INSTANT_CRYPTO)))
    if cell.sealed_at == "card" and cell.security != "open":
        asked.append(("frames sealed by the host's CPU", case.with_cell(crypto_at="host")))
    most = PACKET_SIZE_MAX_B[cell.ip]
    if cell.packet_size < most and cell.transport == "udp":
        asked.append((f"packets of {most} B", case.with_cell(packet_size=most)))
    phy = PHYS[cell.phy]
    if phy.is_ht and case.link.amsdu in (None, 0):
        in_ht_ampdu = phy.max_mpdu_in_ampdu_b is not None and case.link.ampdu is not False
        amsdu_b = AMSDU_IN_HT_AMPDU_B if in_ht_ampdu else AMSDU_B
        asked.append((f"A-MSDUs of up to {amsdu_b} B", case.with_link(amsdu=amsdu_b)))
    asked += [
        (f"security {suite}", case.with_cell(security=suite)) for suite in SUITES if suite != cell.security
    ]
    return asked
