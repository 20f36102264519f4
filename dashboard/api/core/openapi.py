"""The OpenAPI document, derived from the views: their parameters, and their handlers' answers and docstrings."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from inspect import getdoc
from typing import Any, Final, get_args, get_origin

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.views.decorators.http import require_safe

from dashboard.api.core.answer import NOT_CHANGED, Conditional, Operation, operation_of
from dashboard.api.core.parts import ErrorAnswer
from dashboard.api.core.views import ProjectView
from dashboard.web.answers import write_json

Json = dict[str, Any]  # Any: JSON
Patterns = Sequence[URLPattern]

HEAD: Final[Json] = {
    "openapi": "3.0.3",
    "info": {
        "title": "Fieldflame read API",
        "version": "1",
        "description": "Which functions cost your pages time, in which release. Milliseconds are µs / 1000, unrounded.",
    },
}
SECURITY: Final[Json] = {
    "token": {"type": "http", "scheme": "bearer", "description": "A token of the project."},
    "cookieAuth": {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME},
}
PATH_TEXTS: Final = {
    "alert": "Its slug or id; `release` is the alert on releases.",
    "channel": "Its slug or id.",
    "key": "`key` of the state.",
}
METHODS: Final = ("get", "put", "post", "patch", "delete")
REFERENCE: Final = "#/components/schemas/{name}"
DOCUMENT_TYPE: Final = "application/vnd.oai.openapi+json"


@require_safe
def answer_document(request: HttpRequest, patterns: Patterns) -> HttpResponse:
    """Answers with the OpenAPI document. It is public: the documentation says the same."""
    return HttpResponse(write_document(patterns), content_type=DOCUMENT_TYPE)


@cache
def write_document(patterns: Patterns) -> bytes:
    """Returns the document of these addresses as JSON, made once in a process: anybody may ask for it at any rate."""
    structs: dict[str, type[msgspec.Struct]] = {}
    paths: Json = {}
    for pattern in patterns:
        path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))
        view = pattern.callback.view_class  # type: ignore[attr-defined]  # of a class-based view
        handlers = {method: getattr(view, method, None) for method in METHODS if method in view.http_method_names}
        paths[path] = {
            method: _describe(pattern, view, handler, structs) for method, handler in handlers.items() if handler
        }
    _, schemas = msgspec.json.schema_components(structs.values(), ref_template=REFERENCE)
    servers = {"servers": [{"url": settings.URL_PATH}]} if settings.URL_PATH else {}
    return write_json(
        HEAD | servers | {"paths": paths, "components": {"schemas": to_openapi(schemas), "securitySchemes": SECURITY}}
    )


def _describe(pattern: URLPattern, view: type[ProjectView], handler: Any, structs: dict[str, Any]) -> Json:
    """Returns one operation. Adds the structs that it refers to."""

    def refer(struct: type) -> Json:
        structs[struct.__name__] = struct
        return {"application/json": {"schema": {"$ref": REFERENCE.format(name=struct.__name__)}}}

    extra = operation_of(handler)
    answers, notes = read_answers(handler, extra)
    errors = {**view.errors, **extra.errors}
    described: Json = {
        "operationId": extra.id or re.sub(r"(?<!^)(?=[A-Z])", "_", view.__name__.removesuffix("View")).lower(),
        "description": getdoc(handler),
        "parameters": [
            *(_describe_path(name, converter) for name, converter in pattern.pattern.converters.items()),
            *(param.describe() for param in extra.params or view.known_params),
        ],
        "tags": [str(pattern.pattern).split("/")[2]],
        "responses": {
            **{str(code): {"description": notes.get(code, ""), "content": refer(answers[code])} for code in answers},
            **{str(code): {"description": text} for code, text in notes.items() if code not in answers},
            **{str(code): {"description": text, "content": refer(ErrorAnswer)} for code, text in errors.items()},
        },
    }
    if extra.content:
        described["responses"]["200"] = {"description": "", "content": _describe_content(extra.content)}
    if isinstance(extra.body, type):
        described["requestBody"] = {"content": refer(extra.body), "required": True}
    elif extra.body:
        described["requestBody"] = {"content": _describe_content(extra.body)}
    return described | ({"security": [{name: []} for name in SECURITY]} if view.authentication_classes else {})


def read_answers(handler: Any, extra: Operation) -> tuple[Mapping[int, type], Mapping[int, str]]:
    """Returns the structs that a handler answers with, and notes, by status."""
    answer = handler.__annotations__["return"]
    if extra.answers or extra.content:
        return extra.answers, extra.notes
    if answer is None:
        return {}, {204: "It is gone.", **extra.notes}
    if get_origin(answer) is Conditional:
        return {200: get_args(answer)[0]}, NOT_CHANGED
    return {200: answer}, extra.notes


def _describe_path(name: str, converter: object) -> Json:
    kind = {"type": "string"} | ({"format": "uuid"} if type(converter).__name__ == "UUIDConverter" else {})
    text = {"description": PATH_TEXTS[name]} if name in PATH_TEXTS else {}
    return {"in": "path", "name": name, "schema": kind, "required": True} | text


def _describe_content(content: Mapping[str, object]) -> Json:
    return {kind: {"schema": schema} for kind, schema in content.items()}


def to_openapi(schema: Any) -> Any:  # Any: JSON
    """Returns a JSON Schema in the dialect of OpenAPI 3.0: it has `nullable`, and no text next to a reference."""
    if isinstance(schema, list):
        return [to_openapi(child) for child in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: to_openapi(child) for key, child in schema.items() if child != []}
    options = schema.pop("anyOf", [])
    if {"type": "null"} in options:
        schema = {**next(option for option in options if option != {"type": "null"}), **schema, "nullable": True}
    if "$ref" in schema and len(schema) > 1:
        schema["allOf"] = [{"$ref": schema.pop("$ref")}]
    if "enum" in schema and "nullable" in schema:
        schema["enum"] = [*schema["enum"], None]
    kind = schema.get("type")
    defaults: Json = {"format": "double"} if kind == "number" else {"items": {}} if kind == "array" else {}
    return defaults | schema
