"""Query parameters and errors as the OpenAPI document describes them."""

from typing import Any, Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from aggregate.selectors.exports.requests import AXES, ENGINES, SOURCES
from aggregate.selectors.slice.slices import AS_STORED, DISPLAY
from dashboard.api.core.encoding import (
    ErrorShape,
)
from profcore.formats.slice import SEGMENTS
from profcore.trace.dimensions import DIMENSIONS


def _many(
    name: str, what: str, kind: Any = OpenApiTypes.STR, enum: Any = None
) -> OpenApiParameter:  # Any: spectacular's
    return OpenApiParameter(name, kind, many=True, description=f"{what} Repeatable; absent means all.", enum=enum)


FILTER_PARAMS: Final = [
    _many("release", "A release."),
    _many("page", "A page, by its route."),
    _many("from", "ISO 8601 or epoch ms; rounded down to a bucket."),
    _many("to", "ISO 8601 or epoch ms; rounded up to a bucket. The n-th `from` and `to` are a pair."),
    *(
        _many(dimension.name, f"{dimension.description.capitalize()}.", enum=dimension.values)
        for dimension in DIMENSIONS
    ),
]


SLICE_PARAMS: Final = [
    *FILTER_PARAMS,
    OpenApiParameter(DISPLAY, enum=[AS_STORED], description="Functions as they are stored, without display rules."),
]


FINE_PARAMS: Final = [
    _many("view", "A page view's id."),
    _many("trace", "A trace's id; its raw body must still be kept."),
    _many("tag", "`key:value`, read from raw bodies. A trace must have all of them."),
    _many("func_over", "`ID:MS`: views in which this function's total exceeds MS milliseconds. All must hold."),
]


# The fields in which two slices may differ; both share the others.
SIDE_PARAMS: Final = [
    _many(f"{side}_{param.name}", f"`{param.name}` of the {side} only.")
    for side in ("base", "head")
    for param in FILTER_PARAMS
]


EXPORT_PARAMS: Final = [
    OpenApiParameter("segment", enum=SEGMENTS, description="One track per value, if the format has tracks."),
    OpenApiParameter("axis", enum=AXES, description="`time`, the default for views and traces, or `sum`."),
    OpenApiParameter("engine", enum=ENGINES, description="`leaves`: adds the engine's work below the functions."),
    OpenApiParameter("sources", enum=SOURCES, description="`content`: adds the texts of original sources."),
    *SIDE_PARAMS,
]


BUILDS_ONLY: Final = OpenApiResponse(ErrorShape, "Only administrators and tokens made with --sourcemaps.")
ERRORS: Final = {
    400: OpenApiResponse(ErrorShape, "A parameter is unknown or has no usable value."),
    401: OpenApiResponse(ErrorShape, "No credentials, or a token that is unknown or revoked."),
    404: OpenApiResponse(ErrorShape, "There is no such project, or you cannot read it."),
}
