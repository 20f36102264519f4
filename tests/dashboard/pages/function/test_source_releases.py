"""The source of a function of two releases: each release's own text, and what changed between them."""

import html
import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from aggregate.label_models import Label, ReleaseScript
from aggregate.selectors.functions.calls import select_func
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.verdict import Culprit
from dashboard.layout.verdict_text import link_culprit
from projects.models import Project
from tests.aggregate.bundled_views import HASHED, func, view
from tests.aggregate.posting import fold_all, post
from tests.builders import make_label, make_project
from tests.dashboard.pages.reading import text_of

OLD = "// head\nexport function render(rows) {\n  const all = rows.map(row => row.cells);\n  return all.flat();\n}\n"
NEW = OLD.replace("  return all", "  // <b>slow</b>\n  for (const row of rows) row.measure();\n  return all")


@pytest.fixture
def app(client: Client, db: None) -> Project:
    """`render` in two releases of hashed bundles; the older release's func is the newer row of the database."""
    project = make_project()
    post("KEY-shop", *(view(f"new{n}", "c", "2.0.0", HASHED["2.0.0"]) for n in range(2)))
    fold_all()
    post("KEY-shop", *(view(f"old{n}", "a", "1.0.0", HASHED["1.0.0"]) for n in range(2)))
    fold_all()
    project.group_set.filter(release="1.0.0").update(first_seen_at="2026-01-01T00:00Z")
    for release, name, line, text in (("1.0.0", "a", 2, OLD), ("2.0.0", "c", 2, NEW)):
        render_func = func(project, name, HASHED[release])
        make_label(render_func, release, "src/table.ts", "render", line=line, column=17, content=text, is_shared=True)
    client.force_login(User.objects.create_superuser("root"))
    return project


def address(project: Project, query: str = "") -> str:
    return f"/projects/shop/functions/{func(project, 'a', HASHED['1.0.0']).id}/?{query}"


def ask(client: Client, project: Project, query: str = "") -> dict[str, Any]:
    path = f"/api/v1/projects/shop/functions/{func(project, 'a', HASHED['1.0.0']).id}/source?{query}"
    answer: dict[str, Any] = json.loads(client.get(path).content)
    return answer


def lines_of(answer: dict[str, Any]) -> str:
    return "\n".join(line["text"] for line in answer["source"]["lines"])


def test_the_api_has_the_text_of_the_asked_release_and_of_the_newest_otherwise(client: Client, app: Project) -> None:
    for query, release, text in (("", "2.0.0", NEW), ("release=1.0.0", "1.0.0", OLD), ("release=2.0.0", "2.0.0", NEW)):
        answer = ask(client, app, query)
        assert (answer["release"], lines_of(answer)) == (release, text)
        assert HASHED[release] in answer["function"]["uri"]
    path = f"/api/v1/projects/shop/functions/{func(app, 'a', HASHED['1.0.0']).id}/source"
    assert client.get(f"{path}?release=3.0.0").status_code == 404


def test_the_page_names_the_owners_of_the_source_and_offers_an_issue(client: Client, app: Project) -> None:
    assert "Owners" not in text_of(client, address(app))
    template = "https://git.example/new?title={title}&body={body}"
    Project.objects.filter(pk=app.pk).update(owner_rules="src/ @tables", issue_link_template=template)
    assert "Owners @tables" in text_of(client, address(app))
    assert ask(client, app)["owners"] == ["@tables"]
    page = client.get(address(app)).content.decode()
    link = html.unescape(re.search(r'href="(https://git\.example/[^"]+)"', page)[1])  # type: ignore[index]
    (title,), (body,) = parse_qs(urlsplit(link).query).values()
    assert title == "render takes time"
    assert body.splitlines()[1:3] == ["- Defined at: `table.ts:2:17`", "- Owners: @tables"]


def test_the_page_has_the_text_of_the_newest_release_of_its_slice(client: Client, app: Project) -> None:
    for query, release, is_new in (
        ("release=1.0.0", "1.0.0", False),
        ("release=2.0.0", "2.0.0", True),
        ("release=1.0.0&release=2.0.0", "2.0.0", True),
        ("", "2.0.0", True),
    ):
        page = text_of(client, address(app, query))
        assert ("slow" in page) == is_new, query
        assert HASHED[release] in page, query


