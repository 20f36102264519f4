"""Funcs: names are repaired, private parts of URIs are removed, and a digest identifies each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.trace.funcs import (
    CUT,
    DIGEST_BYTES,
    MAX_URI_CHARS,
    MOST_KNOWN_URIS,
    OTHER_FUNC,
    FuncKey,
    FuncTable,
    clean_url,
    func_digest,
    is_cut,
    read_func_keys,
    repair_text,
    resource_uri,
)
from profcore.trace.wire import Frame, Trace
from tests.profcore.strategies import PROPERTY
from tests.urls import LOCAL_FILE

PAGE_URL, PAGE = "https://shop.example/product/81724", "/product/:id"


def garbled(text: str) -> str:
    """Returns a text as a browser sends it: its UTF-8 bytes read as Latin-1."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


@pytest.mark.parametrize("name", ["ünï", "функция", "日本語", "😀", "e\u0301", "\u202eevil", "a\u00a0b", "\x80"])
def test_a_garbled_name_is_repaired(name: str) -> None:
    assert garbled(name) != name
    assert repair_text(garbled(name)) == name


@pytest.mark.parametrize("name", ["", "plain", "(idle)", "日本語", "é", "Ã", "naïve", "a\tb\nc"])
def test_a_name_that_was_never_garbled_is_kept(name: str) -> None:
    assert repair_text(name) == name


def test_a_lone_surrogate_cannot_be_repaired_and_is_kept_as_it_came() -> None:
    assert repair_text(garbled("lone\ud800")) == "lone\xed\xa0\x80"


def test_a_name_cut_within_a_character_is_kept_as_it_came() -> None:
    cut = garbled("é" * 3)[:-1]
    assert repair_text(cut) == cut


def test_what_no_database_takes_becomes_the_replacement_character() -> None:
    assert repair_text("a\0b") == "a\ufffdb"
    assert repair_text("日\0\ud800") == "日\ufffd\ufffd"
    assert repair_text(garbled("é\0")) == "é\ufffd"


@PROPERTY
@given(st.text())
def test_every_name_that_a_browser_garbled_comes_back(name: str) -> None:
    assert repair_text(garbled(name)) == name.replace("\0", "\ufffd")


@PROPERTY
@given(st.text(st.characters(categories=None)))
def test_a_repaired_text_can_always_be_stored(text: str) -> None:
    repaired = repair_text(text)
    assert "\0" not in repaired
    repaired.encode("utf-8")


@pytest.mark.parametrize(
    ("uri", "stored"),
    [
        ("https://cdn.example/app.js", "https://cdn.example/app.js"),
        ("https://cdn.example/app.js?v=1&token=SECRET", "https://cdn.example/app.js"),
        ("https://cdn.example/app.js#x?y", "https://cdn.example/app.js"),
        ("https://ada:pw@cdn.example:8443/app.js", "https://cdn.example:8443/app.js"),
        ("https://ada@evil@cdn.example/app.js", "https://cdn.example/app.js"),
        ("https://ada:pw@cdn.example", "https://cdn.example"),
        ("//ada:pw@cdn.example/app.js", "//cdn.example/app.js"),
        ("https://cdn.example/@scope/pkg@1.2.3/x.js", "https://cdn.example/@scope/pkg@1.2.3/x.js"),
        ("webpack:///./node_modules/@scope/x.js", "webpack:///./node_modules/@scope/x.js"),
        ("webpack-internal:///./src/App.tsx?abc", "webpack-internal:///./src/App.tsx"),
        ("node_modules/@scope/x.js", "node_modules/@scope/x.js"),
        ("wasm://wasm/mymod-62339246", "wasm://wasm/mymod-62339246"),
        ("data:text/javascript,alert('SECRET')", "data:"),
        ("DATA:text/javascript,x", "data:"),
        ("blob:https://shop.example/9888b8f8-5056", "blob:https://shop.example"),
        ("blob:https://ada:pw@shop.example/9888", "blob:https://shop.example"),
        ("blob:https://shop.example:8443?x=SECRET", "blob:https://shop.example:8443"),
        ("blob:null/9888b8f8", "blob:null"),
        ("blob:", "blob:null"),
        ("blob:https://[broken/1", "blob:invalid:"),
        ("blob:chrome-extension://abcdefghijklmnop/1234", "blob:chrome-extension:"),
        ("chrome-extension://abcdefghijklmnop/content.js", "chrome-extension:"),
        ("moz-extension://3f1b/content.js", "moz-extension:"),
        ("Safari-Web-Extension://3F1B/content.js", "safari-web-extension:"),
        ("https://x-extension/app.js", "https://x-extension/app.js"),
        ("", ""),
        ("?only=query", ""),
        ("(not a url)", "(not a url)"),
    ],
)
def test_a_uri_loses_what_is_private(uri: str, stored: str) -> None:
    assert resource_uri(uri, PAGE_URL, PAGE) == stored


