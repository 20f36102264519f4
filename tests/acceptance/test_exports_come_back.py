"""Our exports can be imported again: the self time of every func equals an independent oracle's."""

import gzip
from typing import Final

import pytest

from profcore.formats.importers.registry import find_importer
from profcore.formats.importers.shapes import ImportLimits, Source
from profcore.formats.registry import EXPORTERS
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from tests.acceptance.recorded import Group, expected_groups, export_group, groups
from tests.profcore.formats.importers.reading import oracle_self_us, read, self_us_by_func

# Formats without a clock, call paths or files of their own are written and not read.
WRITTEN_ONLY: Final = {"collapsed", "pprof", "csv"}
READ_BACK: Final = sorted(EXPORTERS.keys() - WRITTEN_ONLY)


@pytest.mark.parametrize("name", READ_BACK)
@pytest.mark.parametrize("group", groups()[::2], ids=" ".join)
def test_an_export_of_recorded_traces_comes_back_with_the_same_self_time_of_every_func(group: Group, name: str) -> None:
    expected = expected_groups()[group]
    (imported,) = read(gzip.compress(b"".join(EXPORTERS[name].write(export_group(group)))))

    funcs = FuncTable()
    fold = fold_trace(imported.completed.envelope, page="/", funcs=funcs)
    assert self_us_by_func(fold, funcs) == oracle_self_us(expected)
    parts, time_us = fold.parts, expected["time_us"]
    assert (parts.js_us, parts.hidden_us, parts.unobserved_us) == (time_us["js"], time_us["hidden"], 0)
    # An idle time shorter than the closing sample's interval grows to it.
    interval_us = imported.completed.envelope.sampleInterval * 1000
    assert 0 <= parts.idle_us - time_us["idle"] <= interval_us
    assert (imported.completed.envelope.release, imported.completed.envelope.page) == group[1:]


def test_every_format_that_is_written_is_read_or_known_not_to_be() -> None:
    export = export_group(groups()[0])
    for name, exporter in EXPORTERS.items():
        source = Source(name, b"".join(exporter.write(export)), ImportLimits())
        assert (find_importer(source) is None) == (name in WRITTEN_ONLY), name
