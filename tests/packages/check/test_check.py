"""`fieldflame check`: its exit codes, what it prints, how it waits; and that the token is nowhere."""

import ast
import json
import logging
import sys
from pathlib import Path

import fieldflame
import httpx
import pytest
from fieldflame.numbers import round_up, write_change, write_interval, write_ms
from fieldflame.question import FILTERS, read_duration

from profcore.trace.dimensions import DIMENSIONS
from tests.packages.check.made_server import (
    HOSTILE,
    TOKEN,
    URL,
    MadeServer,
    make_verdict,
    too_few,
    unclear,
    views_of,
)

CHECK = ("check", "--project", "shop", "--release", "1.1.0")


def test_a_slower_page_fails_the_build_and_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    server = MadeServer({"verdict": make_verdict()})
    assert server.check() == 1
    out = capsys.readouterr().out
    assert out.startswith("Fieldflame, shop: 1.1.0 made /report slower: +389 ms per view (122 to 758 ms), mainly find")
    assert "Function: findRuleFor +363 ms per view (301 to 432 ms), seen in its own code" in out
    assert "defined at: webpack://shop/./src/rules/find rule.ts:41:17" in out
    assert "defined at: https://shop.example/other.js:1:7 (no source map has it)" in out
    assert "Also slower: /cart +20 ms per view (9 to 31 ms)" in out
    assert "Commits after e83c5163 up to 9fceb02d by Anna: https://code.example/compare/e83c5163...9fceb02d" in out
    link = f"{URL}/projects/shop/compare/?base_release=1.0.0&head_release=1.1.0&page=%2Freport"
    assert f"Details: {link}" in out
    assert out.endswith("Result: slower (exit code 1).\n")
    assert dict(server.asked("verdict")[0]) == {"release": "1.1.0"}
    assert server.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_no_clear_change_passes_and_says_what_would_have_been_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert MadeServer({"verdict": unclear()}).check() == 0
    out = capsys.readouterr().out
    assert "These page views would show a change of 33 % (21 ms per view) four times in five." in out
    assert "A change of 5 % needs about 1,300 page views on each side." in out
    assert "Result: nothing worse found (exit code 0)." in out


def test_the_output_says_that_the_release_was_rolled_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = MadeServer({"verdict": make_verdict(rolled_back_by="2026-11-24T04:06:45Z")})
    report = tmp_path / "report.md"
    assert server.check("--markdown", str(report)) == 1
    assert "\n  1.1.0 was rolled back on 2026-11-24 04:06 UTC or earlier.\n  Compared with" in capsys.readouterr().out
    assert "`1.1.0` was rolled back on 2026-11-24 04:06 UTC or earlier." in report.read_text(encoding="utf-8")


def test_the_output_says_what_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert MadeServer({"verdict": unclear()}).check() == 0
    out = capsys.readouterr().out
    assert "  Compared with 1.0.0, the release before it.\n" in out
    assert "--base" not in out
    assert MadeServer({"verdict": unclear(state="faster")}).check() == 0
    sentence = (
        "If 1.0.0 was rolled back in the last day, say so by announce --rolled-back, or name the release that users "
    )
    sentence += "have again with --base."
    assert sentence in capsys.readouterr().out


def test_what_was_passed_over_is_printed_after_waiting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    passed_over = [
        {"release": HOSTILE, "rolled_back_by": "2026-11-20T06:00:00Z"},
        *({"release": f"1.0.{number}", "rolled_back_by": "2026-11-21T06:00:00Z"} for number in (8, 7, 6)),
    ]
    answers = [unclear(passed_over=passed_over), make_verdict(passed_over=[])]
    server = MadeServer({"verdict": answers, "overview": views_of((400, 40), (400, 60))})
    report, page = tmp_path / "verdict.json", tmp_path / "verdict.md"
    assert server.check("--wait", "30m", "--json", str(report), "--markdown", str(page)) == 1
    assert dict(server.asked("verdict")[1]) == {"base_release": "1.0.0", "head_release": "1.1.0"}
    out = capsys.readouterr().out
    assert "  Compared with 1.0.0. Passed over: ::error::x" in out
    assert ", 1.0.8, 1.0.7 and others, rolled back on 2026-11-21 06:00 UTC or earlier.\n" in out
    assert json.loads(report.read_text())["passed_over"] == passed_over
    assert "Compared with `1.0.0`. Passed over: ``" in page.read_text()


