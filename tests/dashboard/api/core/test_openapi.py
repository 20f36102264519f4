"""The OpenAPI document is whole, valid, public, and true of the answers."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.validation import validate_schema
from jsonschema import Draft4Validator  # type: ignore[import-untyped]  # it has no types

from aggregate.jobs.requests import start_job
from dashboard.api import urls
from dashboard.api.core import openapi
from profcore.alerts.states import State
from projects.models import Project
from projects.releases import RELEASE_FIELDS
from tests.aggregate.posting import fold_all, post
from tests.alerts.state_changes import change_state
from tests.dashboard.conftest import TRACE_ID
from tests.envelopes import make_envelope, view_id_of

ADDRESS = "/api/v1/schema"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The document, which asks no database and is made once for the module: that takes half a second."""
    response = Client().get(ADDRESS)
    assert response.status_code == 200
    document: dict[str, Any] = response.json()
    return document


def test_a_process_makes_it_once(schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(openapi, "to_openapi")  # without which none can be made
    assert Client().get(ADDRESS).json() == schema


def test_it_is_valid(schema: dict[str, Any]) -> None:
    validate_schema(schema)  # type: ignore[no-untyped-call]  # spectacular has no types
    named = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(schema)))
    assert named == set(schema["components"]["schemas"])
    ids = [operation["operationId"] for path in schema["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids))


def test_it_lists_every_address_of_the_api(schema: dict[str, Any]) -> None:
    assert len(schema["paths"]) == len(urls.ENDPOINTS) > 40
    others = set(urls.urlpatterns) - set(urls.ENDPOINTS)
    assert others == {urls.urlpatterns[-1], *urls.FOREIGN}  # its own, and those of others' contracts


@pytest.mark.parametrize(
    "name",
    [
        "status",
        "releases",
        "pages",
        "overview",
        "trend",
        "settings",
        "functions",
        "vitals",
        "savings",
        "markers",
        "quality",
        "hangs",
        "calltree",
        "flamegraph",
        "views",
        "traces",
        "traces/{ref}",
        "functions/{func_id}/breakdown",
        "functions/{func_id}/callers",
        "functions/{func_id}/callees",
        "jobs",
        "sourcemaps",
        "jobs/{job_id}",
        "verdict",
        "alerts",
        "alerts/changes",
    ],
)
def test_answers_are_what_it_says_field_by_field(
    member: Client, shop: Project, schema: dict[str, Any], name: str
) -> None:
    responses = schema["paths"][f"/api/v1/projects/{{slug}}/{name}"]["get"]["responses"]
    answer_schema = responses["200"]["content"]["application/json"]["schema"]
    document = _for_json_schema({**answer_schema, "components": schema["components"]})
    change_state(shop, State.CONFIRMED)
    job_id = start_job(shop.pk, kind="functions", params=[("page", "/cart")], link="").id
    address = name.replace("{ref}", TRACE_ID).replace("{func_id}", "2").replace("{job_id}", str(job_id))
    response = member.get(f"/api/v1/projects/shop/{address}")
    assert response.status_code == 200
    answer = response.json()
    assert [error.message for error in Draft4Validator(document).iter_errors(answer)] == []


def test_a_timeline_is_what_it_says(
    client: Client, site: Project, token: dict[str, str], schema: dict[str, Any]
) -> None:
    marks = [{"type": "longtask", "start": 10, "duration": 60}, {"type": "mark", "name": "shown", "start": 5, "x": 1}]
    post("KEY-site", make_envelope("whole", "A\nA B\n-\n-", marks=marks))
    fold_all()
    answer = client.get(f"/api/v1/projects/site/views/{view_id_of('whole')}/timeline", headers=token).json()
    responses = schema["paths"]["/api/v1/projects/{slug}/views/{view_id}/timeline"]["get"]["responses"]
    answer_schema = responses["200"]["content"]["application/json"]["schema"]
    document = _for_json_schema({**answer_schema, "components": schema["components"]})
    assert answer["marks"]
    assert [error.message for error in Draft4Validator(document).iter_errors(answer)] == []


def _for_json_schema(node: Any) -> Any:  # Any: JSON
    """Says in JSON Schema what OpenAPI 3.0 says its own way, and lets no unknown field pass."""
    if isinstance(node, list):
        return [_for_json_schema(child) for child in node]
    if not isinstance(node, dict):
        return node
    node = {key: _for_json_schema(child) for key, child in node.items()}
    if "properties" in node and node.get("type") == "object":
        node["additionalProperties"] = False
        optional = {"field", "job_kind", "expires_in_s", "view_id", "tag", "value", *RELEASE_FIELDS}
        assert set(node["properties"]) - optional <= set(node.get("required", [])) <= set(node["properties"])
    if node.pop("nullable", False):
        return {"anyOf": [node, {"type": "null"}]}
    return node


def test_it_names_tokens_and_sessions(schema: dict[str, Any]) -> None:
    schemes = schema["components"]["securitySchemes"].values()
    assert {scheme["type"] for scheme in schemes} == {"http", "apiKey"}


def test_its_page_loads_nothing_from_elsewhere(client: Client) -> None:
    response = client.get("/api/v1/docs")
    assert response.status_code == 200
    assert "//" not in response.content.decode().replace("<!doctype", "")
    directives = [directive.strip() for directive in response["Content-Security-Policy"].split(";")]
    assert "script-src 'self'" in directives  # their order is that of a set
