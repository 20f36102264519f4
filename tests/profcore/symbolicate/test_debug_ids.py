"""Debug ids as pages and SDKs send them: texts of stacks, or URLs; whatever else stands there is passed over."""

import json
from uuid import UUID

import pytest

from profcore.symbolicate.debug_ids import MAX_DEBUG_IDS, MAX_KEY_CHARS, read_debug_ids, write_debug_ids
from profcore.trace.funcs import MAX_URI_CHARS

ID = UUID("f997c982-fb7b-472d-9f0a-84d5c8ad7d7c")
OTHER = UUID("2b84db30-a700-458f-b715-a93e2b7c951b")


def read(said: object) -> dict[str, UUID]:
    return read_debug_ids(json.dumps(said).encode())


@pytest.mark.parametrize(
    ("key", "uri"),
    [
        ("https://shop.example/main.js", "https://shop.example/main.js"),
        ("http://127.0.0.1:8000/main.js", "http://127.0.0.1:8000/main.js"),
        ("https://u:p@shop.example/a.js?v=2#x", "https://shop.example/a.js"),
        ("https://shop.example/%5Bslug%5D.js", "https://shop.example/[slug].js"),
        ("Error\n    at https://shop.example/main.js:2:300\n    at https://cdn.example/b.js:1:1", "https://shop.example/main.js"),
        ("Error\n    at new run (https://shop.example/a b.js:1:2)", "https://shop.example/a"),
        ("Error: no\n    at Object.<anonymous> (app://shop/main.js:1:24)\n", "app://shop/main.js"),
        ("@http://127.0.0.1:8000/main.js:1:22\nrun@https://x.example/a.js:1:2", "http://127.0.0.1:8000/main.js"),
    ],
)  # fmt: skip
def test_a_script_is_the_first_url_of_a_text(key: str, uri: str) -> None:
    assert read({key: str(ID)}) == {uri: ID}


def test_ids_are_written_in_any_way() -> None:
    for text in (str(ID), str(ID).upper(), ID.hex):
        assert read({"https://a.example/x.js": text}) == {"https://a.example/x.js": ID}


def test_the_first_id_of_a_script_counts() -> None:
    stacks = {
        f"Error\n at https://a.example/x.js:1:{column}": str(debug_id) for column, debug_id in enumerate((ID, OTHER))
    }
    assert read(stacks) == {"https://a.example/x.js": ID}


@pytest.mark.parametrize(
    "said",
    [
        None,
        1,
        "text",
        [],
        [["https://a.example/x.js", str(ID)]],
        {"no url": str(ID), "": str(ID), "main.js": str(ID)},
        {"https://a.example/x.js": {"a": [1]}},
        {"https://a.example/x.js": None},
        {"https://a.example/x.js": 17},
        {"https://a.example/x.js": "no id"},
        {"https://a.example/x.js": "é"},
        {"https://a.example/" + "x" * MAX_URI_CHARS: str(ID)},
        {"x" * MAX_KEY_CHARS + "https://a.example/x.js": str(ID)},
    ],
)
def test_what_is_no_pair_is_passed_over(said: object) -> None:
    assert read(said) == {}
    whole = (
        {**said, "https://b.example/y.js": str(ID)} if isinstance(said, dict) else {"https://b.example/y.js": str(ID)}
    )
    assert read(whole) == {"https://b.example/y.js": ID}


def test_what_is_no_json_is_passed_over() -> None:
    for sent in (b"", b"{", b"\xff", b"[" * 100_000):
        assert read_debug_ids(sent) == {}


def test_few_of_many_are_read() -> None:
    many = {f"https://a.example/{at}.js": str(ID) for at in range(2 * MAX_DEBUG_IDS)}
    assert len(read(many)) == MAX_DEBUG_IDS


def test_pairs_are_written_as_they_are_read() -> None:
    pairs = [("https://a.example/x.js", str(ID)), (None, str(ID)), ("https://b.example/y.js", None)]
    assert read_debug_ids(bytes(write_debug_ids(pairs))) == {"https://a.example/x.js": ID}
    assert bytes(write_debug_ids([])) == b"null"
