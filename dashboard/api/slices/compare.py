"""`compare`: two slices of a project, function by function, and how certain each difference is."""

from typing import Annotated, Final, Self

from django.http import QueryDict
from rest_framework.request import Request

from aggregate.selectors.slice.sides import resolve_sides
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.comparisons import STRATIFY_BY_TAG, SliceComparison
from dashboard.api.core.answer import Answer, Colour, Conditional, Device, Interval, Navigation, choices, doc
from dashboard.api.core.parameters import GROUP_BY, SIDE_PARAMS, SLICE_PARAMS, Text, limit_of
from dashboard.api.core.parts import (
    ChangedFuncAnswer,
    DisplayAnswer,
    EffectiveViews,
    IsGroup,
    Measure,
    Population,
    ReadViews,
    SliceAnswer,
)
from dashboard.api.core.views import ProjectView
from dashboard.web.cache import cached_comparison, key_of_sides
from dashboard.web.params import MEASURES, ParamError, read_measure, read_side
from dashboard.web.project_pages import PageTraits
from profcore.stats.comparison import Difference
from profcore.trace.dimensions import DEVICE_CLASSES, NAVIGATIONS

LIMIT: Final = limit_of(10_000)
MEASURE: Final = Text("measure", choices=MEASURES, default="self+hidden")
STRATIFY: Final = Text("stratify", "`tag:PREFIX`: compare only views with the same value of this tag.")
ONLY: Final = Text("only", "`significant`: only functions with a significant change.", choices=["significant"])


class SideAnswer(Answer):
    """One side: its slice, the views read, all views of the slice, and the effective number of views."""

    slice: SliceAnswer
    views: ReadViews
    population: Population
    effective_views: EffectiveViews


class DeviceShareAnswer(Answer):
    """A device class's share of the common mix. There is no mix if the sides differ by device class."""

    device: Device
    share: float


class NavigationShareAnswer(Answer):
    """A navigation's share of the common mix: `unknown` also of device classes with too many unknown ones."""

    navigation: Navigation
    share: float


class PageShareAnswer(Answer):
    """A page's share of the common mix. Small pages are put together, without a name."""

    page: str | None
    share: float


class ComparedFunctionAnswer(ChangedFuncAnswer):
    """One function's change in ms per view; significant increases come first."""

    is_group: IsGroup
    colour: Colour
    status: Annotated[str, choices(["changed", "new", "gone"])]
    base_ms_per_view: float
    head_ms_per_view: float
    delta_ms_per_view: Annotated[float, doc("Head minus base at one common mix of devices and navigations.")]
    delta_ci95: Interval
    relative: float | None
    crude_delta_ms_per_view: Annotated[float, doc("Without correction for the mix.")]
    mix_ms_per_view: Annotated[float, doc("The part explained by the mix.")]
    self_delta_ms_per_view: Annotated[float, doc("The part that is visible self time.")]
    is_seen: Annotated[bool, doc("Whether this part rose significantly by itself.")]
    is_caller: Annotated[bool | None, doc("Whether the increase lies in functions that this one called.")]
    p: float
    q: Annotated[float, doc("Below 0.05, one in twenty of such findings is expected to be false.")]
    is_significant: bool
    base_views_ran: int
    head_views_ran: int

    @classmethod
    def of_row(cls, comparison: SliceComparison, difference: Difference) -> Self:
        """Returns a row of a comparison."""
        func = comparison.funcs[difference.func_id]
        means = ("base", "head", "delta", "crude_delta", "mix", "self_delta")
        return cls.of_difference(
            func,
            difference,
            is_group=func.is_made,
            colour=func.display.colour if func.display else None,
            delta_ci95=difference.ci95,
            is_seen=bool(difference.is_seen),
            is_significant=bool(difference.is_significant),
            **{f"{name}_ms_per_view": getattr(difference, f"{name}_ms") for name in means},
        )


class ComparisonAnswer(Answer):
    """Two slices compared. With `is_too_few` there are no functions: a side has too few views."""

    base: SideAnswer
    head: SideAnswer
    measure: Measure
    is_too_few: bool
    is_weighted: Annotated[bool, doc("Sample rates differ: each view counts 1 / its rate.")]
    is_complete: Annotated[bool, doc("False if the contributions of some views have expired.")]
    device_mix: list[DeviceShareAnswer]
    navigation_mix: list[NavigationShareAnswer]
    page_mix: list[PageShareAnswer]
    left_out_views: Annotated[
        int, doc("Views of a day, device class, SDK, navigation, cache, page or tag that one side lacks.")
    ]
    overall_delta_ms_per_view: float | None
    overall_delta_ci95: Interval
    overall_p: float | None
    display: DisplayAnswer
    function_count: Annotated[int, doc("All functions, whatever `only` and `limit` say.")]
    functions: list[ComparedFunctionAnswer]


class CompareView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True, for_guests="fetch")
    known_params = (*SLICE_PARAMS, *SIDE_PARAMS, MEASURE, GROUP_BY, STRATIFY, ONLY, LIMIT)

    def get(self, request: Request, slug: str) -> Conditional[ComparisonAnswer]:
        """Compares the functions of head and base: the change per page view, and how certain it is."""
        params = request.query_params
        group_by = GROUP_BY.read(params)
        measure = read_measure(params, group_by=group_by, default="self+hidden")
        limit = LIMIT.read(params)
        stratify = _read_stratify(params)
        base, head = resolve_sides(self.resolve_slice(), read_side(params, "base"), read_side(params, "head"))
        only = ONLY.read(params)
        key = key_of_sides(base, head)

        def make() -> ComparisonAnswer:
            comparison = cached_comparison(base, head, measure, group_by, repr(key), stratify=stratify)
            return answer_comparison(base, head, comparison, limit, only_significant=bool(only))

        return Conditional((measure, group_by, limit, only, stratify, *key), make)


def _read_stratify(params: QueryDict) -> str:
    """Returns what else is a stratum, "" if nothing. Raises `ParamError`."""
    value = STRATIFY.read(params)
    if value and (not value.startswith(STRATIFY_BY_TAG) or value == STRATIFY_BY_TAG):
        raise ParamError("stratify", "stratify must be tag: and the beginning of a tag, such as tag:input.")
    return value


def answer_comparison(
    base: Slice, head: Slice, compared: SliceComparison, limit: int, *, only_significant: bool
) -> ComparisonAnswer:
    """Returns a comparison in its own order."""
    comparison, overall = compared.comparison, compared.comparison.overall
    wanted = [row for row in comparison.functions if row.is_significant or not only_significant]
    sides = {
        name: SideAnswer(
            SliceAnswer.of(side),
            *(getattr(comparison, f"{name}_{figure}") for figure in ("views", "population", "effective")),
        )
        for name, side in (("base", base), ("head", head))
    }
    return ComparisonAnswer.of(
        comparison,
        **sides,
        device_mix=[DeviceShareAnswer(DEVICE_CLASSES[code], share) for code, share in comparison.device_mix],
        navigation_mix=[NavigationShareAnswer(NAVIGATIONS[code], share) for code, share in comparison.navigation_mix],
        page_mix=[PageShareAnswer(compared.page_names.get(code), share) for code, share in comparison.page_mix],
        overall_delta_ms_per_view=overall and overall.delta_ms,
        overall_delta_ci95=overall and overall.ci95,
        overall_p=overall and overall.p,
        display=DisplayAnswer(compared.display_rules),
        function_count=len(comparison.functions),
        functions=[ComparedFunctionAnswer.of_row(compared, difference) for difference in wanted[:limit]],
    )
