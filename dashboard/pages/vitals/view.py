"""The page "Vitals": what delays interactions, the largest paint and frames, over all views of a slice.

Its numbers come from raw traces, which takes a second. So they are fetched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse

from aggregate.selectors.functions.groups import GROUPINGS
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.vitals.table import VitalsQuery, VitalsTable, WindowTable
from dashboard.pages.functions import GROUP_WORDS, TableLink
from dashboard.pages.vitals.layout import describe_frame
from dashboard.web.access import get_visible_project
from dashboard.web.cache import answer_vitals
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_unchanged
from dashboard.web.params import read_choice
from dashboard.web.project_pages import Tab
from dashboard.web.queries import read_page_slice, write_query
from profcore.numbers import write_ms, write_share
from profcore.stats.summaries import MIN_VIEWS, FuncSummary
from profcore.trace.weights import TimeParts
from profcore.vitals.windows import INTERACTION_PARTS
from projects.models import Project

ROWS: Final = 10  # of each window: what is below costs little
WAIT_WORDS: Final = {"all": "All waits", "slow": "Slow waits only"}
TITLES: Final = {
    "lcp": "Until the largest paint (LCP)",
    "input_delay": "Input delay",
    "processing": "Processing",
    "presentation": "Presentation",
    "interaction": "During the longest interaction",
    "long_frames": "Long animation frames",
}
MEANINGS: Final = {
    "lcp": "From the start of the view to its largest contentful paint",
    "input_delay": "From the input to its first handler: something else held the main thread",
    "processing": "From the first handler to the end of the last one",
    "presentation": "From the last handler to the next paint: style, layout, paint, and code that runs before them",
    "interaction": "From the input to the next paint",
    "long_frames": "Frames of more than 50 ms, all of a view together",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSection:
    """A window as the page shows it. `time` are its parts, for the bar of them."""

    table: WindowTable
    title: str
    meaning: str
    time: TimeParts
    share: float | None = None  # of the interaction, if it is a part of one

    @property
    def p75(self) -> FuncSummary | None:
        """The estimates of its length; None if too few views have it."""
        return self.table.length


@dataclass(frozen=True, slots=True)
class VitalsPlace:
    """The page of a slice's vitals, and how they are grouped."""

    path: str
    slice_: Slice
    query: VitalsQuery

    @property
    def waits(self) -> str:
        """The word of the address for which waits are read."""
        return "slow" if self.query.only_slow else "all"

    def link(self, *more: tuple[str, str], path: str = "", group_by: str = "", waits: str = "") -> str:
        """Returns the address of the same page, with another grouping or other waits if given."""
        kept = kept_params(group_by or self.query.group_by, waits or self.waits)
        return f"{path or self.path}?{write_query([*self.slice_.params(), *kept, *more])}"


def kept_params(group_by: str, waits: str) -> list[tuple[str, str]]:
    """Returns the parameters that links keep."""
    pairs = [("group_by", group_by)] if group_by != "function" else []
    return pairs + ([("waits", waits)] if waits != "all" else [])


def read_query(params: QueryDict) -> VitalsQuery:
    """Returns how the page is grouped, and which waits it shows. Raises `ParamError`."""
    return VitalsQuery(
        group_by=read_choice(params, "group_by", ("function", *GROUPINGS), "function"),
        only_slow=read_choice(params, "waits", list(WAIT_WORDS), "all") == "slow",
        limit=ROWS,
    )


