"""The files of a history have the exact sums of the traces, by SQL, and those that the read API answers."""

from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from django.test import Client

from aggregate.history.columns import CELL_SUMS, MARKER_COLUMNS
from aggregate.maintenance.merging import merge_old_hours
from profcore.trace.dimensions import BROWSERS, CACHES, DEVICE_CLASSES, NAVIGATIONS
from profcore.trace.funcs import FuncKey
from projects.creation import create_project
from projects.tokens import create_token
from tests.aggregate.expected_sums import SUM_NAMES, Entry, cells_of, enter, hotspots_of, trees_of
from tests.aggregate.history.files import ask, export
from tests.aggregate.old_views import NOW, OLD
from tests.aggregate.posting import fold_all, post
from tests.corpus import Json, corpus_envelopes
from tests.envelopes import make_envelope

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(10)]
PLACE: Final = "release, page, day, device_class, browser, navigation, cache"
CHROME: Final = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
# Names are any text, and so are pages and releases: what CSV, SQL, folders and terminals treat as their own.
HOSTILE: Final = [
    'say "hi", now',
    "two\nlines\r\nand a return\r",
    "'; DROP TABLE cells; --",
    "tab\there \\ and \\n \\",
    "\u2028\u2029\u202eright to left\x1b[31m",
    "😀 ünï ﷽ \ufeff",
    "../../etc/passwd",
    "=1+1",
    "NULL",
    "__HIVE_DEFAULT_PARTITION__",
    " ",
    '"',
    "",
]


def recorded_views() -> list[Json]:
    """Returns recorded views of two releases and several pages, on two days, two devices and two browsers."""
    chosen = [envelope for _, envelope in corpus_envelopes()][::12]
    return [
        {
            **envelope,
            "viewStart": (OLD - timedelta(days=n % 2) + timedelta(hours=n % 5)).timestamp() * 1000,
            "device": {"mobile": bool(n % 3), "cores": 2},
            "userAgent": CHROME if n % 4 else "nobody's",
            "reason": "pagehide" if n % 7 == 0 else "timer",
            **({"navigation": "route"} if n % 5 == 2 else {}),
            **({"cache": "warm"} if n % 4 == 1 else {}),
        }
        for n, envelope in enumerate(chosen)
    ]


def hostile_views() -> list[Json]:
    """Returns a view for each hostile text, which is a function's name, its page and its release."""
    views = []
    for n, text in enumerate(HOSTILE):
        envelope = make_envelope(f"h{n}", "A B\nA\nC", release=text or "-", page=f"/{text or '-'}/")
        envelope["trace"]["frames"][1]["name"] = text
        envelope["trace"]["resources"] = [f"https://shop.example/{n},\"'%0A.js"]
        views.append(
            {
                **envelope,
                "viewStart": OLD.timestamp() * 1000,
                "device": {"mobile": False},
                "userAgent": CHROME,
                "reason": "timer",
            }
        )
    return views


def make_history(root: Path, views: list[Json]) -> list[Entry]:
    """Folds views, merges their hours, writes the history; returns the expected entries."""
    create_project(slug="shop", key="shop-key", origins=["*"])
    for start in range(0, len(views), 20):
        post("shop-key", *views[start : start + 20])
    fold_all()
    merge_old_hours(NOW)
    said = export(root)
    assert ", 0 left out, 0 failed" in said
    return [enter(view) for view in views]


def to_names(place: tuple[Any, ...]) -> tuple[Any, ...]:
    release, page, day_at, device, browser, navigation, cache = place
    names = DEVICE_CLASSES[device], BROWSERS[browser], NAVIGATIONS[navigation], CACHES[cache]
    return (release, page, day_at.date(), *names)


def assert_exact(root: Path, entries: list[Entry]) -> None:
    """Compares all tables with the sums of the entries, each added up by itself."""
    plain = [name for name in CELL_SUMS if name not in MARKER_COLUMNS]
    markers = ", ".join(f"coalesce({name}, 0)" for name in MARKER_COLUMNS)
    cells = ask(root, f"SELECT {PLACE}, {', '.join(plain)}, [{markers}] FROM cells")
    assert {row[:7]: row[7:] for row in cells} == {to_names(key): sums for key, sums in cells_of(entries).items()}

    # Each function's key comes from `functions`: the join loses no row, and no text is another.
    spots = ask(
        root,
        f"""SELECT h.release, h.page, day, device_class, browser, navigation, cache, f.uri, f.line,
                   f.column_number, f.name,
                   {", ".join(f"h.{name}" for name in (*SUM_NAMES, "views"))}
            FROM hotspots h JOIN functions f USING (project, day, release, func_id)""",
    )
    expected = {(to_names(place), func): sums for (place, func), sums in hotspots_of(entries).items()}
    assert {(row[:7], FuncKey(*row[7:11])): row[11:] for row in spots} == expected

    paths: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0])
    for (place, path), sums in trees_of(entries).items():
        key = (*to_names(place)[:3], tuple((func.uri, func.name, func.line, func.column) for func in path))
        paths[key] = [a + b for a, b in zip(paths[key], sums, strict=True)]
    assert read_paths(root) == dict(paths)


