"""`compare`: two slices of a project, function by function, and how certain each difference is."""

from typing import Final

from django.http import HttpResponse, QueryDict
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from aggregate.selectors.functions.groups import GROUPINGS
from aggregate.selectors.slice.sides import SIDE_FIELDS, resolve_sides
from aggregate.selectors.slice.slices import SLICE_FIELDS, Slice
from aggregate.selectors.statistics.comparisons import STRATIFY_BY_TAG, SliceComparison
from dashboard.api.core.encoding import (
    DisplayShape,
    OriginalShape,
    RenamedFromShape,
    SliceShape,
    encode_compared,
    encode_shown,
    encode_slice,
    func_fields,
    shown_fields,
)
from dashboard.api.core.parameters import ERRORS, SIDE_PARAMS, SLICE_PARAMS
from dashboard.api.core.statistics import encode_interval
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.queries import MAX_FUNCTIONS
from dashboard.web.answers import answer_json
from dashboard.web.cache import facts_of_sides, remember_comparison
from dashboard.web.params import MEASURES, ParamError, read_choice, read_count, read_measure, read_one, read_side
from dashboard.web.schemas import Json, Shape, define_shape, interval_field
from profcore.stats.comparison import Difference
from profcore.trace.dimensions import DEVICE_CLASSES, NAVIGATIONS

SIGNIFICANT: Final = "significant"


class SideShape(Shape):
    """One side: its slice, the views read, all views of the slice, and the effective number of views."""

    slice = SliceShape()
    views = serializers.IntegerField(help_text="Views read: all, or a uniform sample.")
    population = serializers.IntegerField(help_text="Views of the slice.")
    effective_views = serializers.FloatField(help_text="The number of equally weighted views that would be as precise.")


class DeviceShareShape(Shape):
    """A device class's share of the common mix. There is no mix if the sides differ by device class."""

    device = serializers.ChoiceField(DEVICE_CLASSES)
    share = serializers.FloatField()


class NavigationShareShape(Shape):
    """A navigation's share of the common mix: `unknown` also of device classes with too many unknown ones."""

    navigation = serializers.ChoiceField(NAVIGATIONS)
    share = serializers.FloatField()


class PageShareShape(Shape):
    """A page's share of the common mix. Small pages are put together, without a name."""

    page = serializers.CharField(allow_null=True)
    share = serializers.FloatField()


ComparedFunctionShape = define_shape(
    "ComparedFunctionShape",
    "One function's change in ms per view; significant increases come first.",
    {
        **func_fields(),
        "original": OriginalShape(allow_null=True),
        **shown_fields(),
        "status": serializers.ChoiceField(["changed", "new", "gone"]),
        "renamed_from": RenamedFromShape(
            allow_null=True, help_text="What the base calls it, if it was only renamed; null otherwise."
        ),
        "base_ms_per_view": serializers.FloatField(),
        "head_ms_per_view": serializers.FloatField(),
        "delta_ms_per_view": serializers.FloatField(
            help_text="Head minus base at one common mix of devices and navigations."
        ),
        "delta_ci95": interval_field(),
        "relative": serializers.FloatField(allow_null=True),
        "crude_delta_ms_per_view": serializers.FloatField(help_text="Without correction for the mix."),
        "mix_ms_per_view": serializers.FloatField(help_text="The part explained by the mix."),
        "self_delta_ms_per_view": serializers.FloatField(help_text="The part that is visible self time."),
        "is_seen": serializers.BooleanField(help_text="Whether this part rose significantly by itself."),
        "is_caller": serializers.BooleanField(
            allow_null=True, help_text="Whether the increase lies in functions that this one called."
        ),
        "p": serializers.FloatField(),
        "q": serializers.FloatField(help_text="Below 0.05, one in twenty of such findings is expected to be false."),
        "is_significant": serializers.BooleanField(),
        "base_views_ran": serializers.IntegerField(),
        "head_views_ran": serializers.IntegerField(),
    },
)


class ComparisonShape(Shape):
    """Two slices compared. With `is_too_few` there are no functions: a side has too few views."""

    base = SideShape()
    head = SideShape()
    measure = serializers.ChoiceField(MEASURES)
    is_too_few = serializers.BooleanField()
    is_weighted = serializers.BooleanField(help_text="Sample rates differ: each view counts 1 / its rate.")
    is_complete = serializers.BooleanField(help_text="False if the contributions of some views have expired.")
    device_mix = DeviceShareShape(many=True)
    navigation_mix = NavigationShareShape(many=True)
    page_mix = PageShareShape(many=True)
    left_out_views = serializers.IntegerField(
        help_text="Views of a device class, navigation, page or tag that one side lacks."
    )
    overall_delta_ms_per_view = serializers.FloatField(allow_null=True)
    overall_delta_ci95 = interval_field()
    overall_p = serializers.FloatField(allow_null=True)
    display = DisplayShape()
    function_count = serializers.IntegerField(help_text="All functions, whatever `only` and `limit` say.")
    functions = ComparedFunctionShape(many=True)


