"""The categories of an exported profile: the same list in every file, so that profiles can be compared."""

from typing import Final, NamedTuple

from profcore.code.categories import FUNC_CATEGORIES
from profcore.formats.firefox.shapes import Category
from profcore.formats.slice import ExportFunc

SUBCATEGORIES: Final = ["Other", *FUNC_CATEGORIES.values()]
# The viewer's colour for each colour of display rules.
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
# The viewer puts everything without a category into the first grey one, handles a category named exactly "Idle"
# specially, and knows only the colours of its own palette.
CATEGORIES: Final = (
    Category("Other", "grey", ["Other"]),
    Category("Idle", "transparent", ["Other"]),
    Category("JavaScript", "yellow", SUBCATEGORIES),
    Category("Hidden", "brown", ["Other"]),
    Category("Engine", "lightred", ["Other"]),
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


class CategoryChoice(NamedTuple):
    """A category and one of its subcategories, by index."""

    category: int
    subcategory: int


OTHER_CHOICE: Final = CategoryChoice(CATEGORY_INDEX["Other"], 0)
HIDDEN_CHOICE: Final = CategoryChoice(CATEGORY_INDEX["Hidden"], 0)
ENGINE_CHOICE: Final = CategoryChoice(CATEGORY_INDEX["Engine"], 0)
RECORDING_CHOICE: Final = CategoryChoice(CATEGORY_INDEX["Recording"], 0)
ENGINE_CHOICES: Final = {
    "gc": CategoryChoice(CATEGORY_INDEX["Garbage collection"], 0),
    "style": CategoryChoice(CATEGORY_INDEX["Style"], 0),
    "layout": CategoryChoice(CATEGORY_INDEX["Layout"], 0),
    "paint": CategoryChoice(CATEGORY_INDEX["Paint"], 0),
}


def is_built_in(func: ExportFunc) -> bool:
    """Tells whether a func is the browser's own: it has no resource and no position, and is not made by a rule."""
    return func.uri is None and func.line is None and not func.is_made


def choose_category(func: ExportFunc) -> CategoryChoice:
    """Returns the category of a func. Without a known one it is plain JavaScript, or a built-in.

    A func that a display rule colours has a category of that colour.
    """
    name = func.category or ("built-in" if is_built_in(func) else "")
    category = f"Display rule: {func.colour}" if func.colour else "JavaScript"
    return CategoryChoice(CATEGORY_INDEX[category], SUBCATEGORY_INDEX.get(name, 0))
