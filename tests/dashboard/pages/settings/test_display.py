"""The page "Display rules": rows added, moved and removed by posts alone, a preview before saving, and who may what."""

import re
from pathlib import Path

import pytest
from django.test import Client

from profcore.code.display_rules import COLOURS, MAX_RULES
from projects.models import Project
from tests.dashboard.api.project.rules import FOLD, RETITLE
from tests.dashboard.conftest import People
from tests.dashboard.pages.luminance import luminance

PAGE = "/projects/shop/settings/display/"
STATIC = Path("dashboard/static/dashboard")
FIELDS = ("action", "field", "pattern", "title", "colour")


def form_of(*rules: dict[str, str], do: str) -> dict[str, str]:
    fields = {f"rules-{at}-{name}": rule.get(name, "") for at, rule in enumerate(rules) for name in FIELDS}
    return {"rules-TOTAL_FORMS": str(len(rules)), "rules-INITIAL_FORMS": "0", "do": do, **fields}


def patterns(body: str) -> list[str]:
    inputs = re.findall(r'<input type="text" name="rules-\d+-pattern"[^>]*>', body)
    return [(re.search(r'value="([^"]*)"', field) or ["", ""])[1] for field in inputs]


def test_rules_are_saved_and_shown(owner: Client, shop: Project) -> None:
    answer = owner.post(PAGE, form_of(FOLD, RETITLE, do="save"))
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    shop.refresh_from_db()
    assert shop.display_rules == [FOLD, RETITLE]
    body = owner.get(PAGE).content.decode()
    assert patterns(body) == ["*/app.js", "draw"]
    assert "The rules are saved." in body


def test_rows_are_added_moved_and_removed_and_nothing_is_stored(owner: Client, shop: Project) -> None:
    def after(do: str, *rules: dict[str, str]) -> tuple[list[str], list[str]]:
        answer = owner.post(PAGE, form_of(*rules, do=do))
        assert answer.status_code == 200
        body = answer.content.decode()
        return patterns(body), re.findall(r'(?:name|value)="([a-z]+-\d+(?:-pattern)?|add)"[^>]*autofocus', body)

    assert "No rules: functions are shown as stored." in owner.get(PAGE).content.decode()
    assert after("add", FOLD) == (["*/app.js", ""], ["rules-1-pattern"])
    assert after("add-framework") == (["react*", "scheduler"], ["rules-0-pattern"])
    assert after("add-vendor", FOLD) == (["*/app.js", "*"], ["rules-1-pattern"])
    assert after("up-1", FOLD, RETITLE) == (["draw", "*/app.js"], ["down-0"])
    assert after("down-0", FOLD, RETITLE, FOLD) == (["draw", "*/app.js", "*/app.js"], ["down-1"])
    assert after("remove-0", FOLD, RETITLE) == (["draw"], ["remove-0"])
    assert after("remove-0", FOLD) == ([], ["add"])
    assert after("up-7", FOLD) == (["*/app.js"], [])
    assert after("up-x", FOLD) == (["*/app.js"], [])
    shop.refresh_from_db()
    assert shop.display_rules == []


def test_what_cannot_be_used_is_named_next_to_its_field_and_nothing_is_saved(owner: Client, shop: Project) -> None:
    bad = {**FOLD, "pattern": "", "title": "{line}"}
    for do in ("save", "preview"):
        answer = owner.post(PAGE, form_of(FOLD, bad, do=do))
        assert answer.status_code == 400
        body = answer.content.decode()
        assert 'aria-describedby="id_rules-1-pattern_error"' in body
        assert 'id="id_rules-1-title_error"' in body
        assert 'id="id_rules-0-pattern_error"' not in body
        assert 'value="{line}"' in body
    assert owner.post(PAGE, form_of(FOLD, do=f"remove-{'9' * 5_000}")).status_code == 200
    assert owner.post(PAGE, form_of({**FOLD, "action": "hide"}, do="save")).status_code == 400
    many = form_of(*[RETITLE] * (MAX_RULES + 1), do="save")
    assert f"At most {MAX_RULES} rules are accepted." in owner.post(PAGE, many).content.decode()
    shop.refresh_from_db()
    assert shop.display_rules == []


def test_rows_left_empty_are_no_rules_and_a_colour_takes_no_title(owner: Client, shop: Project) -> None:
    colour = {"action": "colour", "field": "name", "pattern": "draw", "title": "left over", "colour": "red"}
    owner.post(PAGE, form_of({"action": "fold", "field": "name"}, colour, do="save"))
    shop.refresh_from_db()
    assert shop.display_rules == [{"action": "colour", "field": "name", "pattern": "draw", "colour": "red"}]


