"""The rules of weighing, each on a small table of samples: time in ms, stack or `-`, marker."""

import pytest

from profcore.trace.weights import MARKER_INDEX, MARKERS, TimeParts, busy_ranges, to_us
from profcore.trace.wire import Mark
from tests.profcore.trace.weights.weighing import STACKS, describe_parts, longtask, weigh_table

# Rule 1: whole µs, half up; in the order of time


@pytest.mark.parametrize(
    ("ms", "us"),
    [
        (0, 0),
        (0.0005, 1),
        (0.00049, 0),
        (0.0015, 2),
        (0.0025, 3),
        (-0.0005, 0),
        (-0.0006, -1),
        (-0.0015, -1),
        (199.40000000002328, 199_400),
        (2_592_000_000.0, 2_592_000_000_000),
    ],
)
def test_times_are_rounded_half_up(ms: float, us: int) -> None:
    assert to_us(ms) == us


def test_times_are_rounded_before_gaps_are_taken() -> None:
    # 0.4 + 0.4 µs: two gaps of rounded times, not two rounded gaps
    assert describe_parts(weigh_table("0 A\n 0.0004 A\n 0.0008 B", interval_ms=0.001)) == "js 2/3"


def test_a_sample_that_steps_back_is_put_in_its_place() -> None:
    assert weigh_table("0 A\n 20 B\n 10 -\n 30 A") == weigh_table("0 A\n 10 -\n 20 B\n 30 A")


def test_samples_of_one_time_keep_their_order_and_the_last_has_the_gap() -> None:
    weighed = weigh_table("0 A\n 0 B\n 0 -\n 10 A")
    assert describe_parts(weighed) == "js 10000/3 idle 10000/1"
    assert weighed.stack_us[:2] == [10_000, 0]
    assert weighed.stack_samples[:2] == [2, 1]


def test_samples_of_one_time_keep_their_order_when_others_step_back() -> None:
    # by a sort that is not stable, or by a backward step clamped, B would weigh something
    assert weigh_table("10 B\n 10 A\n 0 -\n 20 -").stack_us[:2] == [10_000, 0]


def test_times_may_be_negative() -> None:
    assert describe_parts(weigh_table("-15 A\n -5 B\n 5 -")) == "js 20000/2 idle 10000/1"


# Rule 2: a sample weighs the gap to the next; the last one interval


def test_a_sample_weighs_the_gap_to_the_next_one() -> None:
    weighed = weigh_table("0 A\n 3 B\n 12 A")
    assert weighed.stack_us[:2] == [3_000 + 10_000, 9_000]


def test_the_last_sample_weighs_one_effective_interval() -> None:
    assert describe_parts(weigh_table("100 A", interval_ms=20)) == "js 20000/1"


def test_the_last_sample_is_the_latest_not_the_one_written_last() -> None:
    assert weigh_table("20 B\n 0 A").stack_us[:2] == [20_000, 10_000]


def test_no_sample_has_no_time() -> None:
    weighed = weigh_table("")
    assert weighed.parts == TimeParts()
    assert weighed.measured_interval_us is None
    assert weighed.marker_us is None


# Rule 3: a gap counts up to ten effective intervals


def test_a_gap_of_ten_intervals_counts_in_full() -> None:
    assert describe_parts(weigh_table("0 A\n 100 B")) == "js 110000/2"


def test_what_a_gap_has_beyond_ten_intervals_is_unobserved() -> None:
    weighed = weigh_table("0 A\n 100.001 B")
    assert describe_parts(weighed) == "js 110000/2 unobserved 1"
    assert weighed.parts.span_us == 110_001


@pytest.mark.parametrize(("stack", "kind"), [("A", "js"), ("-", "idle"), ("- gc", "hidden"), ("P", "profiler")])
def test_every_kind_of_time_is_capped(stack: str, kind: str) -> None:
    weighed = weigh_table(f"0 {stack}\n 753 -")
    assert getattr(weighed.parts, f"{kind}_us") == 100_000 + (10_000 if kind == "idle" else 0)
    assert weighed.parts.unobserved_us == 653_000


def test_the_cap_follows_the_effective_interval() -> None:
    assert describe_parts(weigh_table("0 A\n 753 B", interval_ms=100)) == "js 853000/2"


# Rule 4: a sample with a stack is js; markers are a second total beside it


def test_a_stack_is_js_whatever_its_marker_and_long_tasks_say() -> None:
    weighed = weigh_table("0 A gc\n 10 A layout\n 20 A", marks=[longtask(0, 5)])
    assert describe_parts(weighed) == "js 30000/3"


def test_markers_are_a_total_of_their_own() -> None:
    weighed = weigh_table("0 A script\n 10 - gc\n 15 A layout\n 25 - gc\n 35 A")
    assert weighed.marker_us is not None
    assert {word: us for word, us in zip(MARKERS, weighed.marker_us, strict=True) if us} == {
        "script": 10_000,
        "gc": 5_000 + 10_000,
        "layout": 10_000,
    }
    assert describe_parts(weighed) == "js 30000/3 hidden 15000/2"


def test_without_any_marker_there_is_no_total_of_markers() -> None:
    assert weigh_table("0 A\n 10 -").marker_us is None


def test_a_marker_unknown_here_counts_as_other_and_proves_no_work() -> None:
    weighed = weigh_table("0 - daydream\n 10 - other\n 20 - script")
    assert weighed.marker_us is not None
    assert weighed.marker_us[MARKER_INDEX["other"]] == 20_000
    assert describe_parts(weighed) == "idle 30000/3"


