"""The measured window of a probe."""

from dataclasses import dataclass

from airtoll.probes.base import Phase
from airtoll.study.cell import Method

NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Window:
    """From `opens_s` to `closes_s`, in seconds from the start of the probe. Time before the window is warm-up."""

    opens_s: float
    closes_s: float

    @classmethod
    def of(cls, method: Method, least_warmup_s: float = 0.0) -> "Window":
        """The window of the method, opening later if the tool itself needs a longer warm-up."""
        opens_s = max(method.warmup, least_warmup_s)
        return cls(opens_s, opens_s + method.duration)

    @property
    def duration_s(self) -> float:
        """Length of the window."""
        return self.closes_s - self.opens_s

    def phase(self, moment_s: float) -> Phase | None:
        """The phase to which a time belongs, or None after the window."""
        if moment_s < self.opens_s:
            return "warmup"
        return "measure" if moment_s < self.closes_s else None
