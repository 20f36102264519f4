"""V8's call stacks: names and call positions are read, whatever else is between, in bounded time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.hangs.stacks import MAX_FRAMES, MAX_NAME_CHARS, CallFrame, bare_name, parse_stack
from tests.profcore.hangs.recorded import RECORDED, stack_of
from tests.properties import bounded

APP = "https://site.test:9443/app.js"
DRIVE = "file:" + "/" * 3 + "C:"


def parse(text: str) -> list[CallFrame]:
    return parse_stack(text, page_url="https://site.test:9443/product/17", page="/product/:id")


def only(line: str) -> CallFrame:
    [frame] = parse(f"\n    at {line}")
    return frame


def test_a_recorded_stack_has_names_and_call_positions() -> None:
    assert parse(stack_of("plain")) == [
        CallFrame(name="search", uri=APP, line=3, column=3),
        CallFrame(name="", uri=APP, line=6, column=52),
        CallFrame(name="Array.map"),
        CallFrame(name="Cart.total", uri=APP, line=6, column=40),
        CallFrame(name="hang", uri=APP, line=7, column=49),
        CallFrame(name="window.start", uri=APP, line=13, column=8),
    ]


def test_code_of_eval_is_where_eval_was_called() -> None:
    frame = CallFrame(name="eval", uri=APP, line=10, column=24, is_eval=True)
    assert parse(stack_of("eval"))[5] == frame
    twice = f"eval (eval at a (eval at b ({APP}?v=1:10:24), <anonymous>:1:1), <anonymous>:1:7)"
    assert only(twice) == frame


def test_every_recorded_stack_is_read_whole() -> None:
    names = [name for name in RECORDED if "\n" in RECORDED[name][0]["body"].get("stack", "")]
    assert len(names) >= 6
    for name in names:
        assert len(parse(stack_of(name))) == min(stack_of(name).count("\n"), MAX_FRAMES)


def test_of_names_beyond_latin_1_chromium_sends_the_low_bytes() -> None:
    frames = parse(stack_of("unicode"))
    assert len(frames) == MAX_FRAMES
    assert {frame.name for frame in frames} >= {"search", "Grüße.å,"}  # it is Grüße.日本


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ("async f (https://a/b.js:1:2)", CallFrame(name="async f", uri="https://a/b.js", line=1, column=2)),
        ("async https://a/b.js:1:2", CallFrame(name="", uri="https://a/b.js", line=1, column=2)),
        ("async Promise.all (index 0)", CallFrame(name="async Promise.all")),
        ("<anonymous>", CallFrame(name="<anonymous>")),
        ("native", CallFrame(name="native")),
        ("f (native)", CallFrame(name="f")),
        ("f (<anonymous>:3:4)", CallFrame(name="f")),
        ("f (b) (https://a/(x)/b.js:9:9)", CallFrame(name="f (b)", uri="https://a/(x)/b.js", line=9, column=9)),
        ("g (wasm://wasm/7f:wasm-function[3]:0x1a2)", CallFrame(name="g", uri="wasm://wasm/7f")),
        ("f (https://a.example/b.js:0:1)", CallFrame(name="f")),
        ("f (https://a.example/b.js:1:99999999999)", CallFrame(name="f")),
        ("f (https://a.example/b.js:1:9999999999)", CallFrame(name="f")),
        (f"f ({DRIVE}/app/b.js:1:2)", CallFrame(name="f", uri=f"{DRIVE}/app/b.js", line=1, column=2)),
    ],
)  # fmt: skip
def test_other_forms_of_frames_are_read(line: str, frame: CallFrame) -> None:
    assert only(line) == frame


@pytest.mark.parametrize(
    ("uri", "stored"),
    [
        ("https://user:secret@a.example/b.js?token=x", "https://a.example/b.js"),
        ("chrome-extension://abcdef/c.js", "chrome-extension:"),
        ("https://site.test:9443/product/17", "https://site.test:9443/product/:id"),
        ("data:text/javascript,alert(1)", "data:"),
    ],
)
def test_addresses_lose_what_is_private(uri: str, stored: str) -> None:
    assert only(f"f ({uri}:1:2)").uri == stored


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("search", "search"),
        ("Cart.total", "total"),
        ("async Cart.total [as sum]", "total"),
        ("new Cart", "Cart"),
        ("Object.<anonymous>", ""),
        ("", ""),
    ],
)
def test_a_function_is_named_as_in_profiles(name: str, bare: str) -> None:
    assert bare_name(name) == bare


def test_only_the_innermost_frames_of_a_long_stack_are_kept() -> None:
    frames = parse("".join(f"\n    at f{n} (https://a.example/b.js:1:{n + 1})" for n in range(10_000)))
    assert [frame.name for frame in frames] == [f"f{n}" for n in range(MAX_FRAMES)]
    assert len(only("x" * 5_000 + " (native)").name) == MAX_NAME_CHARS
    cut = parse(f"\n    at f ({APP}:1:2)\n    at {'y' * 20_000} ({APP}:3:4)")
    assert [frame.name for frame in cut] == ["f"]  # what is cut may have lost its position


@pytest.mark.parametrize(
    "bomb",
    [
        "at x " + "(eval at " * 1_000_000 + ")",
        "at " + "(" * 1_000_000,
        "at " + ":1" * 1_000_000,
        "at a (b)\n" * 1_000_000,
        "at wasm://" + "wasm-function[" * 1_000_000,
        "at " + " [as " * 1_000_000,
    ],
)
def test_hostile_stacks_are_read_at_once(bomb: str) -> None:
    began = time.process_time()
    for frame in parse(bomb):
        bare_name(frame.name)
    assert time.process_time() - began < 1  # a pattern that backtracks takes minutes


@bounded(200)
@given(st.text(st.sampled_from("at (eval<>.:19/\n https[]\0\ud800é"), max_size=200))
def test_any_text_gives_frames_that_can_be_stored(text: str) -> None:
    for frame in parse(f"at {text}"):
        for part in (frame.name, frame.uri or ""):
            assert "\0" not in part
            part.encode()
        assert (frame.line is None) == (frame.column is None)
