"""What budgets and alerts on new third parties ask: data that is checked when it is written, and typed when it is
read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from django.conf import settings
from django.core.exceptions import ValidationError

from alerts.models import AlertRule
from profcore.trace.dimensions import DEVICE_CLASSES
from profcore.trace.funcs import UNSTORABLE

Measure = Literal["time", "share", "inp_script", "forced_layout", "hangs"]
By = Literal["function", "package", "party"]
# What only raw traces tell: a second's work for each day.
TRACE_MEASURES: Final[tuple[Measure, ...]] = ("inp_script", "forced_layout")
MEASURES: Final[tuple[Measure, ...]] = ("time", "share", *TRACE_MEASURES, "hangs")
SUBJECTS: Final[tuple[By, ...]] = ("function", "package", "party")
NEW_SUBJECTS: Final[tuple[By, ...]] = ("package", "party")
MAX_MS: Final = 3_600_000.0  # an hour per view: a larger one is probably in another unit
MAX_NAME_CHARS: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertQuery:
    """A bound on a daily figure. Script time is seen and hidden.

    The measure `time` is script time per view, ms. `share` is that of a function, package or party (0 to 1).
    `inp_script` is the 75th percentile, over views with an interaction, of script time in their longest one, ms.
    `forced_layout` is forced style and layout per view, ms.
    `hangs` is the number of reports of pages that did not answer; nothing is known of their devices.

    An alert on new third parties has the measure "time", a `by` and no `name`: it asks about each that was not there
    before. Without `page` and `device` it is about all of them.
    """

    measure: Measure
    limit: float
    page: str | None = None
    device: str | None = None
    by: By | None = None
    name: str | None = None


def read_alert_query(alert: AlertRule) -> AlertQuery:
    """Returns the question of a budget or an alert on new third parties."""
    return AlertQuery(**alert.question)


def clean_alert_query(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON
    """Returns the question of a kind of alert for its row. Raises `ValidationError` for the wrong field."""
    measure = fields.get("measure") or "time"
    by, name = fields.get("by") or None, fields.get("name") or None
    page, device = fields.get("page") or None, fields.get("device") or None
    if kind not in (AlertRule.Kind.BUDGET, AlertRule.Kind.NEW_THIRD_PARTIES):
        raise ValidationError({"kind": "Choose a budget or an alert on new third parties."})
    if kind == AlertRule.Kind.NEW_THIRD_PARTIES and measure != "time":
        raise ValidationError(
            {"measure": "An alert on new third parties measures time per view: leave the measure out."}
        )
    if measure not in MEASURES:
        raise ValidationError({"measure": f"Choose one of {', '.join(MEASURES)}."})
    limit = _clean_limit(fields.get("limit"), cast("Measure", measure))
    if device is not None and device not in DEVICE_CLASSES:
        raise ValidationError({"device": f"Choose one of {', '.join(DEVICE_CLASSES)}."})
    for field, text in (("page", page), ("name", name)):
        most = settings.INGEST_MAX_PAGE_CHARS if field == "page" else MAX_NAME_CHARS
        if text is not None and (not isinstance(text, str) or len(text) > most or UNSTORABLE.search(text)):
            raise ValidationError({field: f"Give a text of at most {most} characters."})
    if kind == AlertRule.Kind.NEW_THIRD_PARTIES:
        if by not in NEW_SUBJECTS:
            raise ValidationError({"by": f"Choose one of {', '.join(NEW_SUBJECTS)}."})
        _refuse({"name": name}, "An alert on new third parties is about all that are new: leave the name out.")
    elif measure == "share":
        if by not in SUBJECTS:
            raise ValidationError({"by": f"Choose one of {', '.join(SUBJECTS)}."})
        if name is None:
            raise ValidationError({"name": "Give the name of the function, package or party."})
    else:
        others = {"by": by, "name": name} | ({"device": device} if measure == "hangs" else {})
        _refuse(others, f"This does not go with the measure {measure}: leave it out.")
    query = {"measure": measure, "limit": limit, "page": page, "device": device, "by": by, "name": name}
    return {field: value for field, value in query.items() if value is not None}


def _refuse(fields: Mapping[str, object], why: str) -> None:
    """Raises `ValidationError` for the first field that has a value: a bound on something else must not look right."""
    for name, value in fields.items():
        if value is not None:
            raise ValidationError({name: why})


def _clean_limit(value: object, measure: Measure) -> float:
    if measure == "hangs" and value == 0 and not isinstance(value, bool):
        return 0.0  # each one is reported
    most = 1.0 if measure == "share" else MAX_MS
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        what = {"share": "a share", "hangs": "a number of hangs"}.get(measure, "milliseconds")
        raise ValidationError({"limit": f"Give {what}: a number above 0, at most {most:,.0f}."})
    return float(value)
