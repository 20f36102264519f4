"""The addresses of the read API, for tests that ask all of them."""

API = "/api/v1/projects/shop/"

TRACE = "0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11"


API_ADDRESSES = [
    API + "status",
    API + "releases",
    API + "pages",
    API + "overview",
    API + "trend",
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
    API + "code",
    API + "display",
    API + "matches?base_release=1.0.0&head_release=1.0.0",
]
