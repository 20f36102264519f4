"""The source of a function: the lines around its definition, for readers of the project and for nobody else."""

import pytest
from django.test import Client

from aggregate.models import Func
from projects.models import Project
from tests.builders import make_label, make_project
from tests.dashboard.conftest import People

SOURCE = "\n".join(f"// line {n}" for n in range(1, 100)).replace(
    "// line 40", "export const draw = () => '<script>alert(1)</script>';"
)
API = "/api/v1/projects/shop/functions/"


def draw(project: Project) -> Func:
    return Func.objects.get(project=project, name="draw")


@pytest.fixture
def mapped(shop: Project) -> Project:
    """The shop, in which `draw` is defined in line 40 of a source."""
    make_label(draw(shop), "1.0.0", "src/draw.ts", "draw", line=40, column=21, content=SOURCE)
    Project.objects.filter(pk=shop.pk).update(
        source_link_template="https://git.example/shop/blob/{release}/{path}#L{line}"
    )
    return shop


def test_the_lines_around_the_definition_are_answered(client: Client, mapped: Project, bearer: dict[str, str]) -> None:
    answer = client.get(f"{API}{draw(mapped).id}/source", headers=bearer).json()
    source = answer["source"]
    assert (source["path"], source["line"], source["column"], source["line_count"]) == ("src/draw.ts", 40, 21, 99)
    assert [line["number"] for line in source["lines"]] == list(range(35, 95))
    assert source["lines"][5]["text"] == "export const draw = () => '<script>alert(1)</script>';"
    assert answer["link"] == "https://git.example/shop/blob/1.0.0/src/draw.ts#L40"
    assert "defined" in answer["note"]
    assert answer["function"]["original"] == {
        "source": "src/draw.ts", "line": 40, "column": 21, "name": "draw", "package": None,
    }  # fmt: skip


def test_an_unmapped_function_has_no_source(client: Client, mapped: Project, bearer: dict[str, str]) -> None:
    main = Func.objects.get(project=mapped, name="main")
    answer = client.get(f"{API}{main.id}/source", headers=bearer).json()
    assert (answer["source"], answer["link"]) == (None, None)


def test_a_map_without_texts_still_tells_the_place(client: Client, shop: Project, bearer: dict[str, str]) -> None:
    make_label(draw(shop), "1.0.0", "src/draw.ts", "draw", line=40, column=21)
    source = client.get(f"{API}{draw(shop).id}/source", headers=bearer).json()["source"]
    assert (source["path"], source["line"], source["lines"], source["line_count"]) == ("src/draw.ts", 40, [], 0)


def test_a_very_long_line_is_cut_around_the_definition(client: Client, shop: Project, bearer: dict[str, str]) -> None:
    text = "x" * 5_000 + "HERE" + "y" * 5_000
    make_label(draw(shop), "1.0.0", "lib.min.js", "draw", line=1, column=5_001, content=text)
    line = client.get(f"{API}{draw(shop).id}/source", headers=bearer).json()["source"]["lines"][0]
    assert line["is_cut"]
    assert "HERE" in line["text"]
    assert len(line["text"]) == 400


def test_a_source_too_large_to_expand_is_answered_without_lines(
    client: Client, mapped: Project, bearer: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aggregate.selectors.functions.originals.SOURCE_VIEW_MAX_BYTES", 100)
    assert client.get(f"{API}{draw(mapped).id}/source", headers=bearer).json()["source"]["lines"] == []


def test_strangers_and_tokens_of_other_projects_see_none_of_it(
    client: Client, mapped: Project, people: People, bearer: dict[str, str]
) -> None:
    address, page = f"{API}{draw(mapped).id}/source", f"/projects/shop/functions/{draw(mapped).id}/"
    assert client.get(address).status_code == 401
    assert client.get(page).status_code == 302
    other = make_project("other")
    assert client.get(address.replace("shop", other.slug), headers=bearer).status_code == 404
    client.force_login(people.stranger)
    assert client.get(address).status_code == 404
    assert client.get(page).status_code == 404


def test_the_page_shows_the_source_highlighted_and_harmless(client: Client, mapped: Project, people: People) -> None:
    client.force_login(people.member)
    response = client.get(f"/projects/shop/functions/{draw(mapped).id}/")
    text = response.content.decode()
    assert response.status_code == 200
    assert '<span class="hl-kd">const</span>' in text
    assert "<script>alert" not in text
    assert " style=" not in text
    assert "is-definition" in text
    assert "The browser never says which" in text
    assert 'href="https://git.example/shop/blob/1.0.0/src/draw.ts#L40"' in text


def test_a_function_that_is_not_there_is_not_found(client: Client, mapped: Project, people: People) -> None:
    client.force_login(people.member)
    for name in ("999", "m" + "0" * 20, "x"):
        assert client.get(f"/projects/shop/functions/{name}/").status_code == 404
