"""Recorded traces of real browsers' behaviour: decoding, weighing and naming work on all of them."""

import pytest

from profcore.trace.funcs import FuncKey
from tests.profcore.edge import EDGE, EdgeTrace, edge_meta, edge_source

NAMES = sorted(path.name.removesuffix(".trace.json") for path in EDGE.glob("*.trace.json"))


@pytest.mark.parametrize("name", NAMES)
def test_every_edge_trace_is_taken_whole_and_its_parts_sum_to_its_span(name: str) -> None:
    edge = EdgeTrace(name)
    trace, stats, parts = edge.envelope.trace, edge.stats, edge.parts
    assert len(trace.samples) == parts.samples == stats["samples"]
    assert (len(trace.frames), len(trace.stacks)) == (stats["frames"], stats["stacks"])
    assert parts.hidden_samples + parts.idle_samples == stats["withoutStackId"]
    assert max(map(len, edge.paths()), default=0) == stats["maxDepth"]
    times = edge.times_us()
    interval_us = edge.fold.interval_us
    assert (interval_us == round(edge.envelope.sampleInterval * 1000)) == (name != "interval-10.5-reports-10")
    assert parts.span_us == (max(times) - min(times) + interval_us if times else 0)
    total = parts.js_us + parts.hidden_us + parts.idle_us + parts.unobserved_us + parts.profiler_us
    assert total == parts.span_us


# Positions


def character_at(lines: list[str], key: FuncKey) -> str:
    """Returns the source text at a func's position; columns are UTF-16 units."""
    assert key.line is not None
    assert key.column is not None
    units = lines[key.line - 1].encode("utf-16-le")[2 * (key.column - 1) :]
    return units.decode("utf-16-le", "replace")


def test_a_position_is_where_the_function_is_defined_and_never_where_it_ran() -> None:
    edge, lines = EdgeTrace("positions"), edge_source("positions.js").split("\n")
    assert character_at(lines, edge.only("decl")).startswith("(){return spin(T)+1}")
    assert character_at(lines, edge.only("innerName")).startswith("(a,b){return")
    assert character_at(lines, edge.only("arrow")).startswith("() => {return")
    assert character_at(lines, edge.only("arrow1")).startswith("x => spin(T)+1")
    assert character_at(lines, edge.only("asyncArrow")).startswith("async () =>")
    assert character_at(lines, edge.only("get prop")).startswith("(){return")
    assert character_at(lines, edge.only("#priv")).startswith("(){return")
    assert character_at(lines, edge.only("Derived")).startswith("class Derived extends")
    assert character_at(lines, edge.only("日本語")).startswith("(){return")
    assert character_at(lines, edge.only("😀emoji")).startswith("(){return")
    starts = {character_at(lines, key)[:1] for key in edge.keys if key.line is not None}
    assert starts <= set("(xasckbftumnrmv_/")  # parameters, an arrow's start, `class`, a field, the top level


def test_one_name_at_several_positions_is_several_funcs() -> None:
    edge = EdgeTrace("positions")
    assert {(key.line, key.column) for key in edge.keys if key.name == "Klass"} == {(15, 3), (16, 3), (18, 14)}
    assert len([key for key in edge.keys if key.name == ""]) == 15


def test_renaming_a_function_when_it_runs_changes_nothing() -> None:
    edge = EdgeTrace("positions")
    assert (edge.only("original").line, edge.only("original").column) == (36, 34)
    assert not {"renamedByDefineProperty", "displayNameSet"} & edge.names


def test_positions_beyond_twenty_million_arrive_unclipped() -> None:
    edge = EdgeTrace("big-positions")
    expected = edge_meta("big-positions")["extra"]["expect"]
    assert {name: f"{edge.only(name).line}:{edge.only(name).column}" for name in expected} == expected


def test_every_line_terminator_of_the_language_ends_a_line() -> None:
    edge = EdgeTrace("line-terminators")
    source = edge_source("lineends.js").replace("\r\n", "\n")
    for terminator in ("\r", "\u2028", "\u2029"):
        source = source.replace(terminator, "\n")
    lines = source.split("\n")
    for name in ("afterCRLF", "afterCR", "after2028", "after2029", "afterStr2028", "afterAstral"):
        assert character_at(lines, edge.only(name)).startswith("(){spin(50)}")
        assert lines[(edge.only(name).line or 0) - 1].find(f"function {name}") >= 0


