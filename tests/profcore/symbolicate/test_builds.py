"""Build folders: which map belongs to which script."""

import base64
from uuid import UUID

import pytest

from profcore.symbolicate.builds import (
    BundleComments,
    InlineMapError,
    Match,
    Pair,
    clean_path,
    find_named_file,
    is_map,
    pair_files,
    read_bundle,
)

ONE = UUID("85314830-023f-4cf1-a267-535f4e37bb17")
TWO = UUID("95314830-023f-4cf1-a267-535f4e37bb17")


def comments(debug_id: UUID | None = None, url: str | None = None) -> BundleComments:
    return BundleComments(debug_id, url, None)


def test_a_bundle_tells_of_its_map_in_its_last_comments() -> None:
    code = b"f('//# sourceMappingURL=' + x)\n"
    assert read_bundle(code) == comments()
    assert read_bundle(code + b"//# sourceMappingURL=a.js.map\n//# debugId=%s\n" % str(ONE).encode()) == comments(
        ONE, "a.js.map"
    )
    assert read_bundle(b"/*# sourceMappingURL=a.js.map */") == comments(None, "a.js.map")
    assert read_bundle(b"//@ sourceMappingURL=old.map") == comments(None, "old.map")
    assert read_bundle(b"//# debugId=nonsense") == comments()


def test_an_inline_map_is_read() -> None:
    url = b"data:application/json;charset=utf-8;base64," + base64.b64encode(b'{"version":3}')
    assert read_bundle(b"f()\n//# sourceMappingURL=" + url).inline_map == b'{"version":3}'
    assert read_bundle(b"//# sourceMappingURL=data:application/json,%7B%7D").inline_map == b"{}"
    with pytest.raises(InlineMapError, match="base64"):
        read_bundle(b"//# sourceMappingURL=data:application/json;base64,!!!")


def test_a_debug_id_goes_before_comment_and_name() -> None:
    bundles = {"a.js": comments(ONE, "b.js.map")}
    maps = {"a.js.map": None, "b.js.map": None, "maps/x.js.map": ONE}
    assert pair_files(bundles, maps)[0] == Pair("a.js", "a.js", "maps/x.js.map", Match.DEBUG_ID)


def test_a_comment_goes_before_the_name() -> None:
    maps = {"js/a.js.map": None, "maps/a.js.map": None}
    bundles = {"js/a.js": comments(TWO, "../maps/a.js.map?v=1")}
    assert pair_files(bundles, maps)[0] == Pair("js/a.js", "js/a.js", "maps/a.js.map", Match.COMMENT)


def test_a_url_in_a_comment_counts_by_its_last_part() -> None:
    bundles = {"js/a.js": comments(None, "https://maps.example/private/x%20y.map")}
    assert pair_files(bundles, {"js/x y.map": None})[0].match is Match.COMMENT


def test_what_is_left_is_named() -> None:
    pairs = pair_files({"a.js": comments(), "b.js": comments(None, "gone.map")}, {"a.js.map": None, "c.js.map": None})
    assert pairs == [
        Pair("a.js", "a.js", "a.js.map", Match.NAME),
        Pair("b.js", "b.js", None, Match.NO_MAP),
        Pair("c.js", None, "c.js.map", Match.MAP_ALONE),
    ]


AT = "https://shop.example/assets/v1/"
# A bundle, the name in its comment, the files of the build, and the one that is meant.
NAMES = [
    ("js/a.js", "a.map", "js/a.map a.map", "js/a.map"),
    ("js/a.js", "./x/../a.map", "js/a.map a.map", "js/a.map"),
    ("js/a.js", "../maps/a.map#x", "maps/a.map", "maps/a.map"),
    ("a.js", "../v1/a.map", "a.map", "a.map"),
    ("a.js", "../../../../../assets/v1/a.map", "a.map", "a.map"),
    ("a.js", "../maps/a.map", "a.map maps/a.map", "maps/a.map"),
    ("a.js", "a.map", "js/a.map", None),
    ("js/a.js", "/assets/v1/maps/a.map", "maps/a.map assets/v1/maps/a.map", "maps/a.map"),
    ("js/a.js", "/maps/a.map", "maps/a.map js/a.map", "maps/a.map"),
    ("js/a.js", "/maps/a.map", "js/a.map a.map", "js/a.map"),
    ("js/a.js", "/maps/a.map", "other.map", None),
    ("js/a.js", "https://SHOP.example/assets/v1/maps/a.map", "maps/a.map js/a.map", "maps/a.map"),
    ("js/a.js", "https://cdn.example/assets/v1/maps/a.map", "maps/a.map js/a.map", "js/a.map"),
    ("js/a.js", "//cdn.example/maps/a.map", "maps/a.map js/a.map", "maps/a.map"),
    ("a.js", "%5Bid%5D.map", "[id].map", "[id].map"),
    ("a.js", "[id].map", "[id].map", "[id].map"),
    ("a.js", "a%20b.map", "a%20b.map", "a%20b.map"),
    ("a.js", "https://[", "a.map", None),
    ("a.js", "..", "a.map", None),
]


@pytest.mark.parametrize(("bundle", "url", "files", "named"), NAMES)
def test_the_comment_is_resolved_as_browsers_do_it(bundle: str, url: str, files: str, named: str | None) -> None:
    assert find_named_file(bundle, comments(None, url), files.split(), [AT, "https://a.example/"]) == named


@pytest.mark.parametrize("path", ["../a.js", "a/../../b.js", "/etc/a.js", "C:\\a.js", "..\\a.js", "a\0.js", "", "./."])
def test_a_path_that_leads_out_of_the_folder_is_not_taken(path: str) -> None:
    assert clean_path(path) is None


def test_a_path_is_cleaned() -> None:
    assert clean_path("./dist//a\\b.js") == "dist/a/b.js"


def test_a_style_sheets_map_is_no_map_of_ours() -> None:
    assert not is_map("a.css.map")
    assert is_map("a.mjs.map")
