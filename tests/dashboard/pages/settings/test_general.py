"""General settings: the name, the link to sources with an example, and the frame that all settings share."""

import pytest
from django.test import Client

from dashboard.pages.settings.layout import SECTIONS
from projects.models import Project
from tests.dashboard.pages.settings.conftest import SETTINGS, follow, read, send, text_in

TEMPLATE = "https://git.example/{release}/{path}#L{line}"


def test_an_admin_changes_name_and_link_and_is_told_so(owner: Client, shop: Project) -> None:
    links = {"source_link_template": TEMPLATE, "trace_link_template": "https://traces.example/{trace_id}"}
    text = follow(owner, "", name="  My shop ", **links)
    assert "The settings are saved." in text
    project = Project.objects.get(pk=shop.pk)
    assert (project.name, {name: getattr(project, name) for name in links}) == ("My shop", links)
    assert "Saved." not in read(owner)


def test_the_link_is_shown_by_a_made_up_function_before_it_is_saved(owner: Client, shop: Project) -> None:
    response = send(owner, "", name="The shop", source_link_template=TEMPLATE, **{"try": "1"})
    assert "An example function, defined in src/cart/total.ts:12:17" in text_in(response)
    assert 'href="https://git.example/1.4.0/src/cart/total.ts#L12"' in response.content.decode()
    half_typed = send(owner, "", name="The shop", source_link_template="https://git.example/{pa", **{"try": "1"})
    assert half_typed.status_code == 200
    assert "This template is not complete yet." in text_in(half_typed)
    assert Project.objects.get(pk=shop.pk).source_link_template == ""


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("name", "", "This field is required."),
        ("name", "x" * 121, "at most 120 characters"),
        ("source_link_template", "https://git.example/", "It needs {path}."),
        ("source_link_template", "javascript:{path}", "It must begin with https://"),
        ("trace_link_template", "https://traces.example/", "It needs {trace_id}."),
    ],
)
def test_a_wrong_value_is_named_next_to_its_field_which_has_the_focus(
    owner: Client, shop: Project, field: str, value: str, sentence: str
) -> None:
    response = send(owner, "", **({"name": "Kept", "source_link_template": TEMPLATE} | {field: value}))
    assert response.status_code == 400
    page = response.content.decode()
    assert sentence in text_in(response)
    assert f'id="id_{field}_error"' in page
    (tag,) = [part for part in page.split("<input") if f'name="{field}"' in part]
    attributes = tag.partition(">")[0]
    assert f"id_{field}_error" in attributes
    assert "autofocus" in attributes
    assert 'aria-invalid="true"' in attributes
    assert "Kept" in page or field == "name"  # what was typed stays typed
    assert Project.objects.get(pk=shop.pk).name == "The shop"


def test_members_read_all_sections_and_have_no_button(member: Client, owner: Client, shop: Project) -> None:
    for name, word in SECTIONS:
        if name == "settings-shared":
            continue  # members have links of their own there: test_shared_links
        section = {"settings": "", "settings-sourcemaps": "source-maps/"}.get(
            name, name.removeprefix("settings-") + "/"
        )
        page = member.get(SETTINGS + section).content.decode()
        assert f"<h1>{word}</h1>" in page
        assert "You can read these settings" in page
        body = page.partition('class="section"')[2]
        assert 'type="submit"' not in body, section
        assert 'type="submit"' in owner.get(SETTINGS + section).content.decode().partition('class="section"')[2]


def test_a_name_of_markup_is_text(owner: Client, shop: Project) -> None:
    Project.objects.update(name="<script>alert(1)</script>")
    assert "<script>alert" not in owner.get(SETTINGS).content.decode()


def test_changes_are_logged_without_what_was_typed(
    owner: Client, shop: Project, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        send(owner, "", name="Secret name", source_link_template="")
    assert "project shop: general settings changed: name by user" in caplog.text
    assert "Secret" not in caplog.text
