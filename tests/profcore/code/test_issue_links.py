"""Links to forms for new issues."""

from urllib.parse import parse_qs, urlsplit

import pytest

from profcore.code.issue_links import MAX_LINK_CHARS, check_issue_template, make_issue_link
from profcore.code.source_links import TemplateError

GITHUB = "https://github.com/acme/shop/issues/new?title={title}&body={body}"


@pytest.mark.parametrize(
    "template",
    [
        GITHUB,
        "https://gitlab.example/acme/shop/-/issues/new?issue[title]={title}&issue[description]={body}",
        "https://acme.atlassian.net/secure/CreateIssueDetails!init.jspa?pid=1&issuetype=1&summary={title}&description={body}",
        "https://linear.app/acme/team/WEB/new?title={title}&description={body}",
    ],
)
def test_the_forms_of_trackers_get_title_and_text(template: str) -> None:
    check_issue_template(template)
    title, body = "main & draw <b>", "Line 1\n`code` {title}\n#2 100 %"
    link = make_issue_link(template, title, body)
    assert link is not None
    filled = [value for values in parse_qs(urlsplit(link).query).values() for value in values]
    assert filled[-2:] == [title, body]


def test_a_long_text_is_cut_at_a_line() -> None:
    link = make_issue_link(GITHUB, "t" * 500, "\n".join(f"line {n} ü" for n in range(2_000)))
    assert link is not None
    assert len(link) <= MAX_LINK_CHARS
    (body,) = parse_qs(urlsplit(link).query)["body"]
    assert body.endswith("ü …")
    assert make_issue_link("", "t", "b") is None


@pytest.mark.parametrize(
    "template",
    [
        "javascript:{title}",
        "https://{title}.example/",
        "https://a@b.example/{title}",
        "https://a.example/{body}",
        "https://a.example/{title}{x}",
        "https://a.example/{title} x",
        "https://a.example/?{title}{",
        "x" * 1_001,
    ],
)
def test_what_is_no_template_is_refused(template: str) -> None:
    with pytest.raises(TemplateError):
        check_issue_template(template)
