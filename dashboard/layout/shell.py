"""What all pages of a project share: the tabs and the slice bar. Their whole state is in the address."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.http import HttpRequest
from django.urls import reverse

from aggregate.selectors.project.pages import ReleaseRow, select_page_views
from aggregate.selectors.slice.slices import DISPLAY, Slice, format_instant
from dashboard.web.params import EVERY_FUNCTION, MAX_SEARCH, Narrowing
from dashboard.web.project_pages import PAGES
from dashboard.web.queries import read_page_narrowing, write_query
from profcore.code.categories import FUNC_CATEGORIES
from profcore.trace.dimensions import DIMENSIONS
from projects.models import Project

PRESETS: Final = (("Last 24 hours", timedelta(days=1)), ("7 days", timedelta(days=7)), ("30 days", timedelta(days=30)))
ALL_WORDS: Final = {dimension.name: dimension.all_word for dimension in DIMENSIONS}
MAX_CHOICES: Final = 500  # of one field, plus those that are selected; an address may name any
CHIP_WORDS: Final = {
    "sdk": "SDK",
    "func_over": "Views where a function took more than",
    "display": "Display rules",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TabLink:
    """A link to one page of a project, with the slice if the page takes one.

    `name` is that of its address; `key` goes there, after `g`.
    """

    name: str
    word: str
    link: str
    is_here: bool
    takes_slice: bool
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One value of a field, its label, and how many page views have it (None: not known).

    `link` is the page with this value of the field and no other.
    """

    value: str
    word: str
    views: int | None
    is_chosen: bool
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceField:
    """One field of the bar: its choices, and the labels of those that are selected (none means all).

    `cleared_link` is the page without a selection in this field. `all_word` says that nothing is selected.
    """

    name: str
    word: str
    choices: Sequence[Choice]
    chosen: Sequence[str]
    cleared_link: str = ""
    all_word: str = "Any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One active filter, and the address without it. A time has no `word`, but `start` and `end` (None: open).

    `name` is its parameter; that of a time is `from`.
    """

    name: str
    field: str
    word: str
    link: str
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """A link to a range of time up to now."""

    word: str
    link: str
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceBar:
    """The fields of the bar. `kept` are parameters without a field that links keep, such as the order of a table.

    `start` and `end` are None if they are open, or if the slice has several ranges of time. `search` is None if the
    page's bar has no such field.
    """

    fields: Sequence[ChoiceField]
    presets: Sequence[Preset]
    range_count: int
    start: datetime | None
    end: datetime | None
    tags: str
    search: str | None
    max_search: int
    kept: Sequence[tuple[str, str]]
    chips: Sequence[Chip]
    clear_link: str
    no_time_link: str
    no_tags_link: str
    no_search_link: str
    has_time: bool = True
    has_tags: bool = True

    @property
    def loose_chips(self) -> list[Chip]:
        """The active filters that no field of the bar shows."""
        fields = {field.name for field in self.fields}
        fields |= {"from"} if self.has_time else set()
        fields |= {"tag"} if self.has_tags else set()
        fields |= {"q"} if self.search is not None else set()
        return [chip for chip in self.chips if chip.name not in fields]

    @property
    def preset_word(self) -> str:
        """The words of the preset that is selected; empty without a time, or with another one."""
        return next((preset.word for preset in self.presets if preset.is_chosen and self.range_count), "")

    @property
    def from_text(self) -> str:
        """What the field of the start holds: UTC, to the minute."""
        return _format_minute(self.start)

    @property
    def to_text(self) -> str:
        """What the field of the end holds."""
        return _format_minute(self.end)


@dataclass(frozen=True, slots=True)
class Shell:
    """The tabs and the bar of one page."""

    tabs: Sequence[TabLink]
    bar: SliceBar | None


def build_tabs(
    project: Project, slice_: Slice | None = None, here: str = "", narrowing: Narrowing = EVERY_FUNCTION
) -> list[TabLink]:
    """Returns the project's tabs, with this slice where they take one. `here` names the current tab."""
    query = write_query([*slice_.params(), *narrowing.params()]) if slice_ else ""
    return [
        TabLink(
            name=page.name,
            word=page.tab.label,
            link=reverse(page.name, args=[project.slug]) + (f"?{query}" if query and page.tab.takes_slice else ""),
            is_here=page.name == here,
            takes_slice=page.tab.takes_slice,
            key=page.tab.key,
        )
        for page in PAGES.values()
        if page.tab
    ]


def build_shell(
    request: HttpRequest,
    project: Project,
    slice_: Slice,
    here: str,
    *,
    releases: Sequence[ReleaseRow],
    now: datetime,
    kept: Sequence[tuple[str, str]] = (),
) -> Shell:
    """Returns the tabs and the bar of a page that shows a slice. One statement. Raises `ParamError`.

    Category and search are read from the address: they go along like the slice, also over pages that show no function.
    """
    narrowing = read_page_narrowing(request.GET)
    address = _Address(request.path, slice_.params(), narrowing.params(), kept)
    fields = _fields(address, project, slice_, releases)
    narrows = PAGES[here].narrows
    if narrows != "no":
        choices = [(key, word, None) for key, word in FUNC_CATEGORIES.items()]
        fields.append(_field(address, "category", choices, narrowing.categories))
    has_search = narrows == "bar" or (narrows == "page" and ("plain", "1") in kept)
    start, end = slice_.ranges[0] if len(slice_.ranges) == 1 else (None, None)
    bar = SliceBar(
        fields=fields,
        presets=_presets(address, slice_, now),
        range_count=len(slice_.ranges),
        start=start,
        end=end,
        tags=" ".join(f"{key}:{value}" for key, value in slice_.tags),
        search=narrowing.search if has_search else None,
        max_search=MAX_SEARCH,
        kept=[*_without_fields(address, fields, len(slice_.ranges), has_search=has_search), *kept],
        chips=_chips(address, slice_, narrowing if narrows != "no" else EVERY_FUNCTION, has_search=has_search),
        clear_link=address.of(()),
        no_time_link=address.without("from", "to"),
        no_tags_link=address.without("tag"),
        no_search_link=address.without("q"),
    )
    return Shell(build_tabs(project, slice_, here, narrowing), bar)


