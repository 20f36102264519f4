"""Hidden time where long animation frames say which scripts ran."""

import pytest

from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.mark_types import MAX_FRAME_SCRIPTS, read_frames
from profcore.trace.weights import script_ranges
from profcore.trace.wire import Limits, decode_envelope
from tests.envelopes import make_envelope
from tests.profcore.pictures import envelope_of, fold_of
from tests.profcore.trace.hidden.pictures import TICK_MS, given_to, task
from tests.profcore.trace.wire.refusals import body_of


def frame(*scripts: tuple[int, int], word: str = "loaf", **facts: object) -> dict[str, object]:
    """Returns the mark of a long animation frame whose scripts hold the samples `first` to `last` of a picture."""
    sent = [{"start": first * TICK_MS, "duration": (last - first + 1) * TICK_MS} for first, last in scripts]
    return {"type": word, "start": 0, "duration": 100, "scripts": sent} | facts


@pytest.mark.parametrize("word", ["loaf", "LoAF", "long-animation-frame", "Long-Animation-Frame"])
def test_what_is_in_no_script_of_a_frame_is_the_engines(word: str) -> None:
    columns = """
        -  A  -  -  -
           B
    """
    assert given_to(columns, task(0, 4), frame((0, 2), word=word)) == {"A": 2, "engine": 2}


def test_a_run_between_two_stacks_stays_hidden_outside_scripts_too() -> None:
    assert given_to("A  -  A  -", task(0, 3), frame()) == {"A": 1, "engine": 1}


def test_a_task_outside_all_frames_is_the_engines() -> None:
    assert given_to("A  -  -  B  -  -", task(0, 2), task(3, 5), frame((0, 2))) == {"A": 2, "engine": 2}


def test_what_is_idle_without_a_frame_is_idle_with_one() -> None:
    fold = fold_of("A  -  A", FuncTable(), tick_ms=TICK_MS, marks=[frame((0, 2))])
    assert (fold.parts.hidden_us, fold.parts.engine_us, fold.parts.idle_us) == (0, 0, 1000)


def test_what_is_rendered_is_the_engines_without_a_long_task_too() -> None:
    """From `renderStart` to the frame's end, outside its scripts, and only where there is no stack."""
    rendered = frame((3, 3), renderStart=2, duration=6)
    assert given_to("-  -  -  -  A  -  -", rendered) == {"engine": 2}  # the third and the last but one
    assert given_to("-  -  -  -  A  -  -", task(2, 3), rendered) == {"engine": 2, "?": 1}
    fold = fold_of("-  -  -  -  A  -  -", FuncTable(), tick_ms=TICK_MS, marks=[rendered])
    assert (fold.parts.js_us, fold.parts.engine_us, fold.parts.idle_us) == (1000, 2000, 4000)


def test_a_long_task_that_ends_within_the_rendering_counts_once() -> None:
    assert given_to("A  -  -  -  -  -", task(0, 3), frame((0, 1), renderStart=2, duration=5)) == {"A": 1, "engine": 3}


def test_frames_that_overlap_render_once() -> None:
    both = frame(renderStart=1, duration=3), frame(renderStart=2, duration=4)
    assert given_to("-  -  -  -  -", *both) == {"engine": 3}


@pytest.mark.parametrize("start", [0, -1, 100, 101, "2", True, None, [2], {"ms": 2}, 10**400, 1e300])
def test_a_render_start_that_is_none_adds_nothing(start: object) -> None:
    assert given_to("-  -  -", frame(renderStart=start)) == {}
    assert given_to("A  -  -", task(0, 2), frame((0, 1), renderStart=start)) == {"A": 1, "engine": 1}


def test_a_frame_without_its_scripts_does_not_tell_its_rendering() -> None:
    assert given_to("-  -  -", {"type": "loaf", "start": 0, "duration": 100, "renderStart": 1}) == {}


