"""`functions`: the functions of a slice by their exact sums."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.functions.groups import GROUPINGS
from aggregate.selectors.statistics.estimates import TABLE_SORTS
from dashboard.api.core.encoding import (
    FunctionsShape,
)
from dashboard.api.core.parameters import ERRORS, FINE_PARAMS, SLICE_PARAMS, _many
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.queries import KINDS, MAX_FUNCTIONS, FunctionsQuery
from dashboard.web.params import MEASURES
from profcore.code.categories import FUNC_CATEGORIES


class FunctionsView(ProjectView):
    known_params = KINDS["functions"].known
    job_kind = "functions"

    @extend_schema(
        operation_id="functions",
        parameters=[
            *SLICE_PARAMS,
            *FINE_PARAMS,
            _many("category", "Only functions of this category.", enum=list(FUNC_CATEGORIES)),
            OpenApiParameter(
                "q", description="Only functions with this text in name, label or place; case does not matter."
            ),
            OpenApiParameter("group_by", enum=["function", *GROUPINGS], default="function"),
            OpenApiParameter("sort", enum=list(TABLE_SORTS), default="self_ms"),
            OpenApiParameter("measure", enum=list(MEASURES), default="self", description="Of `estimates`."),
            OpenApiParameter("limit", OpenApiTypes.INT, default=MAX_FUNCTIONS, description=f"1 to {MAX_FUNCTIONS}."),
        ],
        responses={200: FunctionsShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Lists the functions of a slice that have JS, hidden or uncertain time, with exact sums."""
        question = FunctionsQuery.read(request.query_params)
        return Response(question.answer(self.resolve_slice()))
