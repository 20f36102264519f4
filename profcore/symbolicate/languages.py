"""The language of an original source, by its path: whether its functions can be read, and how it is displayed."""

import re
from dataclasses import dataclass
from typing import Final, Literal

Grammar = Literal["javascript", "typescript", "tsx"]

LANG: Final = re.compile(r"\blang\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
ENDING: Final = re.compile(r"\.([a-z][a-z0-9_+-]*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language of sources: its name, as Pygments has it, and the grammar that reads its functions.

    Sources without a grammar are only displayed; their functions are named by the bundle. Those of a `component` are in
    its `<script>` elements. With `is_assumed`, a source that the grammar cannot read is in another language.
    """

    name: str
    grammar: Grammar | None
    is_component: bool = False
    is_assumed: bool = False


JAVASCRIPT: Final = Language(name="javascript", grammar="javascript")
TYPESCRIPT: Final = Language(name="typescript", grammar="typescript")
TSX: Final = Language(name="typescript", grammar="tsx")
COMPONENT: Final = Language(name="javascript", grammar="tsx", is_component=True)
HTML: Final = Language(name="html", grammar="tsx", is_component=True)
UNKNOWN: Final = Language(name="javascript", grammar="javascript", is_assumed=True)

# By lexer of Pygments: the endings of languages that are compiled to JavaScript, and of other files in bundles.
OTHERS: Final = {
    "c": "c h",
    "clojurescript": "clj cljc cljs",
    "coffeescript": "coffee iced litcoffee",
    "cpp": "cc cpp cxx hpp",
    "csharp": "cs",
    "css": "css pcss postcss",
    "dart": "dart",
    "elm": "elm",
    "fsharp": "fs fsx",
    "go": "go",
    "haskell": "hs purs",
    "haxe": "hx",
    "java": "java",
    "json": "json json5",
    "kotlin": "kt kts",
    "less": "less",
    "livescript": "ls",
    "markdown": "md mdx",
    "nimrod": "nim",
    "ocaml": "ml mli",
    "php": "php",
    "python": "py",
    "reasonml": "re rei res resi",
    "ruby": "rb",
    "rust": "rs",
    "sass": "sass",
    "scala": "scala",
    "scss": "scss",
    "swift": "swift",
    "text": "civet elmx graphql gql hbs imba marko mint pug riot styl svg tag txt wat yaml yml",
    "zig": "zig",
}
LANGUAGES: Final = {
    **dict.fromkeys(["js", "mjs", "cjs", "jsx", "es", "es6", "jsm"], JAVASCRIPT),
    **dict.fromkeys(["ts", "mts", "cts"], TYPESCRIPT),
    "tsx": TSX,
    **dict.fromkeys(["vue", "svelte", "astro"], COMPONENT),
    **dict.fromkeys(["html", "htm", "xhtml"], HTML),
    **{ending: Language(name=name, grammar=None) for name, endings in OTHERS.items() for ending in endings.split()},
}


def language_of(path: str) -> Language:
    """Returns the language of a source by the ending of its path; JavaScript is assumed for unknown ones."""
    ending = ENDING.search(path.rpartition("/")[2].lower())
    return LANGUAGES.get(ending[1], UNKNOWN) if ending else UNKNOWN


def language_of_script(attributes: str) -> Language:
    """Returns the language of a component's script by the attributes of its element."""
    lang = LANG.search(attributes)
    named = lang[1].lower() if lang else "js"
    by_name = {language.name: language for language in LANGUAGES.values()}
    return LANGUAGES.get(named) or by_name.get(named, UNKNOWN)