class CompareView(ProjectView):
    known_params = (
        *SLICE_FIELDS,
        *SIDE_FIELDS,
        "measure",
        "group_by",
        "stratify",
        "only",
        "limit",
    )

    @extend_schema(
        operation_id="compare",
        parameters=[
            *SLICE_PARAMS,
            *SIDE_PARAMS,
            OpenApiParameter("measure", str, enum=MEASURES, default="self+hidden"),
            OpenApiParameter("group_by", str, enum=["function", *GROUPINGS], default="function"),
            OpenApiParameter(
                "stratify", str, description="`tag:PREFIX`: compare only views with the same value of this tag."
            ),
            OpenApiParameter(
                "only", str, enum=[SIGNIFICANT], description="`significant`: only functions with a significant change."
            ),
            OpenApiParameter("limit", int, description=f"At most {MAX_FUNCTIONS}, the default."),
        ],
        responses={
            200: ComparisonShape,
            304: OpenApiResponse(description="The answer named by `If-None-Match` has not changed."),
            **ERRORS,
        },
    )
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Compares the functions of head and base: the change per page view, and how certain it is."""
        params = request.query_params
        group_by = read_choice(params, "group_by", ("function", *GROUPINGS), "function")
        measure = read_measure(params, group_by=group_by, default="self+hidden")
        limit = read_count(params, "limit", default=MAX_FUNCTIONS, high=MAX_FUNCTIONS)
        stratify = _read_stratify(params)
        common = self.resolve_slice()
        base, head = resolve_sides(common, read_side(params, "base"), read_side(params, "head"))
        only = read_choice(params, "only", ("", SIGNIFICANT), "")

        facts = facts_of_sides(base, head)

        def make() -> Json:
            answer = remember_comparison(base, head, measure, group_by, repr(facts), stratify=stratify)
            return encode_comparison(base, head, answer, limit, only_significant=only == SIGNIFICANT)

        return answer_json(request._request, facts=(measure, group_by, limit, only, stratify, *facts), make=make)


def _read_stratify(params: QueryDict) -> str:
    """Returns what else is a stratum, "" if nothing. Raises `ParamError`."""
    value = read_one(params, "stratify", "")
    if value and (not value.startswith(STRATIFY_BY_TAG) or value == STRATIFY_BY_TAG):
        raise ParamError("stratify", "stratify must be tag: and the beginning of a tag, such as tag:input.")
    return value


def encode_comparison(
    base: Slice, head: Slice, answer: SliceComparison, limit: int, *, only_significant: bool = False
) -> Json:
    """Encodes a comparison in its own order."""
    found = answer.comparison
    overall = found.overall
    functions = [each for each in found.functions if each.is_significant or not only_significant]
    sides = {
        "base": (base, found.base_views, found.base_population, found.base_effective),
        "head": (head, found.head_views, found.head_population, found.head_effective),
    }
    return {
        **{
            name: {"slice": encode_slice(side), "views": views, "population": population, "effective_views": effective}
            for name, (side, views, population, effective) in sides.items()
        },
        "measure": found.measure,
        "is_too_few": found.is_too_few,
        "is_weighted": found.is_weighted,
        "is_complete": found.is_complete,
        "device_mix": [{"device": DEVICE_CLASSES[code], "share": share} for code, share in found.device_mix],
        "navigation_mix": [{"navigation": NAVIGATIONS[code], "share": share} for code, share in found.navigation_mix],
        "page_mix": [{"page": answer.page_names.get(code), "share": share} for code, share in found.page_mix],
        "left_out_views": found.left_out_views,
        "overall_delta_ms_per_view": overall.delta_ms if overall else None,
        "overall_delta_ci95": encode_interval(overall.ci95 if overall else None),
        "overall_p": overall.p if overall else None,
        "display": {"rules": answer.display_rules},
        "function_count": len(found.functions),
        "functions": [_encode_difference(answer, difference) for difference in functions[:limit]],
    }


def _encode_difference(answer: SliceComparison, difference: Difference) -> Json:
    func = answer.funcs[difference.func_id]
    return {
        **encode_compared(func),
        **encode_shown(func),
        "status": difference.status,
        "base_ms_per_view": difference.base_ms,
        "head_ms_per_view": difference.head_ms,
        "delta_ms_per_view": difference.delta_ms,
        "delta_ci95": encode_interval(difference.ci95),
        "relative": difference.relative,
        "crude_delta_ms_per_view": difference.crude_delta_ms,
        "mix_ms_per_view": difference.mix_ms,
        "self_delta_ms_per_view": difference.self_delta_ms,
        "is_seen": bool(difference.is_seen),
        "is_caller": difference.is_caller,
        "p": difference.p,
        "q": difference.q,
        "is_significant": bool(difference.is_significant),
        "base_views_ran": difference.base_views_ran,
        "head_views_ran": difference.head_views_ran,
    }
