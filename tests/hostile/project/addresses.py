"""Every address that can be read of the hostile project, with the queries whose answers have its texts."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import urlencode

from django.urls import URLPattern, reverse

from dashboard import urls
from dashboard.pages.function.view import PARTS
from profcore.formats.registry import EXPORTERS
from tests.hostile.project.making import HostileProject
from tests.hostile.project.texts import MARKUP, PAGES, RELEASES, fill

OLD, NEW, ODD = RELEASES
Query = Mapping[str, str]
PLAIN: Final[Query] = {}
SLICE: Final[Query] = {"release": NEW, "page": PAGES[0]}
NEW_ONLY: Final[Query] = {"release": NEW}
SIDES: Final[Query] = {"base_release": OLD, "head_release": NEW}
SEARCHED: Final[Query] = {"q": MARKUP, "find": fill(MARKUP, 200), "limit": "100"}
ODD_ONLY: Final[Query] = {"release": ODD}
USUAL: Final = (PLAIN, SLICE, SIDES, SEARCHED, ODD_ONLY)
WITHOUT_SLICE: Final = ("settings", "user", "audit", "account", "login", "projects", "new-", "api-docs", "api-schema")
GROUPINGS: Final = ("file", "package", "party", "origin", "category", "function")
BY_GROUP: Final = tuple({**SLICE, "group_by": group} for group in GROUPINGS)
SIDES_BY_GROUP: Final = tuple({**SIDES, "group_by": group} for group in GROUPINGS)
DRAWN: Final[Query] = {**SLICE, "plain": "1"}
VIEW: Final[Query] = {"view": "{view_id}"}
TAGGED: Final[Query] = {"tag": f"visitor:{fill(MARKUP, 200)}"}
EXPORTS: Final = tuple(
    {"format": name, **more}
    for name in EXPORTERS
    for more in (NEW_ONLY, SLICE, SIDES, VIEW, {"segment": "device"}, {"segment": "release"}, {**ODD_ONLY, **TAGGED})
)
# What some addresses can be asked besides the usual.
MORE: Final[Mapping[str, tuple[Query, ...]]] = {
    "api-profile": (
        *EXPORTS,
        {"format": "raw", "trace": "{ref}"},
        {"format": "firefox", "sources": "content", **SLICE},
    ),
    "functions-table": (*BY_GROUP, {**SLICE, "display": "none"}, VIEW, TAGGED),
    "api-functions": (*BY_GROUP, {"limit": "1000"}, {"display": "none"}, VIEW, TAGGED),
    "functions": (DRAWN, *BY_GROUP),
    "compare": ({**SIDES, "plain": "1"},),
    "compare-table": SIDES_BY_GROUP,
    "compare-csv": SIDES_BY_GROUP,
    "api-compare": SIDES_BY_GROUP,
    "api-savings": BY_GROUP,
    "savings-table": BY_GROUP,
    "api-vitals": BY_GROUP,
    "vitals-windows": BY_GROUP,
    "vitals-all": (DRAWN,),
    "flame-graph": (DRAWN, {**SIDES, "plain": "1"}),
    "api-flamegraph": (VIEW, TAGGED),
    "api-calltree": (VIEW, {"max_nodes": "1000", "min_share": "0"}),
    "changes": ({**SIDES, "plain": "1"},),
    "api-trend": ({"by": "device"}, {"by": "release"}),
    "api-quality": (NEW_ONLY,),
    "api-source": (NEW_ONLY,),
    "function": (NEW_ONLY,),
    "function-part": (NEW_ONLY,),
    "settings-audit": ({"act": MARKUP},),
    "api-metrics": ({"hours": "240"},),
    "saved-views": ({"address": MARKUP},),
    **dict.fromkeys(
        ("settings-sourcemaps-release", "settings-sourcemaps-end", "settings-sourcemaps-move"), (NEW_ONLY,)
    ),
    "api-sourcemaps": ({"limit": "1000"},),
}
# Not of this project, only posted to, or read with what `test_work` makes.
LEFT_OUT: Final = frozenset(
    {
        *("open-shared", "shared-profile", "set-password", "logout", "provider-start", "provider-return"),
        *("provider-link", "style", "settings-alert-switch", "settings-shared-link", "settings-shared-end"),
        *("settings-alert-preview", "api-erasure", "pyroscope", None),
        *("sentry-root", "sentry-chunks", "sentry-assemble"),
    }
)
SOME_FUNCS: Final = 12  # of which each part is read
WITH_SOURCE: Final = ("function", "api-source")  # are read of all


def list_patterns() -> list[URLPattern]:
    """Returns the addresses of pages and of the read API."""
    return [pattern for pattern in urls.urlpatterns if pattern.name not in LEFT_OUT]


def list_addresses(made: HostileProject, pattern: URLPattern) -> Iterator[str]:
    """Yields the addresses of one pattern."""
    name = str(pattern.name)
    places = list(pattern.pattern.converters)
    if "func_id" not in places:
        values = {place: made.ids[place] for place in places}
        usual = (PLAIN,) if name.startswith(WITHOUT_SLICE) else USUAL
        yield from _fill(made, name, values, (*usual, *MORE.get(name, ())))
        return
    some = made.funcs[:: max(len(made.funcs) // SOME_FUNCS, 1)]
    for func in made.funcs if name in WITH_SOURCE else some:
        values = {"slug": made.ids["slug"], "func_id": func}
        if "part" in places:
            for part in PARTS:
                yield from _fill(made, name, values | {"part": part}, (NEW_ONLY,))
        else:
            yield from _fill(made, name, values, MORE.get(name, (PLAIN,)))
    if name == "function":
        for func in some[::3]:
            yield from _fill(made, name, {"slug": made.ids["slug"], "func_id": func}, (DRAWN, {**SIDES, "plain": "1"}))


def _fill(made: HostileProject, name: str, values: Mapping[str, object], queries: Iterable[Query]) -> Iterator[str]:
    path = reverse(name, kwargs=dict(values))
    for query in queries:
        filled = {key: str(made.ids.get(value[1:-1], value)) for key, value in query.items()}
        yield f"{path}?{urlencode(filled)}" if filled else path
