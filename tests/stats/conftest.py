"""Statistics of other projects, which take seconds to import. Every process of the tests collects every test."""

import warnings
from typing import Any

import pytest


@pytest.fixture(scope="session")
def statsmodels() -> Any:
    """The package. Its imports warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import statsmodels.api
        import statsmodels.stats.weightstats
    return statsmodels
