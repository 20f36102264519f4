"""The whole recorded corpus equals an independent, slow reference: every func and every part, exactly."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple
from uuid import UUID

import pytest

from profcore.kernel import find_kernel
from profcore.sums.batch_sums import BatchSums, ViewTotals, open_sums
from profcore.sums.blobs import decode_contribution
from profcore.sums.calltree import total_us
from profcore.trace.funcs import FuncKey, FuncTable
from profcore.trace.wire import Limits
from tests.corpus import Json, corpus_envelopes, expected
from tests.profcore.trace.wire.refusals import body_of
from tests.profcore.twins.comparing import needs_kernel

Group = tuple[str, str, str]  # app, release, page
PARTS: Final = ("js", "hidden", "idle", "unobserved", "profiler", "span")
COLUMNS: Final = ("self_us", "total_us", "self_samples", "total_samples")
TWINS: Final = pytest.mark.parametrize("twin", ["pure", pytest.param("compiled", marks=needs_kernel)])
GROUPS: Final = [(group["app"], group["release"], group["page"]) for group in expected()]


@dataclass
class FoldedGroup:
    """One group of the corpus, folded as one cell."""

    sums: BatchSums[str]
    views: Mapping[UUID, ViewTotals] = field(default_factory=dict)
    blobs: list[bytes] = field(default_factory=list)  # of the views' contributions, as they are stored


class PlainBody(NamedTuple):
    """A body as it is stored, not packed."""

    body: bytes
    is_gzip: bool = False

    def expand(self) -> bytes:
        return self.body


@cache
def folded_corpus(twin: str) -> dict[Group, FoldedGroup]:
    """Folds every trace of the corpus by a twin; func ids are the indexes of the group's table."""
    kernel = find_kernel(twin).module
    groups: dict[Group, FoldedGroup] = {}
    for app, wire in corpus_envelopes():
        page = wire.get("page") or ""
        group = groups.get((app, wire["release"], page))
        if group is None:
            sums = open_sums(kernel, FuncTable(), Limits(), max_bytes=2**30)
            group = groups[app, wire["release"], page] = FoldedGroup(sums)
        group.sums.add("cell", UUID(wire["viewId"]), PlainBody(body_of(wire)), page=page, is_truncated=False)
    for group in groups.values():
        group.sums.settle(range(len(group.sums.funcs.keys)))
        group.views = group.sums.views("cell")
        group.blobs = [group.sums.grow("cell", view_id, cell_id=1) for view_id in group.views]
    return groups


def expected_of(group: Group) -> Json:
    """Returns the reference's result for a group."""
    return next(entry for entry in expected() if (entry["app"], entry["release"], entry["page"]) == group)


def expected_funcs(group: Group) -> dict[FuncKey, dict[str, int]]:
    """Returns the reference's row of each func."""
    rows = {}
    for row in expected_of(group)["functions"]:
        key = FuncKey(row["uri"], row["line"], row["column"], row["name"])
        rows[key] = {column: row[column] for column in (*COLUMNS, "views")}
    return rows


@TWINS
def test_the_corpus_is_what_the_reference_saw(twin: str) -> None:
    assert set(folded_corpus(twin)) == set(GROUPS)
    assert sum(group["traces"] for group in expected()) == 560
    for group, folded in folded_corpus(twin).items():
        assert sum(view.traces for view in folded.views.values()) == expected_of(group)["traces"]


@TWINS
@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_every_part_of_the_time_is_the_references(twin: str, group: Group) -> None:
    views = folded_corpus(twin)[group].views.values()
    times_us = {part: sum(getattr(view.parts, f"{part}_us") for view in views) for part in PARTS}
    assert times_us == expected_of(group)["time_us"]
    assert sum(view.parts.samples for view in views) == expected_of(group)["samples"]


@TWINS
@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_every_func_is_the_references(twin: str, group: Group) -> None:
    folded = folded_corpus(twin)[group]
    funcs: dict[FuncKey, dict[str, int]] = {}
    for blob in folded.blobs:
        contribution = decode_contribution(blob)
        for position, func in enumerate(contribution.func):
            if not contribution.total_samples[position]:
                # a caller of the profiler's own built-in: hidden time, and no JS that the reference could have seen
                assert contribution.total_us[position] == 0 < contribution.hidden_total_us[position]
                continue
            row = funcs.setdefault(folded.sums.funcs.keys[func], dict.fromkeys((*COLUMNS, "views"), 0))
            row["views"] += 1
            for column in COLUMNS:
                row[column] += getattr(contribution, column)[position]
    assert funcs == expected_funcs(group)


@TWINS
@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_the_call_tree_holds_the_self_time_of_every_func(twin: str, group: Group) -> None:
    folded = folded_corpus(twin)[group]
    tree = folded.sums.tree("cell").tree()
    known = expected_funcs(group)
    self_us: dict[FuncKey, int] = {}
    for node, func in enumerate(tree.func):
        key = folded.sums.funcs.keys[func]
        if not tree.self_us[node] and key not in known:
            continue  # a func with only hidden time
        self_us[key] = self_us.get(key, 0) + tree.self_us[node]
    assert self_us == {key: row["self_us"] for key, row in known.items()}
    roots = sum(total for total, prefix in zip(total_us(tree), tree.prefix, strict=True) if prefix < 0)
    assert roots == expected_of(group)["time_us"]["js"]


def test_ids_of_the_corpus_are_the_same_in_every_run() -> None:
    envelopes = [envelope for _, envelope in corpus_envelopes()]
    assert len({envelope["viewId"] for envelope in envelopes}) == len({e["traceId"] for e in envelopes}) == 560
    assert all(UUID(envelope["viewId"]).version == 5 for envelope in envelopes)
