"""The categories of an exported profile: the same list in every file, so that profiles can be compared."""

from typing import Final, NamedTuple

from profcore.code.categories import FUNC_CATEGORIES
from profcore.formats.firefox.shapes import Category
from profcore.formats.slice import ExportFunc

SUBCATEGORIES: Final = ["Other", *FUNC_CATEGORIES.values()]
# The owners of code that have a colour of their own, as in the dashboard; all others are "JavaScript".
OWNERS: Final = {"first-party": "orange", "library": "green", "third-party": "blue", "built-in": "grey"}
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
# The viewer puts everything without a category into the first grey one, and knows only the colours of its own palette.
# A category named "Idle" would give it a box "Include idle samples", but no stack of ours is idle.
CATEGORIES: Final = (
    Category("Other", "grey", ["Other"]),
    *(Category(FUNC_CATEGORIES[name], colour, ["Other"]) for name, colour in OWNERS.items()),
    Category("JavaScript", "yellow", SUBCATEGORIES),
    Category("Hidden", "purple", ["Other"]),
    Category("Engine", "lightblue", ["Other"]),
    Category("Garbage collection", "red", ["Other"]),
    Category("Style", "lightred", ["Other"]),
    Category("Layout", "magenta", ["Other"]),
    Category("Paint", "brown", ["Other"]),
    Category("Page", "grey", ["Other"]),
    Category("Recording", "darkgrey", ["Other"]),
    *(Category(f"Display rule: {ours}", theirs, SUBCATEGORIES) for ours, theirs in RULED_COLOURS.items()),
    # Of a difference's call paths: each has one of these instead of its func's.
    Category("Slower", "red", ["Other"]),
    Category("Faster", "blue", ["Other"]),
    Category("Within noise", "grey", ["Other"]),
)
CATEGORY_INDEX: Final = {category.name: index for index, category in enumerate(CATEGORIES)}
SLOWER, FASTER, NOISE = (CATEGORY_INDEX[name] for name in ("Slower", "Faster", "Within noise"))
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
    """Returns whether a func is the browser's own: it has no resource and no position, and is not made by a rule."""
    return func.uri is None and func.line is None and not func.is_made


def choose_category(func: ExportFunc) -> CategoryChoice:
    """Returns the category of a func: its owner's, or plain JavaScript if none is known.

    A func that a display rule colours has a category of that colour.
    """
    name = func.category or ("built-in" if is_built_in(func) else "")
    if func.colour is None and name in OWNERS:
        return CategoryChoice(CATEGORY_INDEX[FUNC_CATEGORIES[name]], 0)
    category = f"Display rule: {func.colour}" if func.colour else "JavaScript"
    return CategoryChoice(CATEGORY_INDEX[category], SUBCATEGORY_INDEX.get(name, 0))
