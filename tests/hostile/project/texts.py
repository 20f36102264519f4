"""The worst texts that a stranger, a member or a build can send, each within the limits of what takes it."""

from collections.abc import Sequence
from typing import Final

# An element and an attribute of this name are in a page only if a text became markup.
MARK: Final = "hostile-mark"
ENDS: Final = "\"'`>--></script></style></title></textarea></template></pre>]]>"
MARKUP: Final = (
    f"{ENDS}<{MARK} {MARK}=1><img src=x onerror={MARK}()>\" {MARK}=\"1\" ' {MARK}='1' {{{{7*7}}}}{{% now %}}%s${{x}}"
)
NO_BRACES: Final = MARKUP.replace("{", "").replace("}", "")  # for what fills in fields
PLAIN: Final = (
    NO_BRACES.replace(" ", "").replace("*", "").replace("?", "").replace("#", "")
)  # for addresses and patterns
# Unclosed openings: a reader that searches the end of each takes the square of their number.
OPENINGS: Final = ("<script>", "<?", "<!--", "a<b,", "/[", "[](", "**", "((", "{{", "%(", "%", "&", "\\", "`${", "'\"")
HALF: Final = chr(0xD83D)  # of a surrogate pair
BIDI: Final = "\u202e\u2066\u200f\u2028\ufeff"
FORMULA: Final = "=cmd|' /C calc'!A0"
FORMULAS: Final = (FORMULA, f"a;{FORMULA}", f"a\t{FORMULA}", "＝1+1", "@SUM(1)", "-1+1", "\u200b=1", '"=1')
SLOW_FOR_RE: Final = "a" * 29  # by `(a|a)*c`


def fill(text: str, chars: int) -> str:
    """Returns a text again and again, cut to a length."""
    return (text * (chars // len(text) + 1))[:chars]


def start_with(start: str, text: str, chars: int) -> str:
    """Returns a start, and behind it a text that fills a length."""
    return start + fill(text, chars - len(start))


NAME_CHARS: Final = 4_096  # of a function, by the endpoint
URI_CHARS: Final = 65_536  # of a script
PAGE_CHARS: Final = 400
TEXT_CHARS: Final = 200  # of a release, and of a tag

# Names of functions, as JSON has them: NUL and half surrogate pairs become U+FFFD.
FUNC_NAMES: Final[Sequence[str]] = (
    fill(MARKUP, NAME_CHARS),
    MARKUP,
    *(fill(opening, NAME_CHARS) for opening in OPENINGS),
    fill(BIDI, NAME_CHARS),
    *FORMULAS,
    *("", "\0", HALF, f"a\0b{HALF}", "\n\r\n\t", "__proto__", "constructor", "(root)", "(other)", "(program)"),
    SLOW_FOR_RE,
    fill("a", NAME_CHARS),
    fill("a.", NAME_CHARS),
    fill("/", NAME_CHARS),
    fill(" ", NAME_CHARS),
    fill("e\u0301\u0301\u0301", NAME_CHARS),
    fill("👩\u200d👩\u200d👧", NAME_CHARS),
    fill("\x1b[31m\x07", NAME_CHARS),
    fill("Ã©", NAME_CHARS),  # UTF-8 read as Latin-1, which is repaired
)
SHOP: Final = "https://shop.example/"
SCRIPTS: Final[Sequence[str]] = (
    SHOP + "a/" * 990 + "x.js",
    SHOP + "%3Cscript%3E%22%27" + "%41" * 600 + "%ED%A0%80%FF%zz%.js",
    f"https://<{MARK}>.example/{MARKUP}.js",
    f'https://"{MARK}=1 .example/x.js',
    start_with(SHOP, MARKUP.replace("?", ""), URI_CHARS),
    start_with(SHOP, "../", URI_CHARS),
    start_with(SHOP + "node_modules/", "@a/", URI_CHARS),
    start_with(SHOP + "node_modules/", "node_modules/", URI_CHARS),
    start_with(SHOP, "👩\u200d", 20_000),
    start_with(SHOP, BIDI, 2_000),
    f"javascript:{MARK}()//{MARKUP}",
    f"data:text/html,{fill(MARKUP, 60_000)}",
    f"blob:{SHOP}{MARKUP}",
    f"webpack://{MARKUP}/./src/{MARKUP}.ts\\",
    "chrome-extension://" + "a" * 32 + "/x.js",
    "https://tags." + "a." * 110 + "example/tag.js",
    f"//{MARKUP}",
    "https://[",
    "\0",
    "",
    *(f"https://{FORMULA}.example/x.js", f"{FORMULA}.js"),
)
PAGES: Final[Sequence[str]] = (
    start_with("/cart/", MARKUP, PAGE_CHARS),
    start_with("/", FORMULA + ";", PAGE_CHARS),
    start_with("/", BIDI, PAGE_CHARS),
    start_with("/:a?/", "*/:b?/", PAGE_CHARS),
    start_with("", "%", PAGE_CHARS),
    fill("/", PAGE_CHARS),
    "/" + "👩" * 399,
)
# Of releases, the first two can be announced and have source maps: they are printable.
RELEASES: Final[Sequence[str]] = (
    start_with("1.0.0 ", MARKUP, TEXT_CHARS),
    start_with("2.0.0 ", MARKUP, TEXT_CHARS),
    start_with("3 ", BIDI + "\r\n\t", TEXT_CHARS),
)
TAGS: Final = {
    "visitor": fill(MARKUP, TEXT_CHARS),
    fill(MARKUP, TEXT_CHARS): fill(MARKUP, TEXT_CHARS),
    FORMULA: "=" * TEXT_CHARS,
    "a:b=c d": BIDI,
    "": "",
}
MARK_TYPES: Final = (
    "mark",
    "measure",
    fill(MARKUP, 100),
    FORMULA,
    BIDI,
    "__proto__",
    "lcp",
    "inp",
    "event",
    "fcp",
    "longtask",
)
MARKERS: Final = ("gc", "script", fill(MARKUP, 100), "layout", "\u202e", FORMULA)