def test_a_build_may_fail_only_on_what_an_alarm_would_tell(capsys: pytest.CaptureFixture[str]) -> None:
    assert MadeServer({"verdict": make_verdict()}).check("--fail-on", "confirmed") == 2
    sentence = (
        "It is slower, but not yet as certain as an alarm must be: that takes several hours. "
        "The next look needs about 7 more page views."
    )
    assert sentence in capsys.readouterr().out
    answers = [make_verdict(), make_verdict(is_confirmed=True)]
    server = MadeServer({"verdict": answers, "overview": views_of((400, 40), (400, 60))})
    assert server.check("--fail-on", "confirmed", "--wait", "1h") == 1
    assert len(server.pauses_s) == 1


def test_a_faster_release_passes() -> None:
    assert MadeServer({"verdict": unclear(state="faster")}).check() == 0


@pytest.mark.parametrize(
    ("answer", "arguments", "message"),
    [
        (
            too_few(400, 7),
            (),
            "Each side needs 20 page views on a page that both have: at least 13 more of the release.",
        ),
        (too_few(3, 7), (), "at least 17 more of the base and 13 more of the release."),
        (too_few(30, 30), (), "They have 30 and 30, but too few in common."),
        (
            make_verdict(base=None, head=None, state="too_few", culprits=[], pages=[]),
            (),
            "This release has no page views yet, or no release before it has any.",
        ),
        (unclear(is_early=True), (), "Not certain yet: the next look needs about 10 more page views."),
        (
            unclear(),
            ("--see", "10%"),
            "A change of 10 % needs about 310 page views on each side: 270 more of the release",
        ),
        (unclear(smallest_visible_change=None), ("--see", "10"), "No change of 10 % could be seen with 400 and 40"),
    ],
)
def test_too_few_views_have_a_code_of_their_own_and_say_how_many_more(
    capsys: pytest.CaptureFixture[str], answer: dict[str, object], arguments: tuple[str, ...], message: str
) -> None:
    assert MadeServer({"verdict": answer}).check(*arguments) == 2
    assert message in capsys.readouterr().out


def test_enough_views_to_see_the_change_pass() -> None:
    assert MadeServer({"verdict": unclear(relative=0.09)}).check("--see", "10%") == 0


def test_a_base_and_a_part_of_the_views_can_be_named() -> None:
    known = {"releases": [{"release": "1.1.0"}, {"release": "1.0.0"}]}
    server = MadeServer({"verdict": unclear(), "releases": known})
    assert server.check("--base", "1.0.0", "--page", "/cart", "--page", "/pay", "--device", "mobile-low") == 0
    assert server.asked("verdict")[0].multi_items() == [
        ("base_release", "1.0.0"),
        ("head_release", "1.1.0"),
        ("page", "/cart"),
        ("page", "/pay"),
        ("device", "mobile-low"),
    ]


def test_waiting_asks_for_the_verdict_only_when_it_may_say_more(capsys: pytest.CaptureFixture[str]) -> None:
    counts = views_of((400, 40), (400, 41), (400, 45), (400, 60), (400, 61))
    server = MadeServer({"verdict": [unclear(), make_verdict()], "overview": counts})
    assert server.check("--wait", "30m") == 1
    assert len(server.asked("overview")) == 4  # 40, 41 and 45 are no other look than 40
    assert [dict(query) for query in server.asked("verdict")] == [
        {"release": "1.1.0"},
        {"base_release": "1.0.0", "head_release": "1.1.0"},  # the base that the first answer chose
    ]
    assert server.pauses_s == [10.0, 15.0, 22.5]
    assert "After 48 s, 460 page views: 1.1.0 made /report slower" in capsys.readouterr().out


def test_waiting_ends_when_enough_views_have_said_that_nothing_changed() -> None:
    answers = [too_few(400, 2), unclear(relative=0.2), unclear(relative=0.04)]
    server = MadeServer({"verdict": answers, "overview": views_of((400, 2), (400, 100), (400, 2_000))})
    assert server.check("--wait", "2h") == 0
    assert len(server.pauses_s) == 2


