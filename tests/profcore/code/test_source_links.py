"""Links to the repository: a checked template, whose result nothing in a source map can redirect."""

import pytest

from profcore.code.source_links import TemplateError, check_template, check_trace_template, make_link, make_trace_link

GITHUB = "https://github.com/o/r/blob/{release}/{path}#L{line}"


def link(template: str, path: str, release: str = "v1") -> str | None:
    return make_link(template, release=release, path=path, line=7, column=3)


@pytest.mark.parametrize("template", [GITHUB, "http://git.local:3000/{path}?line={line}&column={column}&at={release}"])
def test_a_good_template_is_taken(template: str) -> None:
    check_template(template)


@pytest.mark.parametrize(
    "template",
    [
        "",
        "https://github.com/o/r",
        "javascript:alert('{path}')",
        "https://{path}/x",
        "https://{release}.example/{path}",
        "https://user@git.example/{path}",
        "https://git.example/{path}/{nonsense}",
        "https://git.example/{path}/{",
        "https://git.example/{path} x",
        "//git.example/{path}",
        "https://git.example/{path}" + "x" * 400,
    ],
)
def test_a_template_that_leads_nowhere_good_is_refused(template: str) -> None:
    with pytest.raises(TemplateError):
        check_template(template)


@pytest.mark.parametrize(
    ("path", "release", "made"),
    [
        ("src/cart.ts", "v1", "https://github.com/o/r/blob/v1/src/cart.ts#L7"),
        ("src/a b#?.ts", "v1", "https://github.com/o/r/blob/v1/src/a%20b%23%3F.ts#L7"),
        ("../../etc/x.ts", "a/../b", "https://github.com/o/r/blob/a%2F..%2Fb/etc/x.ts#L7"),
        ("{line}/x.ts", "v1", "https://github.com/o/r/blob/v1/%7Bline%7D/x.ts#L7"),
        ("node_modules/react/index.js", "v1", None),
    ],
)
def test_fields_are_escaped(path: str, release: str, made: str | None) -> None:
    assert link(GITHUB, path, release) == made


def test_without_a_template_there_is_no_link() -> None:
    assert link("", "src/x.ts") is None


@pytest.mark.parametrize(
    "template",
    [
        "https://traces.example/",
        "https://{trace_id}.example/",
        "https://traces.example/{trace_id}/{path}",
        "javascript:{trace_id}",
        "ftp://traces.example/{trace_id}",
    ],
)
def test_the_link_to_a_trace_is_checked_alike(template: str) -> None:
    with pytest.raises(TemplateError):
        check_trace_template(template)


def test_an_id_stays_in_its_place_in_the_link_to_a_trace() -> None:
    template = "https://traces.example/trace/{trace_id}?at={trace_id}"
    check_trace_template(template)
    assert make_trace_link(template, "a/../b c") == "https://traces.example/trace/a%2F..%2Fb%20c?at=a%2F..%2Fb%20c"
    assert make_trace_link("", "a") is None
