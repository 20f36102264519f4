"""Samples put together from several, and parts of one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from profcore.stats.views import ViewColumns, ViewSample, keep_rows

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


def pick_views(sample: ViewSample, is_kept: npt.NDArray[np.bool_]) -> ViewSample:
    """Returns some views of a sample, with all its func ids; they are the whole population of the result."""
    number = np.cumsum(is_kept) - 1
    picked = keep_rows(sample, is_kept[sample.view])
    columns = pick_columns(sample.columns, is_kept)
    return replace(picked, view=number[picked.view], columns=columns, population=int(is_kept.sum()))


def join_columns(parts: Sequence[ViewColumns]) -> ViewColumns:
    """Returns the columns of several samples as one; page names of all."""
    return ViewColumns(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in NUMBER_COLUMNS},
        release=[release for part in parts for release in part.release],
        page_names={code: name for part in parts for code, name in part.page_names.items()},
    )


def pick_columns(columns: ViewColumns, is_kept: npt.NDArray[np.bool_]) -> ViewColumns:
    """Returns the columns of some views."""
    return replace(
        columns,
        **{name: getattr(columns, name)[is_kept] for name in NUMBER_COLUMNS},
        release=[columns.release[at] for at in np.flatnonzero(is_kept).tolist()] if columns.release else (),
    )
