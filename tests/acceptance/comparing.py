"""The recorded corpus as samples of views, by app, page and release, with names from its source maps."""

import gzip
import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from profcore.stats.culprits import FindCallers, find_callers
from profcore.stats.views import ViewColumns, ViewSample, group_funcs, sample_of
from profcore.sums.blobs import Contribution
from profcore.sums.calltree import CallTreeBuilder
from profcore.sums.fold import ViewFold, contribution_of, fold_trace
from profcore.trace.dimensions import classify_device
from profcore.trace.funcs import FuncKey, FuncTable
from profcore.trace.weights import TimeParts
from profcore.trace.wire import Envelope
from tests.acceptance.recorded import recorded_traces

DATA: Final = Path(__file__).parents[1] / "data"
Page = tuple[str, str]


@dataclass(slots=True)
class Views:
    """The views of one app, page and release."""

    contributions: list[Contribution] = field(default_factory=list)
    parts: list[TimeParts] = field(default_factory=list)
    device_class: list[int] = field(default_factory=list)
    tree: CallTreeBuilder = field(default_factory=CallTreeBuilder)


@cache
def regressions() -> list[dict[str, Any]]:
    """Returns the changes injected into each app, as stored in the JSON."""
    entries: list[dict[str, Any]] = json.loads((DATA / "corpus-regressions.json").read_text())
    return entries


def unhash(uri: str | None) -> str | None:
    """Returns a URI without the content hash that esbuild puts into file names."""
    return uri and re.sub(r"-[0-9A-Z]{8}(?=\.)", "", uri)


@cache
def names() -> dict[FuncKey, str]:
    """Returns `source path:function` of each func that a source map reaches."""
    with gzip.open(DATA / "corpus-names.json.gz") as file:
        return {
            FuncKey(uri, line, column, name): f"{path}:{label}"
            for uri, line, column, name, path, label in json.load(file)
        }


@cache
def folded() -> tuple[FuncTable, dict[tuple[str, str, str], Views]]:
    """Folds the corpus in this process."""
    funcs = FuncTable()
    groups: dict[tuple[str, str, str], Views] = {}
    for (app, release, page), envelopes in recorded_traces().items():
        views = groups.setdefault((app, page, release), Views())
        for envelope in envelopes:
            _add(views, envelope, page, funcs)
    return funcs, groups


def _add(views: Views, envelope: Envelope, page: str, funcs: FuncTable) -> None:
    fold = fold_trace(envelope, page=page, funcs=funcs)
    view = ViewFold()
    view.add(fold, is_truncated=False)
    contribution = contribution_of(view.sums, range(len(funcs.keys)))
    views.contributions.append(contribution)
    views.tree.add_stacks(fold.prefix, fold.func, fold.stack_us, fold.stack_samples, fold.stack_hidden_us)
    views.parts.append(fold.parts)
    device = envelope.device
    assert device is not None
    views.device_class.append(
        classify_device(device.memory, None if device.cores is None else int(device.cores), device.mobile)
    )


def page_samples(app: str, page: str, base: str, head: str) -> tuple[ViewSample, ViewSample, list[str]]:
    """Returns both releases' samples of a page, by name, and the names by group id."""
    _, groups = folded()
    group_of, labels = numbered()
    samples = []
    for release in (base, head):
        views = groups[app, page, release]
        columns = ViewColumns.of(
            [parts.js_us for parts in views.parts], [parts.hidden_us for parts in views.parts], views.device_class
        )
        sample = sample_of(views.contributions, columns)
        samples.append(group_funcs(sample, group_of[sample.func_ids]))
    return samples[0], samples[1], labels


@cache
def numbered() -> tuple[npt.NDArray[np.int64], list[str]]:
    """Returns the group id of each func, and the names by group id."""
    label_of = names()
    labels = [label_of.get(key) or f"{unhash(key.uri)}:{key.line}:{key.column}:{key.name}" for key in folded()[0].keys]
    index = {label: position for position, label in enumerate(dict.fromkeys(labels))}
    return np.array([index[label] for label in labels]), list(index)


def page_callers(app: str, page: str, release: str) -> FindCallers:
    """Returns what finds callers in the call tree of a page in one release."""
    tree = folded()[1][app, page, release].tree.tree
    numbers = {func: (int(group),) for func, group in enumerate(numbered()[0])}

    def find(hidden: Collection[int], seen: Collection[int]) -> set[int]:
        return find_callers(tree.prefix, tree.func, tree.self_us, numbers, hidden=hidden, seen=seen)

    return find