def test_a_byte_order_mark_is_no_column() -> None:
    key = EdgeTrace("line-terminators").only("afterBOM")
    source = edge_source("bom.js")
    assert source.startswith("\ufeff")
    assert character_at([source.removeprefix("\ufeff").split("\n")[0]], key).startswith("(")


# Names


def test_hostile_and_foreign_names_arrive_as_they_were_given() -> None:
    edge = EdgeTrace("names-hostile")
    given = edge_meta("names-hostile")["extra"]["jsNames"]
    # the browser turns NUL into a space, and a lone surrogate into three bytes that nothing can repair
    arrived = {name.replace("\0", " ").replace("\ud800", "\xed\xa0\x80") for name in given}
    assert len(arrived) == 23
    assert arrived <= edge.names
    assert edge.names - arrived == {"prof", "spin", ""}


def test_a_function_may_be_named_like_a_part_of_the_time_and_is_js() -> None:
    edge = EdgeTrace("names-hostile")
    for name in ("(idle)", "(garbage collector)", "(program)", "(root)", "(anonymous)"):
        total, _ = edge.totals(name)
        assert total > 0
        assert edge.only(name).uri == "https://a.corpus.test/edge"
    assert edge.parts.idle_samples == edge.parts.hidden_samples == 0


def test_a_name_of_three_thousand_characters_is_cut_by_the_browser() -> None:
    edge = EdgeTrace("name-truncated-1024")
    assert sorted(len(name) for name in edge.names) == [4, 4, 1_024]
    assert edge.only("N" * 1_024).column == 3_010  # the position is that of the whole source


# Resources


def test_scripts_of_eval_blob_data_and_query_are_stored_without_what_is_private() -> None:
    edge = EdgeTrace("eval-and-urls")
    assert edge.only("evalSrcUrlAbs").uri == "https://evil.example/injected/path.js"
    assert edge.only("evalSrcUrlWebpack").uri == "webpack-internal:///./src/App.tsx"
    assert edge.only("evalSrcUrlUnicode").uri == "https://ex.test/%D1%84%D0%B0%D0%B9%D0%BB-%E6%97%A5%E6%9C%AC.js"
    assert edge.only("blobFn").uri == edge.only("blobModuleFn").uri == "blob:https://a.corpus.test"
    assert edge.only("dataFn").uri == edge.only("dataModuleFn").uri == "data:"
    assert edge.only("inlineHandlerFn").uri == "https://a.corpus.test/edge"
    assert not [key.uri for key in edge.keys if key.uri and ("SECRET" in key.uri or "?" in key.uri or "#" in key.uri)]


def test_one_script_asked_for_with_two_queries_is_one_func() -> None:
    edge = EdgeTrace("eval-and-urls")
    assert [frame.resourceId for frame in edge.envelope.trace.frames if frame.name == "queryScriptFn"] == [14, 15]
    assert edge.only("queryScriptFn") == FuncKey("https://a.corpus.test/q.js", 1, 24, "queryScriptFn")


def test_eval_without_a_source_url_has_no_frames() -> None:
    edge = EdgeTrace("eval-and-urls")
    evaluated = {name for name in edge.names if name.startswith(("eval", "newFn"))}
    assert evaluated == {
        "evalSrcUrlAbs",
        "evalSrcUrlWebpack",
        "evalSrcUrlUnicode",
        "evalSrcUrlLong",
        "newFnSrcUrl",
    }
    assert len(edge.only("evalSrcUrlLong").uri or "") == 1_024  # cut by the browser


def test_one_url_with_two_contents_keeps_the_functions_of_both_apart() -> None:
    edge = EdgeTrace("same-url-two-contents")
    assert edge.only("sameUrlFn") == FuncKey("https://a.corpus.test/toggle.js", 1, 19, "sameUrlFn")
    assert edge.only("anotherFn") == FuncKey("https://a.corpus.test/toggle.js", 1, 54, "anotherFn")


