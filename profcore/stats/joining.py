"""Samples put together from several, and parts of one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from profcore.stats.views import ViewColumns, ViewSample, over_funcs

NUMBER_COLUMNS: Final = ("js_us", "hidden_us", "device_class", "navigation", "sample_rate", "page", "tag", "hour")


def join_samples(samples: Sequence[ViewSample]) -> ViewSample:
    """Returns samples with the same kind of func ids as one, in their order; at least one."""
    func_ids = np.unique(np.concatenate([sample.func_ids for sample in samples]))
    parts = [over_funcs(sample, func_ids) for sample in samples]
    starts = np.cumsum([0, *(sample.views for sample in parts)])
    return ViewSample(
        view=np.concatenate([part.view + start for part, start in zip(parts, starts.tolist(), strict=False)]),
        func=np.concatenate([part.func for part in parts]),
        self_us=np.concatenate([part.self_us for part in parts]),
        total_us=np.concatenate([part.total_us for part in parts]),
        hidden_us=np.concatenate([part.hidden_us for part in parts]),
        func_ids=func_ids,
        columns=join_columns([part.columns for part in parts]),
        population=sum(part.population for part in parts),
        is_complete=all(part.is_complete for part in parts),
    )


def pick_views(sample: ViewSample, is_kept: npt.NDArray[np.bool_]) -> ViewSample:
    """Returns some views of a sample, with all its func ids; they are the whole population of the result."""
    number = np.cumsum(is_kept) - 1
    rows = is_kept[sample.view]
    return replace(
        sample,
        view=number[sample.view[rows]],
        func=sample.func[rows],
        self_us=sample.self_us[rows],
        total_us=sample.total_us[rows],
        hidden_us=sample.hidden_us[rows],
        columns=pick_columns(sample.columns, is_kept),
        population=int(is_kept.sum()),
    )


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
