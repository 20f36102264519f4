"""Hidden time, from the post to the tables: hotspots, contributions and call trees tell the same."""

from typing import Any

import pytest

from aggregate.selectors.functions.table import select_functions
from aggregate.selectors.slice.slices import Slice
from profcore.sums.blobs import decode_contribution
from tests.aggregate.posting import call_trees, fold_all, post, rows
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db

BY_NAME = """SELECT f.name, sum(h.hidden_us), sum(h.hidden_total_us), sum(h.uncertain_us), sum(h.self_us),
                    sum(h.total_us), sum(h.views)
             FROM aggregate_hotspot h JOIN aggregate_func f ON f.project_id = h.project_id AND f.id = h.func_id
             GROUP BY f.id, f.name ORDER BY f.name"""


def busy(view: str, columns: str, **fields: Any) -> dict[str, Any]:
    """Returns an envelope whose whole trace is one long task; a line is a sample's stack."""
    return make_envelope(view, columns, marks=[{"type": "longtask", "start": 0, "duration": 1_000}], **fields)


def profiled(envelope: dict[str, Any]) -> dict[str, Any]:
    """Returns the envelope with its func `P` made the profiler's own built-in."""
    for frame in envelope["trace"]["frames"]:
        if frame["name"] == "P":
            frame.clear()
            frame["name"] = "Profiler"
    return envelope


def test_hidden_time_becomes_a_column_of_its_own(key: str) -> None:
    post(key, busy("v", "A B C\n-\nA B D\n-"))
    fold_all()
    # name, hidden, hidden total, uncertain, self, total, views
    assert rows(BY_NAME) == [
        ("A", 0, 10_000, 10_000, 0, 20_000, 1),
        ("B", 0, 10_000, 0, 0, 20_000, 1),
        ("C", 10_000, 10_000, 0, 10_000, 10_000, 1),
        ("D", 0, 0, 0, 10_000, 10_000, 1),
    ]


def test_long_animation_frames_make_a_part_of_the_engines(key: str) -> None:
    task, script = {"type": "longtask", "start": 0, "duration": 1_000}, {"start": 0, "duration": 25}
    frame = {"type": "loaf", "start": 0, "duration": 90, "scripts": [script]}
    post(key, make_envelope("v", "A B\n-\n-\n-\n-", marks=[task, frame]))
    fold_all()
    assert rows(BY_NAME) == [("A", 10_000, 20_000, 0, 0, 10_000, 1), ("B", 10_000, 10_000, 0, 10_000, 10_000, 1)]
    for table in ("cell", "pageview", "pageday"):
        sums = rows(
            f"SELECT js_us, hidden_us, hidden_samples, engine_us, engine_samples, idle_us FROM aggregate_{table}"
        )
        assert sums == [(10_000, 20_000, 2, 20_000, 2, 0)]


def test_hotspots_contributions_and_call_trees_agree(key: str) -> None:
    shapes = ["A B\n-\nA B C", "-\nA\n-", "-\n-", "A A B\n-\nA A", "A\n-\nB"]
    post(key, *(busy(f"v{n % 7}", shapes[n % 5], seq=n) for n in range(20)))
    fold_all()
    hotspots = {name: (hidden, total) for name, hidden, total, *_ in rows(BY_NAME)}
    uncertain = sum(row[3] for row in rows(BY_NAME))
    names = dict(rows("SELECT id, name FROM aggregate_func"))
    by_func: dict[str, tuple[int, int]] = {}
    for (blob,) in rows("SELECT contribution FROM aggregate_pageview"):
        contribution = decode_contribution(bytes(blob))
        for func, hidden, total in zip(
            contribution.func, contribution.hidden_us, contribution.hidden_total_us, strict=True
        ):
            known = by_func.get(names[func], (0, 0))
            by_func[names[func]] = (known[0] + hidden, known[1] + total)
    assert by_func == hotspots
    by_node: dict[str, list[int]] = {name: [0, 0] for name in hotspots}
    for node in call_trees():
        path, hidden = [step.split("@")[0] for step in node[7].split(" > ")], node[-1]
        by_node[path[-1]][0] += hidden
        for name in set(path):
            by_node[name][1] += hidden
    assert {name: tuple(sums) for name, sums in by_node.items()} == hotspots
    hidden = rows("SELECT sum(hidden_us) FROM aggregate_cell")[0][0]
    assert 0 < sum(hidden_us for hidden_us, _ in hotspots.values()) == hidden - 120_000 - uncertain
    # nobody's: 20 ms of each of four traces without a stack, 10 ms of each of four whose stacks share no root


def test_a_func_of_uncertain_time_alone_has_a_row_and_no_views(key: str) -> None:
    post(key, profiled(busy("v", "A B P\n-")))
    fold_all()
    assert rows(BY_NAME) == [("A", 0, 0, 10_000, 0, 0, 0)]


def test_a_view_counts_once_it_has_js_of_a_func_whatever_came_first(key: str) -> None:
    hidden_alone, js = profiled(busy("v", "A P\n-")), busy("v", "A", seq=1)
    hidden_alone["trace"]["resources"] = js["trace"]["resources"]
    for frame in hidden_alone["trace"]["frames"]:
        if frame["name"] == "A":
            frame.update(js["trace"]["frames"][0])
    post(key, hidden_alone)
    fold_all()
    assert rows(BY_NAME) == [("A", 0, 0, 10_000, 0, 0, 0)]
    post(key, js)
    fold_all()
    assert rows(BY_NAME) == [("A", 0, 0, 10_000, 10_000, 10_000, 1)]
    post(key, busy("v", "A", seq=2))
    fold_all()
    assert rows(BY_NAME) == [("A", 0, 0, 10_000, 20_000, 20_000, 1)]


def test_the_top_functions_tell_hidden_time(key: str) -> None:
    post(key, busy("v", "A\n-\nA\n-"), make_envelope("calm", "A\n-"))
    fold_all()
    project_id = rows("SELECT id FROM projects_project")[0][0]
    table = select_functions(Slice(project_id=project_id), limit=10)
    functions = [
        (row.name, row.hidden_us, row.hidden_total_us, row.uncertain_us, row.self_us) for row in table.functions
    ]
    assert functions == [("A", 10_000, 10_000, 10_000, 30_000)]
    assert (table.time.hidden_us, table.time.idle_us) == (20_000, 10_000)