def read_paths(root: Path) -> dict[Any, list[int]]:
    """Returns the sums of each path of functions that has some, by release, page and day."""
    nodes = ask(
        root,
        """SELECT n.release, n.page, day, n.node_key, n.parent_key, f.uri, f.name, f.line, f.column_number,
                  n.self_us, n.self_samples, n.hidden_us, n.depth
           FROM call_nodes n JOIN functions f USING (project, day, release, func_id) ORDER BY n.depth""",
    )
    paths: dict[Any, tuple[Any, ...]] = {}
    by_path = {}
    for release, page, day, key, parent, uri, name, line, column, *sums, depth in nodes:
        above = paths[release, page, day, parent] if parent is not None else ()
        assert len(above) == depth
        paths[release, page, day, key] = (*above, (uri, name, line, column))
        if any(sums):
            by_path[release, page, day, paths[release, page, day, key]] = sums
    assert len(paths) == len(nodes)
    return by_path


def test_recorded_views_have_their_exact_sums(tmp_path: Path) -> None:
    entries = make_history(tmp_path, recorded_views())
    assert len({entry.group[0] for entry in entries}) == 2
    assert len({entry.group[1] for entry in entries}) > 5
    assert_exact(tmp_path, entries)
    # Self times sum up to the time of JS, and so do totals of roots.
    assert ask(tmp_path, "SELECT sum(js_us), sum(views) FROM cells") == ask(
        tmp_path,
        "SELECT (SELECT sum(self_us) FROM hotspots), count(*) FROM (SELECT unnest(range(sum(views)::INT)) FROM cells)",
    )
    roots = "SELECT sum(total_us) FROM call_nodes WHERE parent_key IS NULL"
    assert ask(tmp_path, roots) == ask(tmp_path, "SELECT sum(js_us) FROM cells")


def test_slices_answer_as_the_api_does(tmp_path: Path, client: Client) -> None:
    make_history(tmp_path, recorded_views())
    page = ask(tmp_path, "SELECT page FROM cells GROUP BY page ORDER BY sum(js_us) DESC, page LIMIT 1")[0][0]
    day = ask(tmp_path, "SELECT max(day) FROM cells")[0][0]
    slices: list[tuple[dict[str, str], str]] = [
        ({}, "true"),
        ({"page": page}, f"page = '{page}'"),
        ({"release": "1.1.0"}, "release = '1.1.0'"),
        ({"device": "mobile-low", "browser": "chrome"}, "device_class = 'mobile-low' AND browser = 'chrome'"),
        ({"navigation": "route"}, "navigation = 'route'"),
        ({"from": f"{day}", "to": f"{day + timedelta(days=1)}"}, f"day = '{day}'"),
    ]
    headers = {"Authorization": f"Bearer {create_token(project=make_shop())[1]}"}
    for params, where in slices:
        answer = client.get(
            "/api/v1/projects/shop/functions", {**params, "limit": "1000", "display": "none"}, headers=headers
        ).json()
        file_rows = ask(
            tmp_path,
            f"""SELECT function_id, any_value(label), sum(self_us), sum(total_us), sum(hidden_us), sum(self_samples),
                       sum(views) FROM hotspots WHERE {where} GROUP BY 1 HAVING sum(total_us) + sum(hidden_us) > 0""",
        )
        api_rows = [
            (
                *(row["id"], row["label"]),
                *(round(row[name] * 1000) for name in ("self_ms", "total_ms", "hidden_ms")),
                *(row["self_samples"], row["views"]),
            )
            for row in answer["functions"]
        ]
        assert set(api_rows) <= set(file_rows)  # the API lists a thousand
        assert len(api_rows) == min(answer["function_count"], 1000) > 0
        assert len(file_rows) == answer["function_count"]
        time = ask(tmp_path, f"SELECT sum(views), sum(js_us), sum(hidden_us), sum(span_us) FROM cells WHERE {where}")
        parts = (round(answer["time_ms"][name] * 1000) for name in ("js", "hidden", "span"))
        assert time == [(answer["views"], *parts)]


def make_shop() -> Any:
    from projects.models import Project

    return Project.objects.get(slug="shop")


def test_hostile_names_come_back_as_they_are(tmp_path: Path) -> None:
    entries = make_history(tmp_path, hostile_views())
    assert_exact(tmp_path, entries)
    names = {name for (name,) in ask(tmp_path, "SELECT name FROM functions")}
    assert {entry_name for entry_name in HOSTILE if entry_name} <= names
    assert {path.name for path in tmp_path.iterdir()} <= {
        *("cells", "hotspots", "call_nodes", "functions", "manifests", "writing")
    }