def test_the_far_half_of_a_script_is_what_all_its_stacks_share() -> None:
    columns = """
        A  A  -  -  -  -
        B  B
        C  D
    """
    # nearest to A > B > D, which is one call below what A > B > C shares with it
    assert given_to(columns, task(0, 5), frame((0, 5))) == {"A > B": 2, "A > B > D": 2}


def test_a_script_with_one_stack_is_its_roots() -> None:
    columns = """
        -  -  A
              B
              C
              D
    """
    assert given_to(columns, task(0, 2), frame((0, 2))) == {"A": 1, "A > B > C": 1}


def test_a_run_is_cut_at_the_bounds_of_scripts() -> None:
    columns = """
        A  -  -  -  -  -
        B
    """
    # the second script has no stack: the root of the task's is all that is known
    assert given_to(columns, task(0, 5), frame((0, 2), (4, 4))) == {"A": 2, "A > B": 1, "engine": 2}


def test_a_script_without_any_stack_is_nobodys() -> None:
    assert given_to("-  -  -", task(0, 2), frame((0, 1))) == {"?": 2, "engine": 1}


def test_a_markers_work_outside_scripts_is_the_engines() -> None:
    envelope = envelope_of("A  -  -  A", tick_ms=TICK_MS, marks=[frame((2, 3))])
    envelope.trace.samples[1].marker = envelope.trace.samples[2].marker = "style"
    parts = fold_trace(envelope, page="/", funcs=FuncTable()).parts
    assert (parts.hidden_us, parts.engine_us, parts.idle_us) == (1000, 1000, 0)


def test_a_frame_that_does_not_tell_its_scripts_tells_nothing() -> None:
    assert given_to("A  -  -", task(0, 2), {"type": "loaf", "start": 0, "duration": 100}) == {"A?": 2}
    assert given_to("A  -  -", task(0, 2), {"type": "loaf", "start": 0, "scripts": []}) == {"engine": 2}


ODD_SCRIPTS = [
    "x",
    7,
    None,
    {"start": 0, "duration": 9},
    [None, 1, "x", [], [[]], {}],
    [{"start": "0", "duration": 9}],
    [{"start": None, "duration": 9}],
    [{"start": True, "duration": 9}],
    [{"start": 0, "duration": -9}],
    [{"start": 0, "duration": 1e18}],
    [{"start": -1e300, "duration": 9}],
    [{"start": 0}],
    [{"duration": 9}],
    [{"start": 0, "duration": 10**400}],
]


@pytest.mark.parametrize("scripts", ODD_SCRIPTS, ids=lambda scripts: repr(scripts)[:30])
def test_scripts_without_a_range_are_left_out(scripts: object) -> None:
    marks = [task(0, 2), {"type": "loaf", "start": 0, "scripts": scripts}]
    assert given_to("A  -  -", *marks) == {"A?": 2}, "as without the frame"
    if isinstance(scripts, list):  # and harm no other
        good = {"startTime": 1, "duration": 1}
        assert given_to("A  -  -", task(0, 2), {"type": "loaf", "start": 0, "scripts": [*scripts, good]}) == {
            "A": 1,
            "engine": 1,
        }


@pytest.mark.parametrize("odd", [b'[{"start":1e999,"duration":9}]', b"[1e999]", b"[-1e400,[1e999]]"])
def test_numbers_that_json_has_and_floats_have_not_are_left_out(odd: bytes) -> None:
    body = body_of(make_envelope(columns="A\n-\n-", marks=[{"type": "loaf", "start": 0, "scripts": "@"}]))
    assert read_frames(decode_envelope(body.replace(b'"@"', odd), Limits()).marks) is None


def test_a_frame_may_have_ten_thousand_scripts_and_no_more() -> None:
    many = [(first, first) for first in range(MAX_FRAME_SCRIPTS + 5)]
    envelope = envelope_of("A  -  -", tick_ms=TICK_MS, marks=[task(0, 2), frame(*many)])
    frames = read_frames(envelope.marks)
    assert frames is not None
    ranges = script_ranges(frames.scripts)
    assert len(ranges) == MAX_FRAME_SCRIPTS
    assert ranges[1] == (1000, 2000)