def test_a_script_of_another_origin_without_cors_is_missing_from_the_middle_of_stacks() -> None:
    hidden, visible = EdgeTrace("xorigin-noattr_nocors"), EdgeTrace("xorigin-attr_cors")
    assert ["", "firstPartyCaller", "thirdPartyOuter", "thirdPartyInner", "spin"] in [p[-5:] for p in visible.paths()]
    assert not [name for name in hidden.names if name.startswith("thirdParty")]
    # its callee hangs below its caller, and the caller has its time
    assert ["firstPartyCaller", "spin"] in [path[-2:] for path in hidden.paths()]
    assert hidden.totals("firstPartyCaller")[0] == visible.totals("firstPartyCaller")[0]


def test_a_redirected_script_carries_the_address_before_the_redirect() -> None:
    edge = EdgeTrace("xorigin-same_redirect_to_cross_cors")
    assert edge.only("thirdPartyInner").uri == "https://a.corpus.test/redirect"


def test_functions_of_a_same_origin_iframe_belong_to_its_own_document() -> None:
    edge = EdgeTrace("iframe-same-origin-parent")
    assert edge.only("childCalled").uri == "https://a.corpus.test/iframechild.html"
    assert edge.parts.idle_samples == 35  # the child's own context has no stack here


def test_a_busy_iframe_of_another_origin_looks_idle_to_its_parent() -> None:
    edge = EdgeTrace("iframe-cross-origin-busy")
    assert (edge.parts.idle_samples, edge.parts.js_samples) == (38, 2)


# Built-ins and WebAssembly


def test_a_built_in_is_a_name_alone() -> None:
    edge = EdgeTrace("builtins-and-native")
    for name in ("btoa", "atob", "appendChild", "createElement", "querySelectorAll", "getComputedStyle", "setTimeout"):
        assert edge.only(name) == FuncKey(None, None, None, name)
    assert not {"sort", "map", "parse", "exec"} & edge.names  # the language's own have no frame
    assert edge.only("arrayMapCb").uri == "https://a.corpus.test/edge"


def test_a_wasm_function_has_its_byte_offset_as_column() -> None:
    edge = EdgeTrace("wasm-url")
    assert edge.only("inner") == FuncKey("https://a.corpus.test/w.wasm", 1, 67, "inner")
    assert edge.only("js-to-wasm") == FuncKey(None, None, None, "js-to-wasm")
    path = ["jsCallsWasm", "js-to-wasm", "hotloop_internal", "inner"]
    assert path in [path[-4:] for path in edge.paths()]


def test_wasm_from_a_buffer_has_a_uri_of_its_own_kind() -> None:
    assert EdgeTrace("wasm-buffer").only("inner").uri == "wasm://wasm/mymod-62339246"


def test_wasm_without_names_is_numbered() -> None:
    edge = EdgeTrace("wasm-nonames")
    assert {"wasm-function[1]", "wasm-function[2]", "wasm-function[3]"} <= edge.names


# Stacks


def test_recursion_a_hundred_deep_is_complete_and_counts_once_a_sample() -> None:
    edge = EdgeTrace("recursion-100")
    deepest = max(edge.paths(), key=len)
    assert deepest[0] == ""
    assert deepest.count("rec") == 101
    assert edge.totals("rec") == (8, 0)
    assert edge.totals("spin") == (8, 8)


def test_recursion_a_thousand_deep_loses_its_root() -> None:
    edge = EdgeTrace("recursion-1000")
    assert {path[0] for path in edge.paths() if len(path) > 10} == {"rec"}
    total, _ = edge.totals("rec")
    assert total == 8  # of ten samples; once each, though it is 255 times on the stack


def test_mutual_recursion_cut_at_255_starts_at_either_function() -> None:
    edge = EdgeTrace("recursion-mutual-1000")
    assert {path[0] for path in edge.paths() if len(path) >= 254 and path[-1] == "spin"} == {"even", "odd"}
    assert edge.totals("even")[0] == edge.totals("odd")[0] == 8


def test_inlined_recursion_stays_within_the_depth() -> None:
    edge = EdgeTrace("recursion-hot-1000")
    assert edge.totals("rec") == (59, 39)
    assert edge.totals("leafWork") == (20, 20)


def test_after_an_await_the_callers_are_gone() -> None:
    edge = EdgeTrace("async")
    assert {path[0] for path in edge.paths() if "afterAwait" in path} <= {"outer", "inner", "afterAwait"}
    assert ["timerCb", "spin"] in edge.paths()
    assert ["genOuter", "genInner", "spin"] in [path[-3:] for path in edge.paths()]  # a generator keeps its caller
