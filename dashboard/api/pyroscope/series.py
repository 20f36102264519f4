"""`SelectSeries`: the time of a slice by bucket and label."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from google.protobuf.message import Message

from aggregate.selectors.project.label_sums import BucketTimes, select_label_sums
from aggregate.selectors.slice.slices import VALUE_FIELDS
from dashboard.api.pyroscope.connect import ConnectView, Unimplemented
from dashboard.api.pyroscope.labels import LABELS, SERVICE, TYPE, check_label, resolve_question
from dashboard.api.pyroscope.messages import make_message
from dashboard.web.params import ParamError
from dashboard.web.project_pages import PageTraits
from profcore.formats.pyroscope.flamebearer import NS_PER_US
from profcore.formats.pyroscope.points import Bucket, Grid, spread
from profcore.formats.pyroscope.profile_types import ProfileType

MAX_STEPS: Final = 11_000  # of a series, as in Prometheus
MAX_POINTS: Final = 100_000  # of an answer: 30 MB, and in JSON 3 s, while it is written
MAX_STEP_S: Final = 10 * 366 * 86_400.0


class SelectSeriesView(ConnectView):
    """The points of each series: at `t`, the ns of the views in (t - step, t]."""

    traits = PageTraits(heavy="yes", on_replica=True)
    message = "SelectSeriesRequest"

    def answer(self, question: Any) -> Message:  # Any: messages have no stubs
        labels = sorted(set(question.group_by))
        for label in labels:
            check_label(label, (*LABELS, TYPE))
        if not 0 < question.step <= MAX_STEP_S:
            raise ParamError("step", "step must be a number of seconds above 0.")
        if question.aggregation or question.HasField("stack_trace_selector"):
            raise Unimplemented("Fieldflame only sums up series, and of whole stacks.")
        type_, slice_ = resolve_question(self.project, question)
        if slice_ is None:
            return make_message("SelectSeriesResponse")
        start, end = slice_.from_at, slice_.to_at
        assert start is not None, "`resolve_question` has refused an open time"
        assert end is not None
        grid = Grid(_epoch_ms(start), _epoch_ms(end), max(round(question.step * 1000), 1))
        if grid.count > MAX_STEPS:
            raise ParamError("step", f"{grid.count} points are more than {MAX_STEPS}. Take a longer step.")
        fields = [label for label in labels if label in VALUE_FIELDS]
        series = _group(select_label_sums(slice_, fields), type_, limit=question.limit)
        if grid.count * len(series) > MAX_POINTS:
            raise ParamError("step", f"{len(series)} series of {grid.count} points are too many. Take a longer step.")
        constant = {SERVICE: self.project.slug, TYPE: type_.id}
        return make_message(
            "SelectSeriesResponse",
            series=[
                _write_series({**constant, **dict(zip(fields, values, strict=True))}, labels, spread(buckets, grid))
                for values, buckets in series
            ],
        )


def _group(
    sums: Sequence[BucketTimes], type_: ProfileType, *, limit: int
) -> list[tuple[tuple[str, ...], list[Bucket]]]:
    """Returns the buckets of each series, in order of its values; with a limit, of those with the most time."""
    now_ms = _epoch_ms(datetime.now(UTC))
    series: dict[tuple[str, ...], list[Bucket]] = {}
    for row in sums:
        starts_ms = _epoch_ms(row.starts_at)
        # What is still to come of an hour has no views.
        ends_ms = min(_epoch_ms(row.ends_at), max(now_ms, starts_ms + 1))
        us = type_.add_up(row.js_us, row.hidden_us, row.engine_us)
        series.setdefault(row.values, []).append(Bucket(starts_ms, ends_ms, us))
    heaviest = sorted(series.items(), key=lambda pair: (-sum(bucket.us for bucket in pair[1]), pair[0]))
    return sorted(heaviest[: limit if limit > 0 else None])


def _write_series(values: Mapping[str, str], labels: Sequence[str], points: Sequence[tuple[int, float]]) -> Message:
    return make_message(
        "Series",
        labels=[make_message("LabelPair", name=label, value=values[label]) for label in labels],
        points=[make_message("Point", value=us * NS_PER_US, timestamp=at_ms) for at_ms, us in points],
    )


def _epoch_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
