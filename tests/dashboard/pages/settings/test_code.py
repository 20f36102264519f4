"""Code rules: rows of a form, kept in their order, wrong ones told in their row, previewed by functions and time."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from aggregate.selectors.previews.code_preview import preview_moves
from aggregate.selectors.slice.slices import Slice
from profcore.code.code_rules import MAX_RULES, read_code_rules
from projects.models import Project
from tests.builders import make_cell, make_func, make_hotspot, make_project
from tests.dashboard.pages.settings.conftest import SETTINGS, read, text_in

KINDS = ("categories", "parties", "packages")


def send(
    client: Client,
    *,
    same: str = "",
    preview: bool = False,
    team: tuple[str, str] = ("", ""),
    **rows: list[dict[str, str]],
) -> HttpResponse:
    """Posts the form with rows by kind, and as a browser does, an empty one behind them."""
    fields: dict[str, Any] = {"same_funcs": same} | ({"preview": "1"} if preview else {})
    fields |= dict(zip(("owner_rules", "issue_link_template"), team, strict=True))
    for kind in KINDS:
        given = [*rows.get(kind, []), {}][:MAX_RULES]
        fields |= {f"{kind}-TOTAL_FORMS": len(given), f"{kind}-INITIAL_FORMS": 0}
        fields |= {f"{kind}-{at}-{name}": value for at, row in enumerate(given) for name, value in row.items()}
    return client.post(SETTINGS + "code/", fields)  # type: ignore[return-value]  # the client's own response


def test_rules_of_all_kinds_are_kept_and_shown_again(owner: Client, shop: Project) -> None:
    answer = send(
        owner,
        same="12 m0123456789abcdef0123",
        categories=[{"category": "library", "uri": "/vendor/"}, {"category": "inline", "name": "track.*"}],
        parties=[{"domain": "cdn.example", "owner": "other", "name": "A CDN"}],
        packages=[{"path": "packages/*", "name": "@acme/*"}],
    )
    assert answer.status_code == 302
    assert "The rules are saved." in read(owner, "code/")
    assert Project.objects.get(pk=shop.pk).code_rules == {
        "categories": [{"category": "library", "uri": "/vendor/"}, {"category": "inline", "name": "track.*"}],
        "parties": [{"domain": "cdn.example", "owner": "other", "name": "A CDN"}],
        "packages": [{"path": "packages/*", "name": "@acme/*"}],
        "same_funcs": [{"from": "12", "to": "m0123456789abcdef0123"}],
    }
    page = owner.get(SETTINGS + "code/").content.decode()
    for value in ('value="/vendor/"', 'value="A CDN"', 'value="@acme/*"', "12 m0123456789abcdef0123"):
        assert value in page


def test_rows_are_ordered_deleted_and_emptied(owner: Client, shop: Project) -> None:
    rows = [
        {"category": "library", "uri": "a", "ORDER": "3"},
        {"category": "library", "uri": "gone", "ORDER": "1", "DELETE": "on"},
        {"category": "", "uri": "", "ORDER": "4"},
        {"category": "inline", "uri": "b", "ORDER": "2"},
        {"category": "eval", "uri": "last"},
    ]
    assert send(owner, categories=rows).status_code == 302
    kept = Project.objects.get(pk=shop.pk).code_rules["categories"]
    assert [rule["uri"] for rule in kept] == ["b", "a", "last"]


@pytest.mark.parametrize(
    ("kind", "row", "sentence"),
    [
        ("categories", {"category": "library"}, "A rule needs a uri, a source or a name."),
        ("categories", {"category": "library", "uri": "("}, "cannot be read"),
        ("categories", {"category": "library", "uri": "(?=a)"}, "cannot be read"),
        ("categories", {"uri": "a"}, "Choose a category."),
        ("parties", {"domain": "https://cdn.example", "owner": "own"}, "Domain must be a host in lower case"),
        ("parties", {"domain": "cdn.example"}, "Choose an owner."),
        ("parties", {"name": "A CDN"}, "Enter a domain."),
        ("packages", {"name": "@acme/*"}, "Enter the folders."),
        ("packages", {"path": "packages/**"}, "Path may have one *"),
    ],
)
def test_a_wrong_rule_is_named_in_its_row(
    owner: Client, shop: Project, kind: str, row: dict[str, str], sentence: str
) -> None:
    good = {"categories": {"category": "eval", "uri": "x"}, "parties": {"domain": "x.example", "owner": "own"}}
    rows = [good.get(kind, {"path": "libs/*"}), row]
    response = send(owner, **{kind: rows})  # type: ignore[arg-type]  # by name it could be another argument
    assert response.status_code == 400
    assert sentence in text_in(response)
    wrong = response.content.decode().partition('<tr class="is-wrong">')[2].partition("</tr>")[0]
    assert sentence[:20] in text_in(HttpResponse(wrong))
    assert f"{kind}-1-" in wrong
    assert Project.objects.get(pk=shop.pk).code_rules == {}


@pytest.mark.parametrize(
    ("same", "sentence"), [("1 2 3", "is not a pair of ids"), ("a b", "ids of functions"), ("1 1", "1")]
)
def test_wrong_overrides_are_named_next_to_their_field(owner: Client, same: str, sentence: str) -> None:
    response = send(owner, same=same)
    assert response.status_code == 400
    assert sentence in text_in(response)
    assert 'id="id_same_funcs_error"' in response.content.decode()


def test_a_preview_tells_functions_and_time_and_saves_nothing(owner: Client, shop: Project) -> None:
    cell = make_cell(shop, page="/new", starts_at=datetime.now(UTC).replace(minute=0, second=0, microsecond=0))
    moved = make_func(shop, "moved", uri="https://shop.example/vendor/a.js")
    make_hotspot(cell, moved, self_us=3_000_000, total_us=3_000_000)
    make_hotspot(cell, make_func(shop, "stays"), self_us=1_000_000, total_us=1_000_000)
    text = text_in(send(owner, preview=True, categories=[{"category": "library", "uri": "/vendor/"}]))
    assert "3.00 s of 4.0" in text  # beside the fixture's 9 ms, where its Monday is one of the last seven days
    assert "script time of the last 7 days (" in text
    assert "(none) library 1 3.00 s 7" in text
    assert "moved a.js:1:" in text
    assert "Of the newest 4 functions, 1 would change" in text
    assert Project.objects.get(pk=shop.pk).code_rules == {}


def test_moves_are_of_one_project(shop: Project) -> None:
    cell = make_cell(make_project("other"), page="/x")
    make_hotspot(
        cell, make_func(Project.objects.get(slug="other"), "f", uri="https://a/vendor/b.js"), self_us=5, total_us=5
    )
    rules = read_code_rules({"categories": [{"category": "library", "uri": "/vendor/"}]})
    assert preview_moves(Slice(project_id=shop.pk), rules).moves == []
    preview = preview_moves(Slice(project_id=cell.project_id), rules)
    assert [(move.after, move.func_count, move.js_us) for move in preview.moves] == [("library", 1, 5)]
    assert (preview.js_us, preview.moved_us) == (5, 5)


def test_every_wrong_rule_is_named_at_once_and_a_deleted_one_is_not_wrong(owner: Client) -> None:
    bad: dict[str, list[dict[str, str]]] = {
        "categories": [{"category": "eval", "uri": "("}],
        "packages": [{"path": "/"}],
    }
    page = send(owner, parties=[{"domain": "x/", "owner": "own"}], **bad).content.decode()  # type: ignore[arg-type]  # as below
    assert page.count('<tr class="is-wrong">') == 3
    assert send(owner, packages=[{"path": "/", "DELETE": "on"}]).status_code == 302


@pytest.mark.slow(5)
def test_as_many_rules_as_there_may_be_are_taken(owner: Client, shop: Project) -> None:
    category = {"category": "eval", "source": "b", "name": "c"}
    many: dict[str, list[dict[str, str]]] = {
        "categories": [category | {"uri": f"a{n}", "ORDER": str(n)} for n in range(MAX_RULES)],
        "parties": [{"domain": f"d{n}.example", "owner": "other", "name": "e"} for n in range(MAX_RULES)],
        "packages": [{"path": f"libs/{n}", "name": "f"} for n in range(MAX_RULES)],
    }
    assert send(owner, **many).status_code == 302  # type: ignore[arg-type]  # by name it could be another argument
    assert len(Project.objects.get(pk=shop.pk).code_rules["packages"]) == MAX_RULES
    read(owner, "code/")


def test_a_form_without_its_counts_is_refused_and_changes_nothing(owner: Client, shop: Project) -> None:
    Project.objects.update(code_rules={"packages": [{"path": "libs/*"}]})
    assert owner.post(SETTINGS + "code/", {"same_funcs": ""}).status_code == 400
    assert Project.objects.get(pk=shop.pk).code_rules == {"packages": [{"path": "libs/*"}]}


def test_members_see_the_rules_without_empty_rows(member: Client, shop: Project) -> None:
    Project.objects.update(code_rules={"packages": [{"path": "libs/*"}]})
    page = member.get(SETTINGS + "code/").content.decode()
    assert 'value="libs/*"' in page
    assert "packages-1-path" not in page
    assert "placeholder" not in page.partition("</main>")[0]  # the search below it has one
    (tag,) = [part for part in page.split("<input") if 'name="packages-0-path"' in part]
    assert "readonly" in tag.partition(">")[0]
    assert page.count(">None.<") == 2


def test_a_form_that_says_it_has_many_rows_is_drawn_with_few(owner: Client, shop: Project) -> None:
    """Django's own limit is a thousand more than there may be: 3,600 rows for a post of some bytes."""
    counts = {f"{kind}-{name}_FORMS": 99_999_999 for kind in KINDS for name in ("TOTAL", "INITIAL")}
    response = owner.post(SETTINGS + "code/", counts | {"same_funcs": ""})
    assert response.status_code == 400
    fields = response.content.decode().count('-name"')  # two in each row: the name, and its label
    assert 2 * len(KINDS) * MAX_RULES < fields < 2 * len(KINDS) * (MAX_RULES + 3)


def test_owners_and_the_form_for_issues_are_kept_or_told_what_is_wrong(owner: Client, shop: Project) -> None:
    team = ("/src/cart/ @cart", "https://git.example/new?title={title}&body={body}")
    assert send(owner, team=team).status_code == 302
    stored = Project.objects.get(pk=shop.pk)
    assert (stored.owner_rules, stored.issue_link_template) == team
    page = owner.get(SETTINGS + "code/").content.decode()
    assert "/src/cart/ @cart" in page
    assert "https://git.example/new?title={title}&amp;body={body}" in page
    for wrong, words in (
        (("!src/ @a", ""), "Line 1: a pattern cannot begin with !"),
        (("", "https://git.example/new"), "It needs {title}."),
    ):
        answer = send(owner, team=wrong)
        assert answer.status_code == 400
        assert words in text_in(answer)
    assert Project.objects.get(pk=shop.pk).owner_rules == team[0]
