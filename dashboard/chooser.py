"""The chooser of a comparison: what each side can be, the ways that are asked for most, and both sides swapped."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from aggregate.selectors import Slice
from aggregate.selectors.sides import BASE, HEAD
from aggregate.selectors.slices import format_instant
from dashboard.shell import Choice, ChoiceField, SliceBar
from dashboard.sides import DESKTOPS, PHONES, AskedSides, Sides

WEEK: Final = timedelta(days=7)
SELECTED: Final = ("release", "page")  # by a list; the other fields have few values, which are ticked


@dataclass(frozen=True, slots=True)
class ChooserSide:
    """One side of the form: its fields by name, and its time as texts."""

    name: str
    word: str
    selects: Sequence[ChoiceField]
    ticks: Sequence[ChoiceField]
    start: str
    end: str

    @property
    def is_narrowed(self) -> bool:
        """Tells whether it has more of its own than a release."""
        narrowed = any(field.chosen for field in (*self.selects[1:], *self.ticks))
        return narrowed or bool(self.start or self.end)


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A comparison that is asked for often."""

    word: str
    link: str
    is_here: bool


@dataclass(frozen=True, slots=True)
class Chooser:
    """The form: both sides, and what is sent along."""

    sides: Sequence[ChooserSide]
    hidden: Sequence[tuple[str, str]]
    shortcuts: Sequence[Shortcut]
    swap_link: str


@dataclass(frozen=True, slots=True)
class Question:
    """What a page was asked: its slice with what is for both sides, the sides as named, and what they settle to.

    `sides` is None where what was asked contradicts itself, or nothing was and there is one release alone. `default`
    are the sides of an address that names none.
    """

    slice_: Slice
    asked: AskedSides
    sides: Sides | None
    default: Sides | None


def build_chooser(
    address: str, bar: SliceBar, question: Question, *, kept: Sequence[tuple[str, str]], now: datetime
) -> Chooser:
    """Returns the chooser. `bar` has each field's values; without settled sides the form shows what was asked."""
    slice_, asked, sides, default = question.slice_, question.asked, question.sides, question.default
    pairs = sides.pairs() if sides else asked.pairs()
    common = sides.common if sides else slice_

    def link(wanted: Sequence[tuple[str, str]]) -> str:
        return f"{address}?{urlencode([*wanted, *kept], safe='/:')}"

    other = {f"{BASE}_": f"{HEAD}_", f"{HEAD}_": f"{BASE}_"}
    swapped = [(other[name[:5]] + name[5:], value) for name, value in pairs]
    shortcuts = []
    if default:
        word = "Last release against the one before"
        shortcuts.append(Shortcut(word, link(default.params()), pairs == default.pairs()))
    for word, own, dropped in (
        ("Last 7 days against the 7 before", _weeks(now), ("from", "to")),
        ("Phones against desktops", _phones(), ("device",)),
    ):
        shared = [pair for pair in slice_.params() if pair[0] not in dropped]
        shortcuts.append(Shortcut(word, link([*shared, *own]), pairs == own))
    return Chooser(
        [_side(BASE, "Base: what was", bar, asked, sides), _side(HEAD, "Head: what is", bar, asked, sides)],
        [*common.params(), *kept],
        shortcuts,
        link([*common.params(), *swapped]),
    )


def _side(side: str, word: str, bar: SliceBar, asked: AskedSides, sides: Sides | None) -> ChooserSide:
    pairs = sides.pairs() if sides else asked.pairs()

    def given(field: str) -> list[str]:
        return [value for name, value in pairs if name == f"{side}_{field}"]

    fields = [_field(side, field, given(field.name)) for field in bar.fields]
    return ChooserSide(
        side,
        word,
        [field for field in fields if field.name.partition("_")[2] in SELECTED],
        [field for field in fields if field.name.partition("_")[2] not in SELECTED],
        " ".join(given("from")),
        " ".join(given("to")),
    )


def _field(side: str, field: ChoiceField, chosen: Sequence[str]) -> ChoiceField:
    known = {choice.value for choice in field.choices}
    choices = [replace(choice, is_chosen=choice.value in chosen) for choice in field.choices]
    choices += [Choice(value, value, None, True) for value in chosen if value not in known]
    shared = ", ".join(field.chosen)
    all_word = f"The same for both ({shared})" if shared else "The same for both"
    return ChoiceField(f"{side}_{field.name}", field.word, all_word, choices, chosen)


def _weeks(now: datetime) -> list[tuple[str, str]]:
    """Returns the last seven UTC days, today with them, and the seven before.

    Whole days: where hours are merged into days, no other bound lies between two cells.
    """
    tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    first, middle = (format_instant(tomorrow - weeks * WEEK) for weeks in (2, 1))
    return [(f"{BASE}_from", first), (f"{BASE}_to", middle), (f"{HEAD}_from", middle)]


def _phones() -> list[tuple[str, str]]:
    desktops = [(f"{BASE}_device", word) for word in DESKTOPS]
    return desktops + [(f"{HEAD}_device", word) for word in PHONES]