@project_page(
    name="vitals",
    path="vitals/",
    tab=Tab(label="Vitals", key="w"),
    heavy="plain",
    on_replica=True,
)
@answer_unchanged
def show_vitals(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    query = read_query(request.GET)
    place = VitalsPlace(reverse("vitals", args=[slug]), read_page_slice(request, project), query)
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    kept = [*kept_params(query.group_by, place.waits), *([("plain", "1")] if is_plain else [])]
    context: dict[str, object] = {
        **describe_frame(request, project, place.slice_, "vitals", kept),
        **link_ways(place),
        "part_link": place.link(path=reverse("vitals-windows", args=[slug])),
        "plain_link": place.link(("plain", "1")),
        "is_plain": is_plain,
        **(describe_windows(place, project) if is_plain else {}),
    }
    return render(request, "dashboard/vitals/page.html", context)


def link_ways(place: VitalsPlace) -> dict[str, object]:
    """Returns the links to other groupings and waits."""
    return {
        "groups": [
            TableLink(key=key, word=word, link=place.link(group_by=key), is_here=key == place.query.group_by)
            for key, word in GROUP_WORDS.items()
        ],
        "waits": [
            TableLink(key=key, word=word, link=place.link(waits=key), is_here=key == place.waits)
            for key, word in WAIT_WORDS.items()
        ],
    }


@project_page(
    kind="part",
    name="vitals-windows",
    path="vitals/windows/",
    heavy="yes",
    on_replica=True,
)
@answer_unchanged
def show_windows(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows only the windows."""
    project = get_visible_project(request.user, slug)
    place = VitalsPlace(reverse("vitals", args=[slug]), read_page_slice(request, project), read_query(request.GET))
    return render(request, "dashboard/vitals/_windows.html", {"project": project, **describe_windows(place, project)})


def describe_windows(place: VitalsPlace, project: Project) -> dict[str, object]:
    """Returns the context of the windows of a sample, with the address that reads all views. Raises `SliceError`."""
    start_link = place.link(path=reverse("vitals-all", args=[project.slug]))
    return {**describe_table(place, answer_vitals(place.slice_, place.query)), "start_link": start_link}


def describe_table(place: VitalsPlace, table: VitalsTable) -> dict[str, object]:
    """Returns the context of windows."""
    windows = {window.window: _show(window, table) for window in table.windows}
    parts = [windows[part] for part in INTERACTION_PARTS if part in windows]
    return {
        "slice": place.slice_,
        "table": table,
        "vitals_query": place.query,
        "row_word": GROUP_WORDS[place.query.group_by],
        "interaction": windows.get("interaction"),
        "interaction_parts": parts or [window for name, window in windows.items() if name == "interaction"],
        "sentence": write_sentence(windows),
        "lcp": windows.get("lcp"),
        "long_frames": windows.get("long_frames"),
        "min_views": MIN_VIEWS,
        "vendor_text": write_vendor_text(table),
        "slow_query": write_query(place.slice_.with_values("capture", "slow").params()),
    }


def write_vendor_text(table: VitalsTable) -> str:
    """Returns a text to send to whom the most costly hidden scripts are of; "" without any."""
    if not table.hidden_scripts:
        return ""
    top = table.hidden_scripts[0]
    return (
        f"Please serve your scripts on {top.origin} with the response header Access-Control-Allow-Origin: *. "
        "Without it, browsers hide them from our profiler. "
        f"They may take up to {write_ms(top.most_ms)} of each page view, and we cannot tell what for."
    )


def _show(window: WindowTable, table: VitalsTable) -> WindowSection:
    whole = table.find("interaction") if window.window in INTERACTION_PARTS else None
    script, hidden, engine, idle, profiler, unobserved = window.parts_us
    return WindowSection(
        table=window,
        title=TITLES[window.window],
        meaning=MEANINGS[window.window],
        time=TimeParts(
            js_us=script,
            hidden_us=hidden,
            engine_us=engine,
            idle_us=idle,
            unobserved_us=unobserved,
            profiler_us=profiler,
            span_us=window.length_us,
        ),
        share=window.length_us / whole.length_us if whole is not None and whole.length_us else None,
    )


def write_sentence(windows: dict[str, WindowSection]) -> str:
    """Returns what delays interactions, in a sentence; "" if too few views have one with its parts."""
    parts = [windows[part] for part in INTERACTION_PARTS if part in windows]
    longest = max(parts, key=lambda part: part.table.length_us, default=None)
    if longest is None or not longest.share or longest.p75 is None:
        return ""
    text = f"Of the longest interactions, {write_share(longest.share)} is {longest.title.lower()}"
    rows: Sequence[object] = longest.table.rows
    if rows:
        top = longest.table.rows[0].row
        share = top.cost_us / longest.table.length_us
        text += f", of which {top.label} takes {write_share(share)}"
        text += f" ({write_ms(top.cost_us / 1000 / longest.table.views)} per view)"
    return f"{text}."
