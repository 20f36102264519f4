"""A property has the same examples whatever else its process has imported."""

from hypothesis.internal.conjecture.providers import HypothesisProvider

from tests import properties


def test_no_example_comes_from_the_source_of_imported_modules() -> None:
    constants = HypothesisProvider(None)._local_constants
    assert properties.IS_DEEP or not (constants.integers or constants.floats or constants.strings or constants.bytes)
