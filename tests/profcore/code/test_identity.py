"""Identity across releases: content hashes are removed, everything that distinguishes functions stays."""

import pytest

from profcore.code.identity import MAPPED_ID, Original, identity_of, mapped_id, source_part, without_hash
from profcore.trace.funcs import FuncKey


@pytest.mark.parametrize(
    ("uri", "bare"),
    [
        ("https://a.example/assets/main-QK26TYEB.js", "https://a.example/assets/main.js"),
        ("https://a.example/assets/chunk-FDIM3RJZ.js", "https://a.example/assets/chunk.js"),
        ("https://a.example/assets/chunks/treemap-HFKJTDXY.js", "https://a.example/assets/chunks/treemap.js"),
        ("https://a.example/static/js/main.3f8a9c1d.chunk.js", "https://a.example/static/js/main.chunk.js"),
        ("https://a.example/assets/index-BxK2pQ9a.js", "https://a.example/assets/index.js"),
        ("https://a.example/assets/vendor~app.0a1b2c3d4e5f6a7b8c9d.js", "https://a.example/assets/vendor~app.js"),
        ("https://a.example/app.js", "https://a.example/app.js"),
        ("https://a.example/checkout-components.js", "https://a.example/checkout-components.js"),
        ("https://a.example/jquery-3.7.1.min.js", "https://a.example/jquery-3.7.1.min.js"),
        ("https://a.example/product/:id", "https://a.example/product/:id"),
        ("https://a.example/b-QK26TYEB/app.js", "https://a.example/b-QK26TYEB/app.js"),
        ("data:", "data:"),
        ("", ""),
    ],
)
def test_the_content_hash_of_a_file_name_goes(uri: str, bare: str) -> None:
    assert without_hash(uri) == bare


def test_name_and_position_tell_functions_apart() -> None:
    key = FuncKey("https://a.example/main-QK26TYEB.js", 2, 13319, "Xt")
    other_release = key._replace(uri="https://a.example/main-ALYJKYDD.js")
    assert identity_of(key) == identity_of(other_release)
    for different in (key._replace(line=3), key._replace(column=1), key._replace(name="Xu"), key._replace(uri=None)):
        assert identity_of(different) != identity_of(key)


def test_a_mapped_func_is_known_by_path_and_name_wherever_it_stands() -> None:
    old = Original("src/cart.ts", 6, 10, "findRuleFor", b"old")
    new = Original("src/cart.ts", 10, 3, "findRuleFor", b"new")
    assert mapped_id(old, is_doubtful=False) == mapped_id(new, is_doubtful=False)
    assert MAPPED_ID.fullmatch(mapped_id(old, is_doubtful=False))
    for different in (old._replace(source="src/cart2.ts"), old._replace(name="findRule")):
        assert mapped_id(different, is_doubtful=False) != mapped_id(old, is_doubtful=False)


def test_where_several_have_a_name_the_body_tells_them_apart_and_then_the_place() -> None:
    first = Original("src/x.ts", 6, 10, "get", b"a")
    second = Original("src/x.ts", 60, 10, "get", b"b")
    moved = first._replace(line=8)
    assert mapped_id(first, is_doubtful=True) != mapped_id(second, is_doubtful=True)
    assert mapped_id(first, is_doubtful=True) == mapped_id(moved, is_doubtful=True)
    short = first._replace(body_hash=None)
    assert mapped_id(short, is_doubtful=True) != mapped_id(short._replace(line=8), is_doubtful=True)


def test_an_anonymous_function_is_known_by_its_body_and_never_by_its_file_alone() -> None:
    first = Original("src/x.ts", 6, 10, None, b"a")
    assert mapped_id(first, is_doubtful=False) == mapped_id(first._replace(line=8), is_doubtful=False)
    assert mapped_id(first, is_doubtful=False) != mapped_id(first._replace(body_hash=b"b"), is_doubtful=False)
    assert mapped_id(first, is_doubtful=False) != mapped_id(first._replace(name=""), is_doubtful=False)


def test_an_id_begins_with_its_source() -> None:
    match = MAPPED_ID.fullmatch(mapped_id(Original("src/x.ts", 1, 1, "f"), is_doubtful=False))
    assert match is not None
    assert match[1] == source_part("src/x.ts")
