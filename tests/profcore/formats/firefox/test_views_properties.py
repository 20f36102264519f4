"""Views on their clocks with any samples and marks: no faults, and no lost time."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.envelopes import TIME_ORIGIN_MS, make_envelope
from tests.profcore.formats.builders import timeline
from tests.profcore.formats.firefox.views import Json, sample_lines, write

KINDS = {"-": "idle", "(profiler)": "profiler", "(engine)": "engine"}
SAMPLES = st.lists(
    st.tuples(st.floats(-100, 3_000), st.none() | st.integers(0, 4), st.sampled_from([None, "gc", "paint", "other"])),
    max_size=20,
)
MARKED = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["longtask", "loaf", "event", "lcp", "mark", "odd", "cls"]),
            "start": st.floats(-200, 4_000),
            "duration": st.floats(0, 500),
        },
        optional={
            "name": st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.integers(),
            "processingStart": st.floats(-10, 4_000),
            "processingEnd": st.floats(-10, 4_000),
            "value": st.floats(-5, 5) | st.booleans() | st.text("ab", max_size=3) | st.none(),
            "size": st.integers(-5, 2**70) | st.floats(0, 9),
            "scripts": st.lists(
                st.dictionaries(st.sampled_from(["invoker", "duration"]), st.integers() | st.text("a"))
            ),
        },
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(SAMPLES, MARKED, st.integers(-500, 5_000)), min_size=1, max_size=3), st.booleans())
def test_no_profile_of_any_traces_has_a_fault_and_none_loses_time(
    traces: list[tuple[list[tuple[float, int | None, str | None]], list[Json], int]], has_leaves: bool
) -> None:
    envelopes = []
    for seq, (samples, marks, offset_ms) in enumerate(traces):
        envelope = make_envelope(
            columns="A\nA B\nA B A\nC",
            seq=seq,
            timeOrigin=TIME_ORIGIN_MS + offset_ms,
            viewStart=TIME_ORIGIN_MS,
            marks=marks,
        )
        envelope["trace"]["frames"].append({"name": "Profiler"})
        envelope["trace"]["stacks"].append({"frameId": 3, "parentId": 1})
        envelope["trace"]["samples"] = [
            {"timestamp": at}
            | ({} if stack is None else {"stackId": stack})
            | ({} if word is None else {"marker": word})
            for at, stack, word in samples
        ]
        envelopes.append(envelope)
    export = replace(timeline(*envelopes), engine_leaves=has_leaves)
    profile = write(export)
    time, sums = export.views[0].time, dict.fromkeys(["js", "hidden", "engine", "profiler", "idle"], 0)
    for thread in range(len(profile["threads"])):
        for line in sample_lines(profile, thread):
            _, weight, _, path = line.split(" ", 3)
            kind = "hidden" if "(hidden)" in path else KINDS.get(path.split(" ")[0], "js")
            sums[kind] += round(float(weight) * 1000)
    assert sums == {kind: getattr(time, f"{kind}_us") for kind in sums}
