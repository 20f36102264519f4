"""speedscope: weights and events become gaps, to the µs."""

import pytest

from profcore.formats.importers.shapes import FileError
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from tests.profcore.formats.importers.reading import PLACES, lines, places, read, sample, sample_json


def test_weights_become_gaps_and_long_ones_several_samples() -> None:
    sampled, _ = (imported.completed.envelope for imported in read(sample("speedscope.json")))

    assert places(sampled) == PLACES
    assert lines(sampled) == [
        "0 main",
        "10 main render",
        "20 main render price",
        "120 main render price",
        "220 main render price",
        "320 main render price",
        "340 -",
        "350 main render setTimeout",
        "360 main render setTimeout",
    ]


def test_no_weight_is_lost_to_the_cap_on_gaps_nor_added_to_the_last_sample() -> None:
    sampled, _ = (imported.completed.envelope for imported in read(sample("speedscope.json")))

    parts = fold_trace(sampled, page="/", funcs=FuncTable()).parts
    assert (parts.js_us, parts.idle_us, parts.unobserved_us, parts.span_us) == (360_000, 10_000, 0, 370_000)


def test_events_that_open_and_close_become_the_time_between_them() -> None:
    _, evented = (imported.completed.envelope for imported in read(sample("speedscope.json")))

    assert lines(evented) == ["0 main", "10 main render", "20 main render price", "40 -", "50 main", "60 -"]
    assert evented.sampleInterval == 10


def test_a_last_weight_below_the_interval_is_closed_by_a_sample_without_a_stack() -> None:
    file = sample_json("speedscope.json")
    file["profiles"] = file["profiles"][:1]
    file["profiles"][0]["weights"] = [10, 10, 10, 10, 4]

    (imported,) = read(file)
    assert lines(imported.completed.envelope)[-2:] == ["40 main render setTimeout", "44 -"]


def test_a_line_without_a_column_is_no_position() -> None:
    file = sample_json("speedscope.json")
    del file["shared"]["frames"][0]["col"]

    imported, _ = read(file)
    assert places(imported.completed.envelope)["main"] == ("https://shop.example/app.js", None, None)
    assert any("Frames with only a line" in note for note in imported.completed.notes)


def test_a_sampler_of_python_gives_one_function_per_name_and_file_and_a_trace_per_thread() -> None:
    """As py-spy writes it: a frame per line that ran, a profile per thread, and some threads without samples."""
    lines_that_ran = [("fold", "fold.py", 7), ("fold", "fold.py", 9), ("load", "fold.py", 3), ("sh", "", 0)]
    frames = [{"name": name, "file": file, "line": line, "col": None} for name, file, line in lines_that_ran]
    threads: list[list[list[int]]] = [[[3, 0], [3, 1], [3, 1, 2]], [], [[3, 2]]]
    profiles = [
        {
            "type": "sampled",
            "name": f'Process 7 Thread {number} "worker"',
            "unit": "seconds",
            "startValue": 0.0,
            "endValue": len(samples) * 0.004,
            "samples": samples,
            "weights": [0.004] * len(samples),
        }
        for number, samples in enumerate(threads)
    ]
    file = {"$schema": sample_json("speedscope.json")["$schema"], "shared": {"frames": frames}, "profiles": profiles}

    first, second, third = (imported.completed.envelope for imported in read(file))
    assert places(first) == {"sh": (None, None, None), "fold": ("fold.py", None, None), "load": ("fold.py", None, None)}
    assert lines(first) == ["0 sh fold", "4 sh fold", "8 sh fold load"]
    assert (lines(second), lines(third)) == ([], ["0 sh load"])
    assert len({envelope.viewId for envelope in (first, second, third)}) == 3


@pytest.mark.parametrize("unit", ["none", "bytes", "fortnights"])
def test_weights_that_are_no_times_are_refused(unit: str) -> None:
    file = sample_json("speedscope.json")
    file["profiles"][0]["unit"] = unit

    with pytest.raises(FileError) as caught:
        read(file)
    assert caught.value.path == "$.profiles[0].unit"


@pytest.mark.parametrize(
    ("profile", "field", "value", "path"),
    [
        (0, "weights", [1], "$.profiles[0].weights"),
        (0, "weights", [1, 1, -1, 1, 1], "$.profiles[0].weights[2]"),
        (0, "weights", [1e308, 1e308, 1, 1, 1], "$.profiles[0]"),
        (0, "samples", [[9], [], [], [], []], "$.profiles[0].samples[0]"),
        (1, "events", [{"type": "C", "at": 2000, "frame": 0}], "$.profiles[1].events[0].frame"),
        (1, "events", [{"type": "O", "at": 0, "frame": 0}], "$.profiles[1].events[0].at"),
        (1, "events", [{"type": "?", "at": 1000, "frame": 0}], "$.profiles[1].events[0].type"),
        (1, "type", "other", "$.profiles[1].type"),
    ],
)
def test_a_fault_is_named_by_its_path(profile: int, field: str, value: object, path: str) -> None:
    file = sample_json("speedscope.json")
    file["profiles"][profile][field] = value

    with pytest.raises(FileError) as caught:
        read(file)
    assert caught.value.path == path
