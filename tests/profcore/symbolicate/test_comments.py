"""Which texts of a script name its map: comments at its end, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.symbolicate.comments import read_comments

NAMED = "//# sourceMappingURL=a.js.map"
# A script, and the map that it names.
SCRIPTS = [
    (f"f()\n{NAMED}", "a.js.map"),
    (f"f()\n{NAMED}\n", "a.js.map"),
    (f"f()\r{NAMED}\r\r", "a.js.map"),
    (f"f()\u2028{NAMED}\u2029\n", "a.js.map"),
    (f"f()\n  \t{NAMED} \t\ufeff\u00a0\n\n", "a.js.map"),
    ("f()\n//@ sourceMappingURL=a.js.map", "a.js.map"),
    ("f()\n//#sourceMappingURL=a.js.map", "a.js.map"),
    ("f()\n/*# sourceMappingURL=a.js.map */", "a.js.map"),
    ("f()\n/*# sourceMappingURL=a.js.map*/\n", "a.js.map"),
    ("f()\n/*@ sourceMappingURL=a.js.map */ /* end */ // of it", "a.js.map"),
    (f"f()\n{NAMED}\n//# debugId=1\n// the end\n", "a.js.map"),
    (f"f()\n{NAMED}\n/* Licence:\n   // none\n */\n", "a.js.map"),
    (f"f()\n/* Licence:\n none */ {NAMED}\n", "a.js.map"),
    (f"f()\n//# sourceMappingURL=old.map\n{NAMED}\n", "a.js.map"),
    (f"f()\n{NAMED}\n//# sourceMappingURL=b.map", "b.map"),
    (f"f();{NAMED}\n", "a.js.map"),
    (f"fetch('https://a.example/');{NAMED}\n", "a.js.map"),
    (f"f(/* a */ 1) /* b */ {NAMED}\n", "a.js.map"),
    ("f(); /*# sourceMappingURL=a.js.map */\n", "a.js.map"),
    (f"const glob = 'src/*.js'\n{NAMED}\n", "a.js.map"),
    (f"const all = '*/*'\n{NAMED}\n/* end */", "a.js.map"),
    (NAMED, "a.js.map"),
    # In a string, a template or another comment:
    (f"f('{NAMED}')", None),
    (f"f('{NAMED}\\n')\n", None),
    (f'f("{NAMED}"+x)\n', None),
    (f"f(`{NAMED}`)", None),
    (f"f(`\n{NAMED}\n`)\n", None),
    (f"f(`\n{NAMED}\n`)\n// end\n", None),
    (f"const worker = `f()\n{NAMED}\n`\n/* end */", None),
    ("new Blob(['f()\\n//# sourceMappingURL=data:application/json;base64,e30='])", None),
    (r'f("f()\n//# sourceMappingURL=w.js.map\n")' + f"\n{NAMED}", "a.js.map"),
    ("f('/*# sourceMappingURL=a.css.map */')", None),
    ('f("\\n/*# sourceMappingURL=" + x + " */")', None),
    (f"f()\n// as in {NAMED}", None),
    (f"f() // as in {NAMED}", None),
    (f"f()\n/* as in {NAMED} */", None),
    (f"f()\n/*\n{NAMED}\n*/", None),
    (f"f()\n/*\n{NAMED} */", None),
    (f"f()\n/{NAMED}", None),
    # Code after it:
    (f"{NAMED}\nf()", None),
    (f"{NAMED}\n/* a */ f()\n", None),
    ("/*# sourceMappingURL=a.js.map */ f()", None),
    (f"{NAMED} and more\n", None),
    (f"{NAMED}\nf('src/*.js') /* x */\n", None),
    # No name, or another comment:
    ("f()\n//# sourceMappingURL=", None),
    ("f()\n//# sourceMappingURL=\n//# sourceMappingURL =a.js.map", None),
    ("f()\n// sourceMappingURL=a.js.map", None),
    ("f()\n// # sourceMappingURL=a.js.map", None),
    ("f()\n//# sourcemappingurl=a.js.map", None),
    ("", None),
    ("\n\n", None),
    ("*/", None),
    ("/*", None),
]


@pytest.mark.parametrize(("script", "url"), SCRIPTS)
def test_a_map_is_named_by_a_comment_at_the_end(script: str, url: str | None) -> None:
    assert read_comments(script.encode()).get("sourceMappingURL") == url


def test_a_debug_id_is_named_before_or_after_the_map() -> None:
    url = "data:application/json;base64," + "A" * 5_000
    for lines in (
        ["//# debugId=1-2", f"//# sourceMappingURL={url}"],
        [f"//# sourceMappingURL={url}", "//# debugId=1-2"],
    ):
        assert read_comments("\n".join(["f()", *lines]).encode()) == {"sourceMappingURL": url, "debugId": "1-2"}
    assert read_comments(b"f('//# debugId=1-2')\n") == {}


PIECES = st.sampled_from(
    ["//", "/*", "*/", "#", "@", " ", "sourceMappingURL=", "debugId=", "a", "'", "`", "\n", "\r", "\\"]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_text_has_clean_names(text: str) -> None:
    for name, value in read_comments(text.encode()).items():
        assert f"{name}={value}" in text
        assert not set(value) & set("'\"` \n\r")


HOSTILE = [
    "//\n",
    "/**/",
    "/*",
    "*/",
    "/*\n*/",
    "//# sourceMappingURL=a b\n",
    "//#",
    "'//#",
    "\n",
    "\r",
    "\u2028",
    "/*\n",
    "*/\n",
    "a/*\n",
    "/* \n */\n",
]


@pytest.mark.slow(10)
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("end", ["", "*/", " /* a */", "\nf() /* a */\n", "//# sourceMappingURL="])
def test_a_hostile_script_is_read_in_linear_time(piece: str, end: str) -> None:
    read_comments((piece * 100_000 + end).encode())
