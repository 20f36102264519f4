"""Functions in sources: each shape has its own name or none, and a body tells a function that moved or was renamed."""

import pytest

from profcore.symbolicate.scopes import ScopeTree

# Each `§` is a position of a map; after it is the name of the function there, or None.
SHAPES = [
    ("§function f(a) {}", "f"),
    ("function §f(a) {}", "f"),
    ("function f§(a) {}", "f"),
    ("function f(§a) {}", "f"),
    ("function f(a) {§}", None),
    ("function f(a) { §g() }", None),
    ("const f = §() => 1", "f"),
    ("const f = (§a) => 1", "f"),
    ("const f = async §a => 1", "f"),
    ("const f = () => §g()", None),
    ("const f = g(§() => 1)", None),
    ("const f = g(1, §function () {})", None),
    ("const f = g(§function own() {})", "own"),
    ("o.x = §function () {}", "x"),
    ("exports.a.b = §() => 1", "b"),
    ("o[key] = §() => 1", None),
    ("f = §() => 1", "f"),
    ("f = g || §(() => 1)", None),
    ("f = (§() => 1)", "f"),
    ("function g(f = §() => 1) {}", "f"),
    ("const [f = §() => 1] = []", "f"),
    ("({ §m() {} })", "m"),
    ("({ m: §() => 1 })", "m"),
    ("({ 'a-b': §() => 1 })", "a-b"),
    ("({ [k]: §() => 1 })", None),
    ("({ async *§gen() {} })", "gen"),
    ("({ get §x() { return 1 } })", "get x"),
    ("class A { §m() {} }", "A.m"),
    ("class A { static §m() {} }", "A.m"),
    ("class A { §constructor() {} }", "A.constructor"),
    ("class A { set §x(v) {} }", "A.set x"),
    ("class A { §#p() {} }", "A.#p"),
    ("class A { §[k]() {} }", None),
    ("class A { f = §() => 1 }", "f"),
    ("const B = class { §m() {} }", "m"),
    ("§class A { x = 1 }", "A"),
    ("class A { §static x = g() }", "A"),
    ("class A { §static { g() } }", "A"),
    ("<a onClick={§() => 1} />", "onClick"),
    ("list.map(§x => x.id)", None),
    ("g(§async () => {})", None),
    ("const f = g(() => { §h() })", None),
    ("export §default function f(a) {}", "f"),
    ("export §default (a) => 1", None),
    ("§export default function f(a) {}", None),
    ("§export function f(a) {}", None),
    ("x = { §", None),
]


@pytest.mark.parametrize(("shape", "name"), SHAPES)
@pytest.mark.parametrize("before", ["", "/* 🎈é */ let ü = '🎈'; "])
def test_a_function_has_its_own_name_or_none(shape: str, name: str | None, before: str) -> None:
    text, _, rest = (before + shape).partition("§")
    function = ScopeTree("\n\n" + text + rest, "a.js").find(3, len(text.encode("utf-16-le")) // 2 + 1)
    assert (None if function is None else function.name) == name


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("a.ts", "const f = (§function (a: number): void {} as any)", "f"),
        ("a.ts", "class A<T> { private f = §(a: T): T => a }", "f"),
        ("a.ts", "abstract class A { abstract x(): void; §m<T>(a: T) {} }", "A.m"),
        ("a.tsx", "export const V = §<T,>(p: T) => <b onPointerUp={() => 1}>{p}</b>", "V"),
        ("a.vue", "<template>{{ <b> }}</template>\n<script setup lang='ts'>const f = §(a: number) => a</script>", "f"),
        ("a.svelte", "<p>'</p>\n<SCRIPT>function §f() {}</SCRIPT>", "f"),
    ],
)
def test_each_language_is_read_by_its_own_grammar(path: str, text: str, name: str) -> None:
    before, _, rest = text.partition("§")
    line = before.count("\n") + 1
    function = ScopeTree(before + rest, path).find(line, len(before.rpartition("\n")[2]) + 1)
    assert function is not None
    assert function.name == name


@pytest.mark.parametrize("place", [(0, 1), (1, 0), (1, 10_000), (9, 1), (-1, -1)])
def test_a_position_outside_of_the_source_has_no_function(place: tuple[int, int]) -> None:
    assert ScopeTree("function f() {}", "a.js").find(*place) is None


def body_hash(text: str) -> bytes | None:
    before, _, rest = text.partition("§")
    function = ScopeTree(before + rest, "a.js").find(1, len(before) + 1)
    assert function is not None
    return function.body_hash


BODY = "(rows, by) { return rows.sort((a, b) => a[by] - b[by]).slice(0, 10) }"


def test_a_moved_or_renamed_function_keeps_its_body() -> None:
    whole = body_hash("function §first" + BODY)
    assert whole is not None
    assert body_hash("const x = 1; /* moved */ function §second" + BODY.replace("rows", "list")) == whole
    assert body_hash("function §first" + BODY.replace("10", "11")) != whole
    assert body_hash("function §first" + BODY.replace("slice", "splice")) != whole


def test_a_short_function_has_no_body_to_be_found_by() -> None:
    assert body_hash("const f = §() => null") is None


@pytest.mark.slow(5)
def test_two_thousand_nested_functions_are_read() -> None:
    function = ScopeTree("(() => " * 2_000 + "1" + ")" * 2_000, "a.js").find(1, 7 * 1_999 + 2)
    assert function is not None
    assert function.name is None
