"""Sources in other languages: their functions are named by the bundle, and one function says which language it is."""

import pytest
from pygments.lexers import get_lexer_by_name

from profcore.symbolicate.labels import label_positions
from profcore.symbolicate.languages import LANGUAGES, language_of
from profcore.symbolicate.maps import read_map
from profcore.symbolicate.scopes import read_scopes
from tests.source_map_writer import write_map

BUNDLE = b"function a(r){return r}const b={c(){}};"
# The tokens and functions of the bundle; `names` has the original of `a`, and `c` is a property.
SEGMENTS = [(0, 0, 0, 0, 0), (0, 9, 0, 0, 0, 0), (0, 10, 0, 0, 9), (0, 32, 0, 1, 2), (0, 33, 0, 1, 3)]
POSITIONS = [(1, 11), (1, 34)]
OTHER_TEXTS = [
    ("src/sum.coffee", "sumRows = (rows) -> rows\nclick: -> 1\n"),
    ("src/sum.litcoffee", "Sums rows.\n\n    sumRows = (rows) -> rows\n"),
    ("lib/main.dart", "List sumRows(List rows) => rows;\nvoid click() {}\n"),
    ("src/main/Sum.kt", "fun sumRows(rows: List<Int>) = rows\nfun click() {}\n"),
    ("shop/sum.cljs", "(defn sum-rows [rows] rows)\n(defn click [] nil)\n"),
    ("src/Sum.res", "let sumRows = (rows) => rows\nlet click = () => ()\n"),
    ("src/Sum.elm", "sumRows rows = rows\nclick = 1\n"),
    ("Sum.scala", "def sumRows(rows: Rows) = rows\nval x = 1\n"),
    ("sum.rb", "def sum_rows(rows) rows end\ndef click() end\n"),
    ("Sum.vue", "<script lang='coffee'>\nsumRows = (rows) -> rows\n</script>"),
    ("Sum.svelte", '<script lang="coffeescript">\nsumRows = (rows) -> rows\n</script>'),
    ("sum.civet", "sumRows := (rows) -> rows\n"),
    ("sum.unheard-of", "define sumRows as rows\nwith click\n"),
    ("sum", "define sumRows as rows\nwith click\n"),
    ("index.html", "<b onclick='sumRows()'>1 < 2</b>\n"),
]


@pytest.mark.parametrize(("path", "text"), OTHER_TEXTS)
def test_functions_of_another_language_are_named_as_if_the_text_were_missing(path: str, text: str) -> None:
    labels = []
    for contents in ([text], [None]):
        source_map = read_map(write_map(SEGMENTS, [path], sourcesContent=contents, names=["sumRows"]))
        labels.append(label_positions(source_map, POSITIONS, file="a.js.map", bundle=BUNDLE))
    assert labels[0] == labels[1]
    assert [label and label.name for label in labels[0]] == ["sumRows", "c"]


@pytest.mark.parametrize(
    "path",
    [
        "a.js",
        "a.JS",
        "a.mjs",
        "a.es6",
        "a.jsx",
        "a.ts",
        "a.mts",
        "a.tsx",
        "a",
        "webpack/runtime/load script",
        "a.js.erb",
    ],
)
def test_javascript_is_read_whatever_its_file_is_called(path: str) -> None:
    scopes = read_scopes("const f = () => 1", path)
    assert scopes is not None
    found = scopes.find(1, 11)
    assert found is not None
    assert found.name == "f"


def test_a_javascript_source_with_an_error_is_still_read() -> None:
    scopes = read_scopes("const f = () => 1; @@@ (", "a.js")
    assert scopes is not None
    assert scopes.find(1, 11) is not None


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.vue", "<template/>\n<script lang='ts' setup>const f = (a: number) => 1</script>", 2),
        ("a.html", "<p>\n<script type=module>/*     */const f = () => 1</script>", 2),
        ("a.vue", "\n/*      ******        */const f = (a: number) => 1", 2),  # only the script of a component
    ],
)
def test_scripts_of_components_are_read(path: str, text: str, line: int) -> None:
    scopes = read_scopes(text, path)
    assert scopes is not None
    found = scopes.find(line, text.split("\n")[line - 1].index("f =") + 5)
    assert found is not None
    assert found.name == "f"


def test_each_language_can_be_displayed() -> None:
    for ending, language in LANGUAGES.items():
        assert language_of(f"src/a.{ending.upper()}") is language
        assert get_lexer_by_name(language.name)
    assert language_of("a.b/c").is_assumed
