"""Exporters are found by the names the read API uses."""

from profcore.formats.registry import EXPORTERS
from tests.profcore.formats.builders import export_of
from tests.profcore.formats.lint import load_good


def test_the_firefox_exporter_writes_a_good_profile() -> None:
    load_good(b"".join(EXPORTERS["firefox"].write(export_of({"main": 1}))))


def test_every_exporter_goes_by_its_own_name() -> None:
    assert {name: exporter.name for name, exporter in EXPORTERS.items()} == {name: name for name in EXPORTERS}
