"""The files that `fieldflame check` writes: JUnit XML, Markdown and JSON, also with hostile names."""

import re
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from fieldflame.reports.markdown import code

from tests.packages.check.made_server import (
    ALERTS,
    HOSTILE,
    URL,
    MadeServer,
    make_verdict,
    read_json,
    too_few,
    unclear,
)

# What the schema of Jenkins (junit-10.xsd) allows, of what is written here.
ATTRIBUTES: Final = {
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}
PARENTS: Final = {
    "properties": "testsuite",
    "property": "properties",
    "testcase": "testsuite",
    "failure": "testcase",
    "skipped": "testcase",
    "system-out": "testsuite",
}


def hostile() -> dict[str, Any]:  # Any: JSON
    """Returns an answer in which every name is hostile."""
    verdict = make_verdict(base=HOSTILE, page=HOSTILE)
    for culprit in verdict["culprits"]:
        culprit.update(label=HOSTILE, uri=HOSTILE)
    verdict["culprits"][0]["original"].update(source=f"webpack://x/./{HOSTILE}")
    for page in verdict["pages"]:
        page["page"] = HOSTILE
    for part in verdict["sentence_parts"]:
        if part["role"] == "name":
            part["text"] = HOSTILE
    verdict["commits"].update(author=HOSTILE, to=HOSTILE)
    verdict["commits"]["from"] = HOSTILE
    return verdict


ANSWERS: Final[dict[str, Any]] = {
    "slower": make_verdict(),
    "unclear": unclear(),
    "too few": too_few(),
    "nothing": make_verdict(
        base=None, head=None, state="too_few", culprits=[], pages=[], all_pages=None, commits=None, looks=None
    ),
    "hostile": hostile(),
}


def write(folder: Path, answer: dict[str, Any], *arguments: str) -> Path:
    """Runs a check that writes all files, and returns their folder."""
    server = MadeServer({"verdict": answer, "alerts": ALERTS})
    files = [word for kind in ("junit", "markdown", "json") for word in (f"--{kind}", str(folder / kind))]
    assert server.check(*files, *arguments) in (0, 1, 2)
    return folder


@pytest.fixture
def slower(tmp_path: Path) -> Path:
    return write(tmp_path, make_verdict())


def test_junit_has_a_case_for_each_page(slower: Path) -> None:
    suite = ElementTree.parse(slower / "junit").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "2", "1")
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert cases == {
        "page /report": ["failure"],
        "page /cart": ["failure"],
        "page /": [],
        "page /rare": ["skipped"],
        "all pages together": [],
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "slower: +389 ms per view (122 to 758 ms)"
    assert "findRuleFor" in (failure.text or "")
    properties = {entry.get("name"): entry.get("value") for entry in suite.iter("property")}
    assert (properties["release"], properties["base"], properties["commit"], properties["looks"]) == (
        "1.1.0",
        "1.0.0",
        "9fceb02d",
        "2",
    )


def test_junit_fails_only_what_fails_the_build(tmp_path: Path) -> None:
    suite = ElementTree.parse(write(tmp_path, make_verdict(), "--fail-on", "budget") / "junit").getroot()
    assert [case.get("name") for case in suite.iter("testcase")] == ["budget Script on phones"]
    assert suite.get("failures") == "1"


def test_junit_fails_no_page_that_is_not_confirmed_if_that_is_asked(tmp_path: Path) -> None:
    verdict = make_verdict(is_confirmed=True)
    verdict["pages"][1]["is_confirmed"] = True
    suite = ElementTree.parse(write(tmp_path, verdict, "--fail-on", "confirmed") / "junit").getroot()
    failed = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failed == ["page /cart"]


@pytest.mark.parametrize("name", ["unclear", "too few", "nothing"])
def test_what_is_not_slower_fails_no_page(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path, ANSWERS[name])
    assert ElementTree.parse(folder / "junit").getroot().get("failures") == "0"


def test_markdown_has_tables_and_links(slower: Path) -> None:
    text = (slower / "markdown").read_text(encoding="utf-8")
    assert text.startswith("### ❌ Fieldflame: slower\n\n`1.1.0` made `/report` **slower**\\: ")
    assert "| `findRuleFor` | \\+363 ms per view" in text
    assert "| `/cart` | slower | \\+20 ms per view \\(9 to 31 ms\\) | 400 → 40 |" in text
    assert "[Show commits](<https://code.example/compare/e83c5163...9fceb02d>)" in text
    assert f"[Compare the functions](<{URL}/projects/shop/compare/?base_release=1.0.0" in text


def test_a_summary_of_github_is_added_to(tmp_path: Path) -> None:
    summary = tmp_path / "summary"
    summary.write_text("before\n", encoding="utf-8")
    server = MadeServer({"verdict": unclear()})
    known = {"FIELDFLAME_URL": URL, "FIELDFLAME_TOKEN": "t", "GITHUB_STEP_SUMMARY": str(summary)}
    arguments = ("check", "--project", "shop", "--release", "1.1.0", "--markdown", str(summary))
    for _ in range(2):
        assert server.run(*arguments, environment=known) == 0
    text = summary.read_text(encoding="utf-8")
    assert (text.startswith("before\n"), text.count("### ✅ Fieldflame")) == (True, 2)


def test_the_json_is_the_servers_answer(slower: Path) -> None:
    assert read_json(slower / "json") == make_verdict()


def test_a_file_that_cannot_be_written_is_a_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert MadeServer({"verdict": unclear()}).check("--junit", str(tmp_path / "none" / "x")) == 3
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("name", ANSWERS)
def test_junit_is_what_readers_know(tmp_path: Path, name: str) -> None:
    suite = ElementTree.parse(write(tmp_path, ANSWERS[name], "--fail-on", "slower,budget") / "junit").getroot()
    assert suite.tag == "testsuite"
    for element in suite.iter():
        assert set(element.attrib) <= ATTRIBUTES[element.tag]
        assert {PARENTS[child.tag] for child in element} <= {element.tag}
    cases = list(suite.iter("testcase"))
    assert suite.get("tests") == str(len(cases)) != "0"
    for kind, name_of_count in (("failure", "failures"), ("skipped", "skipped")):
        assert suite.get(name_of_count) == str(sum(case.find(kind) is not None for case in cases))


def test_hostile_names_are_only_text(tmp_path: Path) -> None:
    folder = write(tmp_path, hostile())
    markdown = (folder / "markdown").read_text(encoding="utf-8")
    assert "<img" not in re.sub(r"(`+).+?\1", "", markdown)
    assert "](https://evil" not in re.sub(r"(`+).+?\1", "", markdown)
    assert "@anna" not in re.sub(r"(`+).+?\1", "", markdown)
    assert all(character.isprintable() for character in markdown.replace("\n", ""))
    assert not [line for line in markdown.splitlines() if line.lstrip().startswith("::")]


@pytest.mark.parametrize(
    ("text", "span"), [("a`b", "``a`b``"), ("`a`", "`` `a` ``"), ("a|b", "`a\\|b`"), ("a\nb", "`a�b`"), ("", "`–`")]
)
def test_a_code_span_holds_any_name(text: str, span: str) -> None:
    assert code(text, in_table=True) == span
