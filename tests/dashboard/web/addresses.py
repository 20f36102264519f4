"""The addresses of the read API and of the pages, for tests that ask all of them."""

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
    API + "settings",
    API + "functions",
    API + "compare?base_release=1.0.0&head_release=1.0.0",
    API + "verdict",
    API + "profile?format=firefox",
    API + "functions/1/census",
    API + "functions/1/callers",
    API + "functions/1/callees",
    API + "calltree",
    API + "flamegraph",
    API + "views",
    API + "traces",
    API + "traces/" + TRACE,
    API + "markers",
    API + "quality",
    API + "jobs",
    API + "sourcemaps",
    API + "functions/1/source",
    API + "watches",
    API + "watches/changes",
    API + "code",
    API + "display",
    API + "matches?base_release=1.0.0&head_release=1.0.0",
]

SETTINGS = "/projects/shop/settings/"
PAGE_ADDRESSES = [
    "/projects/shop/",
    "/projects/shop/page/?page=/cart",
    "/projects/shop/page/table/?group_by=file",
    "/projects/shop/tree/?plain=1",
    "/projects/shop/quality/",
    "/projects/shop/quality/sampled/",
    "/projects/shop/changes/?base_release=1.0.0&head_release=1.0.0",
    "/projects/shop/change-parts/?base_release=1.0.0&head_release=1.0.0",
    "/projects/shop/first-steps/",
    "/projects/shop/last-change/",
    "/projects/shop/functions/1/",
    "/projects/shop/vitals/",
    "/projects/shop/vitals/windows/?group_by=package",
    "/projects/shop/views/",
    "/projects/shop/views/list/",
    f"/projects/shop/views/{VIEW_ID}/",
    f"/projects/shop/views/{VIEW_ID}/functions/",
    "/projects/shop/compare/",
    "/projects/shop/compare/table/?base_release=1.0.0&head_release=2.0.0",
    "/projects/shop/compare/csv/?base_release=1.0.0&head_release=2.0.0",
    "/projects/shop/functions/1/parts/cost/",
    "/projects/shop/search/?find=draw",
    "/projects/shop/search/results/?find=draw",
    "/projects/shop/saved/",
    "/projects/shop/saved/list/",
    "/projects/shop/doctor/",
    "/projects/shop/watches/",
    SETTINGS,
    SETTINGS + "keys/",
    SETTINGS + "collection/",
    SETTINGS + "routes/",
    SETTINGS + "code/",
    SETTINGS + "display/",
    SETTINGS + "source-maps/",
    SETTINGS + "source-maps/state/",
    SETTINGS + "source-maps/release/?release=1.0.0",
    SETTINGS + "watches/",
    SETTINGS + "retention/",
    SETTINGS + "members/",
    SETTINGS + "tokens/",
    SETTINGS + "shared/",
]
ADMIN_ADDRESSES = [
    "/projects/shop/import/",
    f"/projects/shop/views/{VIEW_ID}/erase/",
    SETTINGS + "channels/new/",
    SETTINGS + "watches/new/",
    SETTINGS + "erase/",
    SETTINGS + "audit/",
    SETTINGS + "audit/export/",
]
PROJECT_QUESTION_ADDRESSES = [
    SETTINGS + "archive/",
    SETTINGS + "delete/",
]  # without other ids