def test_waiting_ends_in_time_with_a_last_answer() -> None:
    server = MadeServer({"verdict": unclear(), "overview": [*views_of((400, 40)) * 9, *views_of((400, 42))]})
    assert server.check("--wait", "10m") == 0
    assert server.now_s == pytest.approx(600)
    assert max(server.pauses_s) <= 120
    assert len(server.asked("verdict")) == 2  # the last one has two views more


def test_without_waiting_it_asks_once() -> None:
    server = MadeServer({"verdict": too_few()})
    assert server.check() == 2
    assert (len(server.requests), server.pauses_s) == (1, [])


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        (httpx.Response(401, json={"detail": "Unknown token."}), 5, "does not know the token"),
        (httpx.Response(403, json={"detail": "Needs the scope read."}), 5, "(403). Needs the scope read."),
        (httpx.Response(404, json={"detail": "Not found."}), 5, "There is no project 'shop'"),
        (httpx.Response(404, json={"detail": "There is no such address in this API."}), 3, "older than this command"),
        (httpx.Response(400, json={"detail": "page must be …", "field": "page"}), 3, "(400): page must be"),
        (httpx.Response(302, headers={"Location": "https://elsewhere.example/"}), 3, "leads to https://elsewhere"),
        (httpx.Response(500, text="<h1>"), 4, "answered 500"),
        (httpx.Response(200, text="<h1>"), 4, "something else than JSON"),
        (httpx.Response(200, json={}), 4, "is older than this command"),
        (httpx.Response(200, json=make_verdict(pages=7)), 4, "cannot be read"),
        (httpx.Response(200, json=make_verdict(state="worse")), 4, "cannot be read"),
        (httpx.Response(200, content=b" " * 8_000_001), 4, "more than 8,000,000 bytes"),
        (httpx.ConnectError("Connection refused"), 4, "cannot be reached: Connection refused."),
        (httpx.ReadTimeout(""), 4, "no answer within 60 s"),
        (httpx.LocalProtocolError(f"Illegal header value b'Bearer {TOKEN}'"), 4, "LocalProtocolError"),
        (RuntimeError(TOKEN), 70, "a fault of this command (RuntimeError at made_server.py"),
    ],
)
def test_what_is_no_answer_about_the_release_has_another_code(
    capsys: pytest.CaptureFixture[str], answer: object, code: int, message: str
) -> None:
    assert MadeServer({"verdict": [answer]}).check() == code
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""
    assert TOKEN not in err


def test_a_busy_server_is_asked_again_as_late_as_it_says() -> None:
    busy = httpx.Response(503, headers={"Retry-After": "20"}, json={"detail": "Busy."})
    server = MadeServer({"verdict": [busy, httpx.ConnectError("gone"), make_verdict()]})
    assert server.check() == 1
    assert 20 <= server.pauses_s[0] <= 26
    assert 2 <= server.pauses_s[1] <= 2.6


def test_a_server_that_stays_busy_is_given_up() -> None:
    server = MadeServer({"verdict": httpx.Response(503, json={"detail": "Busy."})})
    assert server.check() == 4
    assert 60 <= server.now_s <= 90


@pytest.mark.parametrize(
    ("arguments", "environment", "code"),
    [
        (("check",), {}, 3),
        ((), {}, 3),
        ((*CHECK, "--token", TOKEN), {}, 3),
        ((*CHECK, f"--token={TOKEN}"), {}, 3),
        ((*CHECK, TOKEN), {}, 3),
        ((*CHECK, "--wait", TOKEN[:9]), {}, 3),
        ((*CHECK, "--wait", "25h"), {}, 3),
        ((*CHECK, "--see", "0"), {}, 3),
        ((*CHECK, "--fail-on", "faster"), {}, 3),
        ((*CHECK, "--base", "1.1.0"), {}, 3),
        ((*CHECK, "--base", "0.0.0"), {}, 3),
        (CHECK, {"FIELDFLAME_URL": ""}, 3),
        (CHECK, {"FIELDFLAME_URL": "profiles.example"}, 3),
        (CHECK, {"FIELDFLAME_URL": "ftp://profiles.example"}, 3),
        (CHECK, {"FIELDFLAME_URL": f"https://x:{TOKEN}@profiles.example"}, 3),
        (CHECK, {"FIELDFLAME_URL": f"https://profiles.example/?t={TOKEN}"}, 3),
        (CHECK, {"FIELDFLAME_TOKEN": ""}, 5),
        (CHECK, {"FIELDFLAME_TOKEN": f"{TOKEN}\n{TOKEN}"}, 5),
        (CHECK, {"FIELDFLAME_TOKEN": f"{TOKEN}é"}, 5),
    ],
)
def test_a_wrong_use_has_a_code_of_its_own_and_repeats_no_token(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], environment: dict[str, str], code: int
) -> None:
    known = {"FIELDFLAME_URL": URL, "FIELDFLAME_TOKEN": TOKEN, **environment}
    server = MadeServer({"releases": {"releases": [{"release": "1.1.0"}]}})
    assert server.run(*arguments, environment=known) == code
    out, err = capsys.readouterr()
    assert err.startswith("fieldflame: ")
    assert TOKEN not in out + err


