"""The addresses of the read API and of the pages, for tests that ask all of them."""

from collections.abc import Callable

from django.urls import ResolverMatch

from dashboard import urls
from dashboard.web.project_pages import PAGES, PageTraits, find_traits
from tests.dashboard.conftest import VIEW_ID

API = "/api/v1/projects/shop/"

TRACE = "0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11"


API_ADDRESSES = [
    API + "status",
    API + "releases",
    API + "pages",
    API + "overview",
    API + "trend",
    API + "metrics",
    API + "vitals",
    API + "savings",
    API + "settings",
    API + "functions",
    API + "compare?base_release=1.0.0&head_release=1.0.0",
    API + "verdict",
    API + "profile?format=firefox",
    API + "functions/1/breakdown",
    API + "functions/1/callers",
    API + "functions/1/callees",
    API + "calltree",
    API + "flamegraph",
    API + "views",
    API + "traces",
    API + "traces/" + TRACE,
    API + "markers",
    API + "quality",
    API + "hangs",
    API + "jobs",
    API + "sourcemaps",
    API + "functions/1/source",
    API + "forced-layout",
    API + "alerts",
    API + "alerts/changes",
    API + "code",
    API + "display",
    API + "matches?base_release=1.0.0&head_release=1.0.0",
]

PROJECT = "/projects/shop/"
SETTINGS = PROJECT + "settings/"
SIDES = "?base_release=1.0.0&head_release=1.0.0"
# A new page needs a query here only if it answers nothing worth testing without one.
QUERIES = {
    "functions": "?page=/cart",
    "functions-table": "?group_by=file",
    "flame-graph": "?plain=1",
    "changes": SIDES,
    "change-parts": SIDES,
    "change-forced": SIDES,
    "compare-table": "?base_release=1.0.0&head_release=2.0.0",
    "compare-csv": "?base_release=1.0.0&head_release=2.0.0",
    "savings-table": "?group_by=party",
    "vitals-windows": "?group_by=package",
    "project-search": "?find=draw",
    "project-search-results": "?find=draw",
}
IDS = {"<str:func_id>": "1", "<str:part>": "cost", "<str:view_id>": VIEW_ID}
FOR_ADMINS = ("import", "view-erase")


def list_pages() -> dict[str, str]:
    """Returns the addresses of the registered pages, by name. Those of saved views and alarms need more ids."""
    addresses = {}
    for page in PAGES.values():
        path = page.path
        for part, value in IDS.items():
            path = path.replace(part, value)
        if "<" not in path and page.name != "alerts-rolled-back":  # that one is only posted to
            addresses[page.name] = PROJECT + path + QUERIES.get(page.name, "")
    return addresses


def list_names(has: Callable[[PageTraits], bool]) -> set[str]:
    """Returns the names of the addresses of pages and endpoints whose traits have something."""
    matches = [ResolverMatch(pattern.callback, (), {}, pattern.name) for pattern in urls.urlpatterns]
    return {str(match.url_name) for match in matches if has(find_traits(match))}


PAGE_ADDRESSES = [
    *(address for name, address in list_pages().items() if name not in FOR_ADMINS),
    SETTINGS + "keys/",
    SETTINGS + "collection/",
    SETTINGS + "routes/",
    SETTINGS + "code/",
    SETTINGS + "display/",
    SETTINGS + "source-maps/",
    SETTINGS + "source-maps/state/",
    SETTINGS + "source-maps/release/?release=1.0.0",
    SETTINGS + "alerts/",
    SETTINGS + "retention/",
    SETTINGS + "members/",
    SETTINGS + "tokens/",
    SETTINGS + "shared/",
]
ADMIN_ADDRESSES = [
    *(list_pages()[name] for name in FOR_ADMINS),
    SETTINGS + "channels/new/",
    SETTINGS + "alerts/new/",
    SETTINGS + "erase/",
    SETTINGS + "audit/",
    SETTINGS + "audit/export/",
]
PROJECT_QUESTION_ADDRESSES = [
    SETTINGS + "archive/",
    SETTINGS + "delete/",
]  # without other ids
