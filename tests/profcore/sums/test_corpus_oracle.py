"""The whole recorded corpus equals an independent, slow reference: every func and every part, exactly."""

from dataclasses import dataclass, field
from functools import cache
from typing import Final
from uuid import UUID

import pytest

from profcore.sums.blobs import decode_call_tree, decode_contribution, encode_call_tree, encode_contribution
from profcore.sums.calltree import total_us
from profcore.sums.fold import CellFold, contribution_of, fold_trace
from profcore.trace.funcs import FuncKey, FuncTable
from profcore.trace.wire import Limits, decode_envelope
from tests.corpus import Json, corpus_envelopes, expected
from tests.profcore.trace.wire.refusals import body_of

Group = tuple[str, str, str]  # app, release, page
PARTS: Final = ("js", "hidden", "idle", "unobserved", "profiler", "span")
COLUMNS: Final = ("self_us", "total_us", "self_samples", "total_samples")
GROUPS: Final = [(group["app"], group["release"], group["page"]) for group in expected()]


@dataclass
class FoldedGroup:
    """One group of the corpus, folded as one cell."""

    funcs: FuncTable = field(default_factory=FuncTable)
    cell: CellFold[Group] = field(default_factory=lambda: CellFold(("", "", "")))


@cache
def folded_corpus() -> dict[Group, FoldedGroup]:
    """Decodes and folds every trace of the corpus, as ingest and the fold would."""
    groups: dict[Group, FoldedGroup] = {}
    for app, wire in corpus_envelopes():
        envelope = decode_envelope(body_of(wire), Limits())
        page = envelope.page or ""
        group = groups.setdefault((app, envelope.release, page), FoldedGroup())
        fold = fold_trace(envelope, page=page, funcs=group.funcs)
        group.cell.add(envelope.viewId, fold, is_truncated=False)
    return groups


def expected_of(group: Group) -> Json:
    """Returns the reference's result for a group."""
    return next(found for found in expected() if (found["app"], found["release"], found["page"]) == group)


def expected_funcs(group: Group) -> dict[FuncKey, dict[str, int]]:
    """Returns the reference's row of each func."""
    rows = {}
    for row in expected_of(group)["functions"]:
        key = FuncKey(row["uri"], row["line"], row["column"], row["name"])
        rows[key] = {column: row[column] for column in (*COLUMNS, "views")}
    return rows


def test_the_corpus_is_what_the_reference_saw() -> None:
    assert set(folded_corpus()) == set(GROUPS)
    assert sum(group["traces"] for group in expected()) == 560
    for group, folded in folded_corpus().items():
        assert sum(view.traces for view in folded.cell.views.values()) == expected_of(group)["traces"]


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_every_part_of_the_time_is_the_references(group: Group) -> None:
    views = folded_corpus()[group].cell.views.values()
    found = {part: sum(getattr(view.parts, f"{part}_us") for view in views) for part in PARTS}
    assert found == expected_of(group)["time_us"]
    assert sum(view.parts.samples for view in views) == expected_of(group)["samples"]


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_every_func_is_the_references(group: Group) -> None:
    folded = folded_corpus()[group]
    found: dict[FuncKey, dict[str, int]] = {}
    for view in folded.cell.views.values():
        # through the blob, as a stored contribution is read
        blob = encode_contribution(contribution_of(view.sums, range(len(folded.funcs.keys))))
        contribution = decode_contribution(blob)
        for position, func in enumerate(contribution.func):
            if not contribution.total_samples[position]:
                # a caller of the profiler's own built-in: hidden time, and no JS that the reference could have seen
                assert contribution.total_us[position] == 0 < contribution.hidden_total_us[position]
                continue
            row = found.setdefault(folded.funcs.keys[func], dict.fromkeys((*COLUMNS, "views"), 0))
            row["views"] += 1
            for column in COLUMNS:
                row[column] += getattr(contribution, column)[position]
    assert found == expected_funcs(group)


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_the_call_tree_holds_the_self_time_of_every_func(group: Group) -> None:
    folded = folded_corpus()[group]
    tree = decode_call_tree(encode_call_tree(folded.cell.tree.tree))
    assert tree == folded.cell.tree.tree
    known = expected_funcs(group)
    self_us: dict[FuncKey, int] = {}
    for node, func in enumerate(tree.func):
        key = folded.funcs.keys[func]
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
