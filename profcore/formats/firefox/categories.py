"""The categories of an exported profile. The list is the same in every file, so that compared profiles agree on it."""

from typing import Final, NamedTuple

from profcore.formats.firefox.shapes import Category
from profcore.formats.slice import FUNC_CATEGORIES, ExportFunc

SUBCATEGORIES: Final = ["Other", *FUNC_CATEGORIES.values()]
# The colours of display rules by those of the viewer's palette.
RULED_COLOURS: Final = {
    "blue": "blue",
    "teal": "lightblue",
    "green": "green",
    "yellow": "yellow",
    "orange": "orange",
    "red": "red",
    "pink": "magenta",
    "purple": "purple",
    "brown": "brown",
    "grey": "darkgrey",
}
# The viewer draws what it cannot place in the first grey one, treats a category by the very name "Idle" apart,
# and knows the colours of its own palette only.
CATEGORIES: Final = (
    Category("Other", "grey", ["Other"]),
    Category("Idle", "transparent", ["Other"]),
    Category("JavaScript", "yellow", SUBCATEGORIES),
    Category("Hidden", "brown", ["Other"]),
    Category("Garbage collection", "orange", ["Other"]),
    Category("Style", "magenta", ["Other"]),
    Category("Layout", "purple", ["Other"]),
    Category("Paint", "green", ["Other"]),
    Category("Page", "blue", ["Other"]),
    Category("Recording", "darkgrey", ["Other"]),
    *(Category(f"Display rule: {ours}", theirs, SUBCATEGORIES) for ours, theirs in RULED_COLOURS.items()),
)
CATEGORY_INDEX: Final = {category.name: index for index, category in enumerate(CATEGORIES)}
SUBCATEGORY_INDEX: Final = {name: index for index, name in enumerate(FUNC_CATEGORIES, start=1)}


class Choice(NamedTuple):
    """A category and one of its subcategories, by index."""

    category: int
    subcategory: int


OTHER_CHOICE: Final = Choice(CATEGORY_INDEX["Other"], 0)
HIDDEN_CHOICE: Final = Choice(CATEGORY_INDEX["Hidden"], 0)
RECORDING_CHOICE: Final = Choice(CATEGORY_INDEX["Recording"], 0)
ENGINE_CHOICES: Final = {
    "gc": Choice(CATEGORY_INDEX["Garbage collection"], 0),
    "style": Choice(CATEGORY_INDEX["Style"], 0),
    "layout": Choice(CATEGORY_INDEX["Layout"], 0),
    "paint": Choice(CATEGORY_INDEX["Paint"], 0),
}


def is_built_in(func: ExportFunc) -> bool:
    """Tells whether a func is the browser's own: it has no resource and no position, and no rule made it."""
    return func.uri is None and func.line is None and not func.is_made


def choose_category(func: ExportFunc) -> Choice:
    """Returns where a func belongs; one that nothing is known of is plain JavaScript, a built-in shows itself.

    One that a display rule colours has a category of that colour.
    """
    name = func.category or ("built-in" if is_built_in(func) else "")
    category = f"Display rule: {func.colour}" if func.colour else "JavaScript"
    return Choice(CATEGORY_INDEX[category], SUBCATEGORY_INDEX.get(name, 0))