def test_a_preview_shows_both_tables_and_what_each_rule_does(owner: Client, shop: Project) -> None:
    nobody = {**RETITLE, "pattern": "nobody"}
    body = owner.post(PAGE, form_of(FOLD, RETITLE, nobody, do="preview")).content.decode()
    assert "Now: 2 rows" in body
    assert "With these rules: 1 row<" in body
    assert "Decides 2 functions, 100\u202f%" in body
    assert "earlier rules decide its 1 match." in body
    assert "<b>Matches no recorded function.</b>" in body
    assert "Nothing is saved yet" in body
    shop.refresh_from_db()
    assert shop.display_rules == []


def test_members_read_and_change_nothing(client: Client, shop: Project, people: People) -> None:
    shop.display_rules = [FOLD]
    shop.save()
    client.force_login(people.member)
    body = client.get(PAGE).content.decode()
    assert "*/app.js" in body
    assert '<form method="post" class="rules-form"' not in body
    assert client.post(PAGE, form_of(do="save")).status_code == 403
    client.force_login(people.stranger)
    assert client.post(PAGE, form_of(do="save")).status_code == 404
    shop.refresh_from_db()
    assert shop.display_rules == [FOLD]


def test_a_form_from_elsewhere_is_refused(shop: Project, people: People) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.owner)
    assert client.post(PAGE, form_of(FOLD, do="save")).status_code == 403


def test_hostile_texts_stay_texts(owner: Client, shop: Project) -> None:
    hostile = {**RETITLE, "title": "<script>{name}</script>", "pattern": "*"}
    shop.display_rules = [hostile]
    shop.save()
    for address in (PAGE, "/projects/shop/functions/", "/projects/shop/flame-graph/?plain=1"):
        assert "<script>draw" not in owner.get(address).content.decode()
        assert "<script>{name}" not in owner.get(address).content.decode()


def test_pages_say_that_rules_are_applied_with_the_way_to_the_plain_truth(owner: Client, shop: Project) -> None:
    address = "/projects/shop/functions/?page=/cart"
    assert "display-line" not in owner.get(address).content.decode()
    shop.display_rules = [FOLD]
    shop.save()
    body = owner.get(address).content.decode()
    assert "are applied: 2 functions shown as 1" in body
    assert 'href="/projects/shop/functions/?page=/cart&amp;display=none">show functions as stored' in body
    assert "The app" in body
    assert 'class="shown-swatch shown-teal"' in body
    plain = owner.get(address + "&display=none").content.decode()
    assert 'href="/projects/shop/functions/?page=/cart">apply display rules' in plain
    assert "The app" not in plain
    assert '<input type="hidden" name="display" value="none">' in plain
    assert "/projects/shop/flame-graph/?page=/cart&amp;display=none" in plain
    assert "display-line" in owner.get("/projects/shop/flame-graph/").content.decode()
    assert "The app" in owner.get("/projects/shop/flame-graph/?plain=1").content.decode()
    assert "The app" not in owner.get("/projects/shop/flame-graph/?plain=1&display=none").content.decode()


def test_a_page_that_a_browser_keeps_is_out_of_date_when_rules_change(owner: Client, shop: Project) -> None:
    owner.get(PAGE)  # sets the CSRF cookie, without which no page has an ETag
    address = "/projects/shop/functions/?page=/cart"
    kept = owner.get(address)["ETag"]
    assert owner.get(address, headers={"If-None-Match": kept}).status_code == 304
    owner.post(PAGE, form_of(FOLD, do="save"))
    assert "The app" in owner.get(address, headers={"If-None-Match": kept}).content.decode()


def test_of_many_views_a_table_with_rows_made_by_rules_comes_by_itself(
    owner: Client, shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "/projects/shop/functions/?page=/cart"
    for rules in ([], [RETITLE], [FOLD]):
        shop.display_rules = rules
        shop.save()
        for views, comes_by_itself in ((10, False), (0, rules == [FOLD])):
            monkeypatch.setattr("dashboard.pages.functions.INLINE_VIEWS", views)
            assert ('hx-get="/projects/shop/functions/table/' in owner.get(address).content.decode()) == comes_by_itself
    assert "The app" in owner.get(address + "&plain=1").content.decode()
    assert "hx-get" not in owner.get(address + "&display=none").content.decode()


def test_a_group_has_a_page_of_its_own(owner: Client, shop: Project) -> None:
    shop.display_rules = [FOLD]
    shop.save()
    (row,) = owner.get("/api/v1/projects/shop/functions").json()["functions"]
    body = owner.get(f"/projects/shop/functions/{row['id']}/").content.decode()
    assert 'A <a href="/projects/shop/settings/display/">display rule</a> shows these functions as one' in body


def test_every_colour_is_one_that_text_stands_out_from_in_both_themes() -> None:
    tokens = (STATIC / "layout/tokens.css").read_text(encoding="utf-8")
    for theme in (0, 1):
        text = re.findall(r"--flame-text: #([0-9a-f]{6})", tokens)[theme]
        for colour in COLOURS:
            colours = re.findall(rf"--shown-{colour}: #([0-9a-f]{{6}})", tokens)
            assert len(colours) == 2
            light, dark = sorted((luminance(text), luminance(colours[theme])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (theme, colour)
