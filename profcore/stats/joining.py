"""Samples put together from several, and parts of one."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from profcore.stats.views import IntColumn, ViewColumns, ViewSample, keep_rows

NUMBER_COLUMNS: Final = (
    "js_us",
    "hidden_us",
    "device_class",
    "start",
    "sample_rate",
    "page",
    "tag",
    "hour",
    "traits",
    "session",
)


def split_views(sample: ViewSample, part: IntColumn, count: int) -> list[ViewSample]:
    """Returns the views of each of so many parts, by number; views, and rows by their views, are in the order of parts.

    Each has all func ids, and its views are the whole population. Nothing is copied.
    """
    of_views = np.searchsorted(part, np.arange(count + 1)).tolist()
    of_rows = np.searchsorted(sample.view, of_views).tolist()
    return [
        replace(
            keep_rows(sample, slice(*rows)),
            view=sample.view[slice(*rows)] - views[0],
            columns=pick_columns(sample.columns, slice(*views)),
            population=views[1] - views[0],
        )
        for views, rows in zip(pairwise(of_views), pairwise(of_rows), strict=True)
    ]


def join_columns(parts: Sequence[ViewColumns]) -> ViewColumns:
    """Returns the columns of several samples as one; page names of all."""
    return ViewColumns(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in NUMBER_COLUMNS},
        release=[release for part in parts for release in part.release],
        page_names={code: name for part in parts for code, name in part.page_names.items()},
    )


def pick_columns(columns: ViewColumns, is_kept: npt.NDArray[np.bool_] | slice) -> ViewColumns:
    """Returns the columns of some views."""
    release: Sequence[str] = ()
    if columns.release:
        release = [columns.release[at] for at in np.arange(columns.js_us.size)[is_kept].tolist()]
    return replace(columns, **{name: getattr(columns, name)[is_kept] for name in NUMBER_COLUMNS}, release=release)