def test_two_releases_are_tabs_and_the_address_has_the_release(client: Client, app: Project) -> None:
    page = client.get(address(app, "release=2.0.0")).content.decode()
    assert "release=2.0.0&amp;source_base=1.0.0&amp;source_release=1.0.0#source" in page
    assert "release=2.0.0&amp;source_base=1.0.0&amp;source_view=changes#source" in page
    older = client.get(address(app, "release=2.0.0&source_release=1.0.0")).content.decode()
    assert "slow" not in older
    # The head of the page stays that of the slice: only the source is another release's.
    assert HASHED["2.0.0"] in older


def test_changes_are_lines_with_both_numbers_and_all_of_it_is_escaped(client: Client, app: Project) -> None:
    page = client.get(address(app, "release=2.0.0&source_view=changes")).content.decode()
    source = page[page.index('class="source changes"') :].partition("</pre>")[0]
    assert source.count('is-added"') == 2
    assert source.count('is-removed"') == 0
    assert "<b>slow" not in source
    assert "&lt;b&gt;slow" in source
    assert "// head" not in source  # only the function's own text is compared


@pytest.mark.parametrize("end", ["\r", "\r\n", "\u2028", "\u2029"], ids=["CR", "CRLF", "U+2028", "U+2029"])
def test_lines_end_as_in_browsers(client: Client, app: Project, end: str) -> None:
    Label.objects.all().delete()
    for release, name, text in (("1.0.0", "a", OLD), ("2.0.0", "c", NEW)):
        render_func, content = func(app, name, HASHED[release]), text.replace("\n", end)
        make_label(render_func, release, "src/table.ts", "render", line=2, column=17, content=content, is_shared=True)
    answer = ask(client, app)
    assert (lines_of(answer), answer["source"]["line_count"]) == (NEW, NEW.count("\n") + 1)
    page = client.get(address(app, "source_view=changes")).content.decode()
    assert (page.count("is-added"), page.count("is-removed")) == (2, 0)


def test_equal_texts_have_no_changes(client: Client, app: Project) -> None:
    Label.objects.filter(release="2.0.0").update(source_id=Label.objects.get(release="1.0.0").source_id)
    ReleaseScript.objects.update(attempts=9)
    assert "The function has the same text in" in text_of(client, address(app, "source_view=changes"))


def test_a_change_is_bounded(client: Client, app: Project) -> None:
    body = "\n".join(f"  f({n});" for n in range(5_000))
    long = f"export function render(rows) {{\n{body}\n}}\n"
    render_func = func(app, "c", HASHED["2.0.0"])
    Label.objects.filter(func_id=render_func.id).delete()
    make_label(render_func, "2.0.0", "src/table.ts", "render", line=1, column=17, content=long, is_shared=True)
    page = client.get(address(app, "release=2.0.0&source_view=changes")).content.decode()
    assert "Only a part" in page
    assert page.count("source-line is-") <= 400


@pytest.mark.parametrize("host", ["*.example", "*.b.shop.example"])
def test_scripts_of_all_subdomains_belong_to_their_releases_too(client: Client, app: Project, host: str) -> None:
    for script in ReleaseScript.objects.all():
        script.uri = script.uri.replace("://shop.example/", f"://{host}/")
        script.save(update_fields=["uri"])
    page = client.get(address(app, "release=2.0.0")).content.decode()
    assert ("source_view=changes" in page) == (host == "*.example")


def test_a_function_of_one_release_has_no_tabs(client: Client, app: Project) -> None:
    Label.objects.filter(release="2.0.0").delete()
    ReleaseScript.objects.filter(release="2.0.0").delete()
    page = client.get(address(app)).content.decode()
    assert "source_view=changes" not in page


def test_a_verdict_leads_to_what_changed_and_the_page_begins_with_it(client: Client, app: Project) -> None:
    before, after = (Slice(project_id=app.pk, releases=(release,)) for release in ("1.0.0", "2.0.0"))
    known = select_func(app.pk, func(app, "a", HASHED["1.0.0"]).id, releases=("2.0.0",))
    assert known is not None
    culprit = Culprit(func=known, change=None, why="own_time")  # type: ignore[arg-type]  # the link does not look at it
    link = link_culprit(app, culprit, after, before)
    assert link.endswith(f"/{known.id}/?release=2.0.0&source_base=1.0.0&source_view=changes")
    page = client.get(link).content.decode()
    assert 'aria-label="Changes from 1.0.0 to 2.0.0"' in page
    assert re.findall(r'<h2 id="([^"]+)"', page)[:3] == ["cost-title", "source", "calls-title"]
    new = link_culprit(app, replace(culprit, why="new"), after, before)
    assert "source_view" not in new
