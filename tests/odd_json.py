"""Documents of a wrong shape: a list in place of an object, a huge number, a missing key, deep nesting."""

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import strategies as st

MISSING = object()
"""In place of a value: its key does not exist."""

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.just(10**400),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["\x1b[2J", "../..", "-x"]),
    st.just([]),
    st.just({}),
    st.just([[[]]]),
    st.just(MISSING),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in a document; only the first elements of a list."""
    yield path
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    )
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(document: Any, at: Random, odd: Any) -> Any:
    """A copy of the document with the odd value at a random place."""
    path = at.choice(list(places(document)))
    if not path:
        return None if odd is MISSING else odd
    result = copy.deepcopy(document)
    *above, last = path
    holder = result
    for key in above:
        holder = holder[key]
    if odd is MISSING:
        del holder[last]
    else:
        holder[last] = odd
    return result


RANDOM = st.randoms(use_true_random=False)
DEEP = b"[" * 100_000