# Rule 5: without a stack, hidden in a long task or under an engine marker, else idle


@pytest.mark.parametrize("marker", ["gc", "style", "layout", "paint"])
def test_a_sample_without_a_stack_is_hidden_under_a_marker_of_the_engine(marker: str) -> None:
    assert describe_parts(weigh_table(f"0 - {marker}")) == "hidden 10000/1"


def test_a_sample_without_a_stack_and_without_a_sign_of_work_is_idle() -> None:
    assert describe_parts(weigh_table("0 A\n 10 -\n 20 A")) == "js 20000/2 idle 10000/1"


@pytest.mark.parametrize(
    ("time", "kind"),
    [("49.999", "idle"), ("50", "hidden"), ("109.999", "hidden"), ("110", "idle"), ("110.001", "idle")],
)
def test_a_long_task_holds_its_start_and_not_its_end(time: str, kind: str) -> None:
    assert describe_parts(weigh_table(f"{time} -", marks=[longtask(50, 60)])) == f"{kind} 10000/1"


def test_a_long_task_ends_where_start_plus_duration_rounds_to() -> None:
    # 0.0004 + 0.0004 ms: the end is 1 µs, the sum of two rounded numbers would be 0
    assert busy_ranges([longtask(0.0004, 0.0004)]) == [(0, 1)]


def test_a_long_task_decides_by_the_time_of_the_sample_not_by_its_gap() -> None:
    # the second sample's gap reaches into the task, and is idle all the same
    assert describe_parts(weigh_table("0 -\n 40 -\n 60 -", marks=[longtask(50, 20)])) == "hidden 10000/1 idle 60000/2"


def test_long_tasks_may_overlap_touch_nest_and_come_in_any_order() -> None:
    tasks = [longtask(90, 5), longtask(10, 20), longtask(25, 15), longtask(12, 3), longtask(40, 10)]
    assert busy_ranges(tasks) == [
        (10_000, 12_000),
        (12_000, 25_000),
        (25_000, 40_000),
        (40_000, 50_000),
        (90_000, 95_000),
    ]


def test_a_long_task_ends_where_the_next_begins() -> None:
    assert busy_ranges([longtask(0, 100), longtask(20, 10)]) == [(0, 20_000), (20_000, 100_000)]
    assert busy_ranges([longtask(0, 30), longtask(0, 100), longtask(0, 50)]) == [(0, 100_000)]


def test_a_long_task_inside_a_longer_one_does_not_shorten_it() -> None:
    tasks = [longtask(0, 100), longtask(10, 5)]
    assert describe_parts(weigh_table("5 -\n 12 -\n 50 -", marks=tasks)) == "hidden 55000/3"


def test_only_long_tasks_say_that_the_thread_was_busy() -> None:
    assert busy_ranges([Mark("lcp", 0, 500), Mark("longanimationframe", 0, 500), Mark("Longtask", 0, 500)]) == []


def test_a_long_task_of_no_length_hides_nothing() -> None:
    assert describe_parts(weigh_table("10 -\n 20 -", marks=[longtask(10, 0), longtask(20, 0)])) == "idle 20000/2"


def test_samples_between_two_long_tasks_are_idle_even_when_they_step_back() -> None:
    tasks = [longtask(0, 10), longtask(20, 10)]
    assert describe_parts(weigh_table("25 -\n 5 -\n 15 -\n 35 -", marks=tasks)) == "hidden 20000/2 idle 20000/2"


# Rule 6: the profiler's own cost


def test_a_stack_that_ends_in_the_profiler_is_our_own_cost_and_no_js() -> None:
    weighed = weigh_table("0 P\n 10 A\n 20 P gc", marks=[longtask(0, 100)])
    assert describe_parts(weighed) == "js 10000/1 profiler 20000/2"
    assert weighed.stack_us[STACKS.index("P")] == 0
    assert weighed.stack_samples[STACKS.index("P")] == 0


# Rule 7: counts beside µs


def test_samples_are_counted_even_where_they_weigh_nothing() -> None:
    parts = weigh_table("0 A\n 0 A\n 0 -\n 0 P").parts
    assert (parts.js_samples, parts.idle_samples, parts.profiler_samples) == (2, 1, 1)
    assert (parts.js_us, parts.idle_us, parts.profiler_us) == (0, 0, 10_000)
    assert parts.samples == 4


@pytest.mark.parametrize(
    ("table", "interval"),
    [
        ("0 A", None),
        ("0 A\n 0 A", None),
        ("0 A\n 10 A", 10_000),
        ("0 A\n 0 A\n 9 A\n 20 A", 11_000),
        ("0 A\n 10 A\n 19 A\n 500 A", 10_000),
    ],
)
def test_the_measured_interval_is_the_median_gap_that_is_one(table: str, interval: int | None) -> None:
    assert weigh_table(table).measured_interval_us == interval


def test_the_example_of_the_documentation_is_right() -> None:
    weighed = weigh_table("0 A\n 10 -\n 20 P\n 40 -\n 193 A", marks=[longtask(10, 20)])
    assert describe_parts(weighed) == "js 20000/2 hidden 10000/1 idle 100000/1 profiler 20000/1 unobserved 53000"
    assert weighed.parts.span_us == 203_000
