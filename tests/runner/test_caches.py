"""What one test has set does not reach the next."""

from django.test import override_settings

from ingest.limits import envelope_limits
from tests.runner.caches import clear_caches


def test_limits_are_read_anew_for_each_test() -> None:
    usual = envelope_limits()
    clear_caches()  # as before a test
    with override_settings(INGEST_MAX_SAMPLES=usual.samples - 1):
        assert envelope_limits().samples == usual.samples - 1
    clear_caches()  # as before the next one
    assert envelope_limits() == usual