@dataclass(frozen=True, slots=True)
class _Address:
    """A page's address: its path, and the parameters of the slice, of the functions shown, and what goes along."""

    path: str
    slice_params: Sequence[tuple[str, str]]
    narrowing_params: Sequence[tuple[str, str]]
    kept: Sequence[tuple[str, str]]

    @property
    def chosen(self) -> list[tuple[str, str]]:
        return [*self.slice_params, *self.narrowing_params]

    def of(self, chosen: Sequence[tuple[str, str]]) -> str:
        """Returns the address with these parameters chosen, and what goes along."""
        query = write_query([*chosen, *self.kept])
        return f"{self.path}?{query}" if query else self.path

    def without(self, *names: str, value: str | None = None) -> str:
        """Returns the address without some parameters, or without one value of them."""
        return self.of([pair for pair in self.chosen if pair[0] not in names or value not in (None, pair[1])])

    def of_each(self, name: str, values: Iterable[str]) -> dict[str, str]:
        """Returns the address with only this value of a parameter, for each value. There can be hundreds."""
        rest = write_query([pair for pair in [*self.chosen, *self.kept] if pair[0] != name])
        tail = f"&{rest}" if rest else ""
        return {value: f"{self.path}?{write_query([(name, value)])}{tail}" for value in values}


def _fields(address: _Address, project: Project, slice_: Slice, releases: Sequence[ReleaseRow]) -> list[ChoiceField]:
    """Returns the fields of the slice: the project's releases and pages, and the dimensions of views."""
    known: dict[str, list[tuple[str, str, int | None]]] = {
        "release": [(row.release, row.release, row.views) for row in releases],
        "page": [(page, page, views) for page, views in select_page_views(project.pk, most=MAX_CHOICES)],
        **{
            dimension.name: [(value, value, None) for value in dimension.values]
            for dimension in DIMENSIONS
            if dimension.in_bar
        },
    }
    return [_field(address, name, values, slice_.values(name)) for name, values in known.items()]


def _field(
    address: _Address, name: str, known: Sequence[tuple[str, str, int | None]], chosen: Sequence[str]
) -> ChoiceField:
    """`known` are (value, word, views)."""
    known_choices = {value: (word, views) for value, word, views in known[:MAX_CHOICES]}
    known_choices |= {value: (value, None) for value in chosen if value not in known_choices}
    links = address.of_each(name, known_choices)
    choices = [
        Choice(value=value, word=word, views=views, is_chosen=value in chosen, link=links[value])
        for value, (word, views) in known_choices.items()
    ]
    return ChoiceField(
        name=name,
        word=name.capitalize(),
        all_word=ALL_WORDS.get(name, "Any"),
        choices=choices,
        chosen=[known_choices[value][0] for value in chosen],
        cleared_link=address.without(name),
    )


def _format_minute(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ") if at else ""


def _without_fields(
    address: _Address, fields: Sequence[ChoiceField], range_count: int, *, has_search: bool
) -> list[tuple[str, str]]:
    """Returns what was chosen and has no field in the bar: its form sends it along unseen."""
    names = {field.name for field in fields} | {"tag"}
    names |= {"q"} if has_search else set()
    names |= {"from", "to"} if range_count < 2 else set()
    return [pair for pair in address.chosen if pair[0] not in names]


def _chips(address: _Address, slice_: Slice, narrowing: Narrowing, *, has_search: bool) -> list[Chip]:
    chips = []
    for name, value in slice_.params():
        if name not in ("from", "to"):
            link = address.without(name, value=value)
            word = "off" if name == DISPLAY else value
            chips.append(Chip(name=name, field=CHIP_WORDS.get(name, name.capitalize()), word=word, link=link))
    if slice_.ranges:
        start, end = slice_.ranges[0] if len(slice_.ranges) == 1 else (None, None)
        word = f"{len(slice_.ranges)} ranges" if len(slice_.ranges) > 1 else ""
        link = address.without("from", "to")
        chips.append(Chip(name="from", field="Time", word=word, link=link, start=start, end=end))
    for key in narrowing.categories:
        link = address.without("category", value=key)
        chips.append(Chip(name="category", field="Category", word=FUNC_CATEGORIES[key], link=link))
    if narrowing.search and has_search:
        chips.append(Chip(name="q", field="Search", word=narrowing.search, link=address.without("q")))
    return chips


def _presets(address: _Address, slice_: Slice, now: datetime) -> list[Preset]:
    others = [pair for pair in address.slice_params if pair[0] not in ("from", "to")]
    presets = [Preset("All time", address.of([*others, *address.narrowing_params]), not slice_.ranges)]
    for word, span in PRESETS:
        start = (now - span).replace(minute=0, second=0, microsecond=0)
        pairs = [*others, ("from", format_instant(start)), *address.narrowing_params]
        presets.append(Preset(word, address.of(pairs), slice_.ranges == ((start, None),)))
    return presets
