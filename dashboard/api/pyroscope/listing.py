"""The methods that list: types of profiles, labels and their values, and the time that there is data of."""

from typing import Any

from google.protobuf.message import Message

from aggregate.selectors.project.label_sums import select_label_values, select_time_range
from aggregate.selectors.slice.slices import VALUE_FIELDS, Slice
from dashboard.api.pyroscope.connect import ConnectView
from dashboard.api.pyroscope.labels import (
    LABELS,
    SERVICE,
    TYPE,
    Selected,
    check_label,
    resolve_selectors,
)
from dashboard.api.pyroscope.messages import make_message
from dashboard.web.project_pages import PageTraits
from profcore.formats.pyroscope.profile_types import PROFILE_TYPES, ProfileType

READ = PageTraits(on_replica=True)


class ProfileTypesView(ConnectView):
    """The types, which are the same for every project. Grafana's test of a data source asks for nothing else."""

    traits = READ
    message = "ProfileTypesRequest"

    def answer(self, question: Any) -> Message:  # Any: messages have no stubs
        return make_message("ProfileTypesResponse", profile_types=[_write_type(type_) for type_ in PROFILE_TYPES])


def _write_type(type_: ProfileType) -> Message:
    fields = ("name", "sample_type", "sample_unit", "period_type", "period_unit")
    return make_message("ProfileType", ID=type_.id, **dict(zip(fields, type_.id.split(":"), strict=True)))


class LabelNamesView(ConnectView):
    """The labels, which are the same for every project."""

    traits = READ
    message = "LabelNamesRequest"

    def answer(self, question: Any) -> Message:  # Any: as above
        return make_message("LabelNamesResponse", names=sorted(LABELS))


class LabelValuesView(ConnectView):
    """The values of one label."""

    traits = READ
    message = "LabelValuesRequest"

    def answer(self, question: Any) -> Message:  # Any: as above
        label = question.name
        check_label(label, (*LABELS, TYPE))
        values = {values[label] for values in self.list_series(question, [label])}
        return make_message("LabelValuesResponse", names=sorted(values))

    def list_series(self, question: Any, labels: list[str]) -> list[dict[str, str]]:  # Any: as above
        """Returns the combinations of values of some labels that some selectors have data of."""
        found = resolve_selectors(
            self.project, question.matchers, start_ms=question.start, end_ms=question.end, labels=labels
        )
        return [values for selected in found for values in _combine(self.project.slug, selected, labels)]


class SeriesView(LabelValuesView):
    """The combinations of some labels; without any, of all."""

    message = "SeriesRequest"

    def answer(self, question: Any) -> Message:  # Any: as above
        labels = list(dict.fromkeys(question.label_names)) or list(LABELS)
        for label in labels:
            check_label(label, (*LABELS, TYPE))
        series = {tuple(sorted(values.items())) for values in self.list_series(question, labels)}
        return make_message("SeriesResponse", labels_set=[write_labels(pairs) for pairs in sorted(series)])


def _combine(project: str, selected: Selected, labels: list[str]) -> list[dict[str, str]]:
    fields = [label for label in labels if label in VALUE_FIELDS]
    rows = select_label_values(selected.slice_, fields)
    types = [{TYPE: type_.id} for type_ in selected.types] if TYPE in labels else [{}]
    service = {SERVICE: project} if SERVICE in labels else {}
    return [{**service, **type_, **dict(zip(fields, row, strict=True))} for row in rows for type_ in types]


def write_labels(pairs: tuple[tuple[str, str], ...]) -> Message:
    """Returns the labels of one series."""
    return make_message("Labels", labels=[make_message("LabelPair", name=name, value=value) for name, value in pairs])


class ProfileStatsView(ConnectView):
    """Whether there is data, and of which time."""

    traits = READ
    message = "GetProfileStatsRequest"

    def answer(self, question: Any) -> Message:  # Any: as above
        times = select_time_range(Slice(project_id=self.project.pk))
        if times is None:
            return make_message("GetProfileStatsResponse")
        oldest, newest = (round(at.timestamp() * 1000) for at in times)
        return make_message(
            "GetProfileStatsResponse", data_ingested=True, oldest_profile_time=oldest, newest_profile_time=newest
        )
