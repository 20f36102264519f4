"""The form that chooses both sides of a comparison, with shortcuts and a link that swaps them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from aggregate.selectors.slice.sides import BASE, HEAD
from aggregate.selectors.slice.slices import format_instant
from dashboard.layout.shell import Choice, ChoiceField, SliceBar
from dashboard.layout.sides import DESKTOPS, PHONES, SideQueries, Sides
from dashboard.pages.compare.query import CompareQuery
from dashboard.web.queries import write_query

WEEK: Final = timedelta(days=7)
SELECTED: Final = ("release", "page")  # lists; the other fields have few values, shown as check boxes


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooserSide:
    """One side of the form: its fields, and its time as texts."""

    name: str
    word: str
    selects: Sequence[ChoiceField]
    ticks: Sequence[ChoiceField]
    start: str
    end: str

    @property
    def is_narrowed(self) -> bool:
        """Returns whether the side has filters of its own apart from a release."""
        narrowed = any(field.chosen for field in (*self.selects[1:], *self.ticks))
        return narrowed or bool(self.start or self.end)


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A frequent comparison."""

    word: str
    link: str
    is_here: bool


@dataclass(frozen=True, slots=True)
class Chooser:
    """The form: both sides, and the hidden fields."""

    sides: Sequence[ChooserSide]
    hidden: Sequence[tuple[str, str]]
    shortcuts: Sequence[Shortcut]
    swap_link: str


def build_chooser(
    address: str, bar: SliceBar, query: CompareQuery, *, kept: Sequence[tuple[str, str]], now: datetime
) -> Chooser:
    """Returns the chooser. `bar` has the values of each field. Without sides, the form shows the question as it was."""
    slice_, queries, sides, default = query.slice_, query.queries, query.sides, query.default
    pairs = sides.pairs() if sides else queries.pairs()

    def link(wanted: Sequence[tuple[str, str]]) -> str:
        return f"{address}?{write_query([*wanted, *kept])}"

    opposite = {f"{BASE}_": f"{HEAD}_", f"{HEAD}_": f"{BASE}_"}
    swapped = [(opposite[name[:5]] + name[5:], value) for name, value in pairs]
    shortcuts = []
    if default:
        word = "Last release and the one before"
        shortcuts.append(Shortcut(word, link(default.params()), pairs == default.pairs()))
    for word, side_pairs, dropped in (
        ("Last 7 days and the 7 before", _weeks(now), ("from", "to")),
        ("Phones and desktops", _phones(), ("device",)),
    ):
        shared = [pair for pair in slice_.params() if pair[0] not in dropped]
        shortcuts.append(Shortcut(word, link([*shared, *side_pairs]), pairs == side_pairs))
    return Chooser(
        [_side(BASE, "Before", bar, queries, sides), _side(HEAD, "After", bar, queries, sides)],
        [*query.common.params(), *kept],
        shortcuts,
        link([*query.common.params(), *swapped]),
    )


def _side(side: str, word: str, bar: SliceBar, queries: SideQueries, sides: Sides | None) -> ChooserSide:
    pairs = sides.pairs() if sides else queries.pairs()

    def read_values(field: str) -> list[str]:
        return [value for name, value in pairs if name == f"{side}_{field}"]

    fields = [_field(side, field, read_values(field.name)) for field in bar.fields]
    return ChooserSide(
        name=side,
        word=word,
        selects=[field for field in fields if field.name.partition("_")[2] in SELECTED],
        ticks=[field for field in fields if field.name.partition("_")[2] not in SELECTED],
        start=" ".join(read_values("from")),
        end=" ".join(read_values("to")),
    )


def _field(side: str, field: ChoiceField, chosen: Sequence[str]) -> ChoiceField:
    known = {choice.value for choice in field.choices}
    choices = [replace(choice, is_chosen=choice.value in chosen) for choice in field.choices]
    choices += [Choice(value=value, word=value, views=None, is_chosen=True) for value in chosen if value not in known]
    shared = ", ".join(field.chosen)
    all_word = f"Any (both sides: {shared})" if shared else field.all_word
    return ChoiceField(name=f"{side}_{field.name}", word=field.word, all_word=all_word, choices=choices, chosen=chosen)


def _weeks(now: datetime) -> list[tuple[str, str]]:
    """Returns the last seven UTC days, including today, and the seven before.

    They are whole days: after hours are merged into days, no other bound is between two cells.
    """
    tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    first, middle = (format_instant(tomorrow - weeks * WEEK) for weeks in (2, 1))
    return [(f"{BASE}_from", first), (f"{BASE}_to", middle), (f"{HEAD}_from", middle)]


def _phones() -> list[tuple[str, str]]:
    desktops = [(f"{BASE}_device", word) for word in DESKTOPS]
    return desktops + [(f"{HEAD}_device", word) for word in PHONES]