@pytest.mark.parametrize("rest", ["x", "%4", "é", "👩", "../", "\u2028", '"<'])
def test_a_uri_that_is_longer_than_any_address_is_cut(rest: str) -> None:
    """A post may have 10,000 of 65,536 characters, and each function has its script's."""
    stored = resource_uri("https://a.example/" + rest * (65_000 // len(rest)), PAGE_URL, PAGE)
    assert len("%F") >= MAX_URI_CHARS + len(CUT) - len(stored) >= 0
    assert stored.startswith("https://a.example/")
    assert is_cut(stored)
    assert resource_uri(stored, PAGE_URL, PAGE) == stored
    host = resource_uri("https://" + rest * (65_000 // len(rest)), PAGE_URL, PAGE)
    assert len(host) <= MAX_URI_CHARS + len(CUT)


def test_the_longest_address_stays_whole() -> None:
    uri = "https://a.example/".ljust(MAX_URI_CHARS, "x")
    assert not is_cut(uri)
    assert resource_uri(uri, PAGE_URL, PAGE) == uri


@pytest.mark.parametrize("tail", ["", "?utm=1", "#reviews", "?a=1#b", "#b?a=1"])
def test_a_script_under_the_pages_own_uri_is_inline_and_belongs_to_the_route(tail: str) -> None:
    assert resource_uri(PAGE_URL + tail, PAGE_URL, PAGE) == "https://shop.example/product/:id"


def test_another_page_of_the_same_site_is_not_inline() -> None:
    assert resource_uri("https://shop.example/product/9", PAGE_URL, PAGE) == "https://shop.example/product/9"


def test_without_the_pages_url_nothing_is_inline() -> None:
    assert resource_uri(PAGE_URL, None, PAGE) == PAGE_URL


def test_an_inline_script_of_a_page_with_credentials_has_none() -> None:
    url = "https://ada:pw@shop.example/cart"
    assert resource_uri(url, url, "/cart") == "https://shop.example/cart"


@pytest.mark.parametrize(
    ("url", "page_uri"),
    [(f"{LOCAL_FILE}/docs/ada/x.html", f"{LOCAL_FILE}/cart"), ("relative", "null/cart"), ("", "null/cart")],
)
def test_a_page_without_a_host_still_has_inline_scripts(url: str, page_uri: str) -> None:
    assert resource_uri(url, url, "/cart") == page_uri


def test_an_address_is_clean_without_query_and_fragment() -> None:
    assert clean_url("https://a.example/x?y#z") == clean_url("https://a.example/x#z?y") == "https://a.example/x"


uri_texts = st.lists(
    st.sampled_from(
        [
            "https:",
            "blob:",
            "data:",
            "chrome-extension:",
            "//",
            "/",
            "a.example",
            "ada:pw@",
            "?",
            "#",
            "é",
            "[",
            "\n",
            "x",
        ]
    ),
    max_size=10,
).map("".join) | st.text(max_size=20)


@PROPERTY
@given(uri_texts, st.none() | uri_texts)
def test_a_stored_uri_never_holds_a_query_or_a_fragment(uri: str, page_url: str | None) -> None:
    stored = resource_uri(uri, None if page_url is None else clean_url(page_url), PAGE)
    assert "?" not in stored
    assert "#" not in stored


@PROPERTY
@given(st.sampled_from(["https", "blob:https", "http", "ws", "webpack"]), uri_texts)
def test_a_stored_uri_never_holds_credentials(scheme: str, path: str) -> None:
    stored = resource_uri(f"{scheme}://ada:SECRET@shop.example/{path}", PAGE_URL, PAGE)
    assert "SECRET" not in stored


@PROPERTY
@given(st.sampled_from(["data:", "chrome-extension://", "blob:chrome-extension://", "MOZ-extension://"]), uri_texts)
def test_data_and_extensions_keep_no_more_than_their_scheme(start: str, rest: str) -> None:
    assert "SECRET" not in resource_uri(start + "SECRET" + rest, PAGE_URL, PAGE)


def test_a_key_joins_frame_resource_and_repair() -> None:
    trace = Trace(
        resources=["https://cdn.example/app.js?v=1", garbled("https://cdn.example/日本.js"), PAGE_URL + "?x=1"],
        frames=[
            Frame(garbled("größe"), 0, 1, 17),
            Frame("", 1, 1, 1),
            Frame("inline", 2, 3, 4),
            Frame("appendChild"),
            Frame("half", None, 0, None),
        ],
        stacks=[],
        samples=[],
    )
    assert read_func_keys(trace, page_url=PAGE_URL, page=PAGE) == [
        FuncKey("https://cdn.example/app.js", 1, 17, "größe"),
        FuncKey("https://cdn.example/%E6%97%A5%E6%9C%AC.js", 1, 1, ""),
        FuncKey("https://shop.example/product/:id", 3, 4, "inline"),
        FuncKey(None, None, None, "appendChild"),
        FuncKey(None, 0, None, "half"),
    ]


LOOK_ALIKES = {
    "nothing but a name": FuncKey(None, None, None, "f"),
    "an empty URI": FuncKey("", None, None, "f"),
    "the name as URI": FuncKey("f", None, None, ""),
    "both": FuncKey("f", None, None, "f"),
    "line 0": FuncKey(None, 0, None, "f"),
    "column 0": FuncKey(None, None, 0, "f"),
    "line and column 0": FuncKey(None, 0, 0, "f"),
    "a position": FuncKey(None, 1, 2, "f"),
    "the position swapped": FuncKey(None, 2, 1, "f"),
    "no name": FuncKey(None, None, None, ""),
    "parts that join to abc": FuncKey("a", None, None, "bc"),
    "other parts that join to abc": FuncKey("ab", None, None, "c"),
    "the replacement character": FuncKey(None, None, None, "\ufffd"),
}


def test_a_digest_differs_by_every_part() -> None:
    alike: dict[bytes, list[str]] = {}
    for what, key in LOOK_ALIKES.items():
        alike.setdefault(func_digest(1, key), []).append(what)
    assert [names for names in alike.values() if len(names) > 1] == []


def test_a_digest_differs_by_project_and_is_the_same_in_every_process() -> None:
    key = FuncKey("https://cdn.example/app.js", 1, 17, "größe")
    assert len(func_digest(1, key)) == DIGEST_BYTES
    assert len({func_digest(project, key) for project in (0, 1, 2, -1, 2**40)}) == 5
    # stored in every database: a change of this number would make every func a new one
    assert func_digest(7, key).hex() == "91917e732469456439de03bd36a3dfa3"


keys = st.builds(
    FuncKey,
    st.none() | st.text(max_size=3),
    st.none() | st.integers(0, 2**31 - 1),
    st.none() | st.integers(0, 2**31 - 1),
    st.text(max_size=3),
)


@PROPERTY
@given(keys, keys)
def test_two_keys_have_one_digest_when_they_are_equal(one: FuncKey, other: FuncKey) -> None:
    assert (func_digest(1, one) == func_digest(1, other)) is (one == other)


@PROPERTY
@given(st.lists(st.lists(keys, max_size=6), max_size=4))
def test_a_table_gives_equal_keys_one_index_and_keeps_their_order(batches: list[list[FuncKey]]) -> None:
    table = FuncTable()
    for batch in batches:
        assert [table.keys[index] for index in table.intern_all(batch)] == batch
    flat = [key for batch in batches for key in batch]
    assert table.keys == list(dict.fromkeys(flat))


names = st.sampled_from(["f", "größe", "grÃ¶Ã\x9fe", "a\0b", "a\ufffdb", "Profiler", ""])
frames = st.builds(Frame, names, st.none() | st.integers(0, 1), st.none() | st.integers(0, 2), st.none() | st.just(1))


@PROPERTY
@given(st.lists(st.tuples(st.lists(frames, max_size=6), st.sampled_from([PAGE_URL, None])), max_size=4))
def test_frames_are_interned_as_their_keys_are(batches: list[tuple[list[Frame], str | None]]) -> None:
    """What was said before is known by the wire's words: two of them may mean one func, and one of them two."""
    table, plain = FuncTable(), FuncTable()
    for wire_frames, page_url in batches:
        trace = Trace(["https://cdn.example/app.js?v=1", PAGE_URL + "?x=1"], wire_frames, [], [])
        wanted = plain.intern_all(read_func_keys(trace, page_url=page_url, page=PAGE))
        assert table.intern_frames(trace, page_url=page_url, page=PAGE) == wanted
    assert table.keys == plain.keys


def test_an_inline_script_has_the_route_of_each_trace_of_a_batch() -> None:
    table, trace = FuncTable(), Trace([PAGE_URL], [Frame("f", 0, 1, 1)], [], [])
    pages = [("/a", PAGE_URL), ("/b", PAGE_URL), ("/b", None)]
    assert [table.intern_frames(trace, page_url=page_url, page=page) for page, page_url in pages] == [[0], [1], [2]]
    assert [key.uri for key in table.keys] == [resource_uri(PAGE_URL, page_url, page) for page, page_url in pages]


def test_a_batch_remembers_few_of_the_addresses_that_one_trace_can_have() -> None:
    table = FuncTable()
    uris = ["https://a.example/" + "a" * MAX_URI_CHARS, *(f"/{number}.js" for number in range(2 * MOST_KNOWN_URIS))]
    trace = Trace(uris, [Frame("f", number) for number in range(len(uris))], [], [])
    for _ in range(2):
        assert table.intern_frames(trace, page_url=None, page="/") == [*range(len(uris))]
    assert len(table._uri_of) == MOST_KNOWN_URIS
    assert max(len(uri) for uri, _, _ in table._uri_of) <= MAX_URI_CHARS


# What the compiled kernel asks for


def test_frames_that_the_kernel_asks_for_have_the_indexes_that_the_pure_fold_gives() -> None:
    frames = [Frame("A", 0, 1, 2), Frame(garbled("é")), Frame("Profiler"), Frame("Profiler", 0), Frame("a\0")]
    trace = Trace(["https://a.example/x.js?1"], frames, [], [])
    ours, theirs = FuncTable(), FuncTable()
    expected = ours.intern_frames(trace, page_url=None, page="/")
    uri, _ = theirs.read_plain_uri(trace.resources[0])
    said = [(None if f.resourceId is None else uri, f.line, f.column, f.name) for f in frames]
    assert theirs.intern_said(said) == expected
    assert theirs.keys == ours.keys
    assert theirs.intern_said(said) == expected


def test_a_func_that_a_project_has_no_room_for_is_other_for_the_kernel_too() -> None:
    funcs = FuncTable(frozenset({FuncKey(None, None, None, "a")}))
    assert funcs.intern_said([(None, None, None, "a")]) == [0]
    assert funcs.keys == [OTHER_FUNC]


@pytest.mark.parametrize("uri", [PAGE_URL, PAGE_URL + "?a#b", "https://u:p@a.example/x.js", "data:,a", garbled("é")])
def test_a_uri_is_the_same_on_all_pages_but_its_own(uri: str) -> None:
    funcs = FuncTable()
    plain, address = funcs.read_plain_uri(uri)
    for page_url in (PAGE_URL, "https://shop.example/other"):
        expected = resource_uri(repair_text(uri), page_url, PAGE)
        assert funcs.read_uri(uri, page_url, PAGE) == expected
        assert page_url == address or plain == expected