def test_without_a_token_it_says_where_it_belongs(capsys: pytest.CaptureFixture[str]) -> None:
    assert MadeServer().run(*CHECK, environment={"FIELDFLAME_URL": URL}) == 5
    assert "FIELDFLAME_TOKEN" in capsys.readouterr().err


@pytest.mark.parametrize(("url", "is_warned"), [("http://profiles.example", True), ("http://127.0.0.1:8000/", False)])
def test_an_unencrypted_way_is_reported(capsys: pytest.CaptureFixture[str], url: str, is_warned: bool) -> None:
    server = MadeServer({"verdict": unclear()})
    server.run(*CHECK, environment={"FIELDFLAME_URL": url, "FIELDFLAME_TOKEN": f"{TOKEN}\n"})
    assert ("unencrypted" in capsys.readouterr().err) is is_warned
    assert server.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_the_token_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        MadeServer({"verdict": make_verdict()}).check()
    assert TOKEN not in caplog.text


def test_names_are_no_commands_for_the_runner_and_no_controls(capsys: pytest.CaptureFixture[str]) -> None:
    culprits = [{**make_verdict()["culprits"][1], "label": HOSTILE, "uri": HOSTILE}]
    parts = [{"text": HOSTILE, "role": "name"}]
    answer = make_verdict(page=HOSTILE, culprits=culprits, sentence_parts=parts, pages=[])
    answer["commits"]["author"] = HOSTILE
    answer["commits"]["link"] = "javascript:alert(1)"
    assert MadeServer({"verdict": answer}).check() == 1
    out = capsys.readouterr().out
    assert not [line for line in out.splitlines() if line.lstrip().startswith("::")]
    assert "##[" not in out
    assert "javascript:" not in out
    assert all(character.isprintable() for character in out.replace("\n", ""))


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1_800), ("90s", 90), ("1h30m", 5_400), ("24h", 86_400)])
def test_times_are_read(text: str, seconds: float) -> None:
    assert read_duration(text) == seconds


def test_numbers_are_as_the_dashboard_writes_them() -> None:
    assert [write_ms(ms) for ms in (0.04, 9.96, 41.4, 1_300, 12_400)] == ["0 ms", "10 ms", "41 ms", "1.30 s", "12 s"]
    assert [write_change(ms) for ms in (0.01, 389.2, -3.0)] == ["±0 ms", "+389 ms", "−3 ms"]
    assert write_interval((122.0, 758.3)) == "122 to 758 ms"
    assert write_interval((900.0, 1_300.0)) == "900 ms to 1.30 s"
    assert [round_up(count) for count in (7, 99.5, 1_234, 1_201)] == [7, 100, 1_300, 1_300]


def test_the_package_imports_httpx_and_the_standard_library_only() -> None:
    tops = set()
    room = Path(fieldflame.__file__).parent
    for file in room.rglob("*.py"):
        if any(file.is_relative_to(room / extra) for extra in ("mcp", "lsp")):  # with packages of their own
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                tops |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                tops.add((node.module or "").partition(".")[0])
    assert tops - sys.stdlib_module_names == {"fieldflame", "httpx"}


def test_a_check_can_be_narrowed_by_every_dimension() -> None:
    assert ("page", *(dimension.name for dimension in DIMENSIONS)) == FILTERS
