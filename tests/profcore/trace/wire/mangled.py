"""Any JSON value, and all places of an envelope where it may stand."""

from typing import Any

from hypothesis import strategies as st

from tests.profcore.trace.wire.refusals import full_envelope

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 3)
    | st.floats()  # json writes NaN and Infinity, which are no JSON
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def paths_in(value: Any, path: str = "$") -> list[str]:  # Any: JSON
    """Returns the paths of everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    steps = [(f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]", entry) for key, entry in inner]
    return [path for step, entry in steps for path in (step, *paths_in(entry, step))]


PATHS = paths_in(full_envelope())
