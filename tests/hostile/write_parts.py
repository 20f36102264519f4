"""Hostile writes: forms of all pages, files dropped on them, bodies of the read API; and a read after each."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from hypothesis import strategies as st

from tests.aggregate.jobs.running_jobs import run_jobs
from tests.dashboard.web.addresses import API
from tests.hostile.cases import RequestCase
from tests.hostile.core_parts import SAMPLES
from tests.hostile.edits import EDITS, Edit, edit_json, pick
from tests.hostile.lab import Lab, assert_is_harmless, taken_back
from tests.hostile.read_parts import (
    BAD,
    COOKIES,
    HEADERS,
    IDS,
    PROJECT,
    QUERY_STRINGS,
    SETTINGS,
    TRACE_ID,
    VALUES,
    ask_within_limits,
    fill_path,
)

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
RULE: Final = b'{"action":"fold","field":"uri","pattern":"*/app.js","title":"The app","colour":"teal"}'
CODE: Final = (
    b'{"categories":[{"category":"library","uri":"vendor/.*","name":"A|B"}],"parties":[{"domain":"a.example",'
    b'"owner":"own","name":"Us"}],"packages":[{"path":"packages/*","name":"*"}],"same":[{"from":"1","to":"2"}]}'
)
ASKED: Final = b'{"measure":"share","limit":0.5,"by":"party","name":"a.example","page":"/cart","device":"mobile"}'
QUIET: Final = b'"quiet_from":"22:00","quiet_to":"07:00","time_zone":"Europe/Berlin","is_digest":true'
JSON_BODIES: Final[tuple[tuple[str, str, bytes], ...]] = (
    ("POST", API + "jobs", b'{"kind":"functions","params":{"release":["1.0.0"],"tag":"cache=warm","limit":"5"}}'),
    ("POST", API + "jobs", b'{"kind":"profile","params":{"format":"firefox","page":"/cart"}}'),
    ("POST", API + "jobs", b'{"kind":"flamegraph","params":{"base_release":"1.0.0","head_release":["2.0.0"]}}'),
    ("POST", API + "jobs", b'{"kind":"calltree","params":{"device":"desktop","min_share":"0.1"}}'),
    ("POST", API + "erasures", b'{"tag":"visitor","value":"3f9a"}'),
    ("PUT", API + "alerts/cart", b'{"kind":"budget","name":"A","question":' + ASKED + b',"is_on":true}'),
    ("PATCH", API + "alerts/release", b'{"is_on":false}'),
    (
        "POST",
        API + "alerts/preview",
        b'{"kind":"new_third_parties","question":{"by":"party","limit":5,"page":"/cart"}}',
    ),
    ("PUT", API + "channels/team", b'{"kind":"slack","name":"A","addresses":["https://a.example/b"],' + QUIET + b"}"),
    ("POST", API + "links", b'{"params":{"format":"speedscope","page":["/cart"]},"expires_in_s":3600}'),
    ("PATCH", API + "settings", b'{"keep_raw_days":3,"keep_views_days":null,"max_traces_per_day":5}'),
    ("PATCH", API + "settings", b'{"collection":{"rate":0.5,"pages":[["/a/*",1]],"duration_ms":5000,"off":false}}'),
    (
        "POST",
        "/ingest/v1/absent",
        b'{"reason":"status","page":"/a?b","url":"https://a.example/1","rate":0.5,"status":413}',
    ),
    (
        "POST",
        "/ingest/v1/reports",
        b'[{"type":"crash","age":5,"url":"https://a.example/1","body":{"reason":"unresponsive","stack":"\\n    at f '
        b'(https://a.example/b.js:1:2)","crash_report_api":{"release":"1.0.0"}}}]',
    ),
    ("PATCH", API + "code", b'{"rules":' + CODE + b',"source_link_template":"https://a.example/{path}#L{line}"}'),
    ("POST", API + "code/preview", b'{"rules":' + CODE + b"}"),
    ("PUT", API + "display", b'{"rules":[' + RULE + b"]}"),
    ("POST", API + "display/preview", b'{"rules":[' + RULE + b"]}"),
    ("POST", API + "sourcemaps", b"[]"),
    ("DELETE", API + "sourcemaps", b"{}"),
    ("DELETE", API + f"jobs/{TRACE_ID}", b"{}"),
)
Fields = tuple[tuple[bytes, bytes], ...]


def rows_of(prefix: bytes, names: Sequence[bytes], values: Sequence[bytes]) -> Fields:
    """Returns the fields of two rows of a form."""
    counts = ((prefix + b"-TOTAL_FORMS", b"2"), (prefix + b"-INITIAL_FORMS", b"0"))
    cells = [(prefix + b"-%d-" % at + name, value) for at in (0, 1) for name, value in zip(names, values, strict=True)]
    return (*counts, *cells)


PASSWORD: Final = b"a-new-and-long-one"
CODE_FORM: Final = (
    *rows_of(b"categories", (b"category", b"uri", b"name", b"ORDER"), (b"library", b"vendor", b"A|B", b"1")),
    *rows_of(b"parties", (b"domain", b"owner", b"name"), (b"a.example", b"own", b"Us")),
    *rows_of(b"packages", (b"path", b"name"), (b"packages/*", b"*")),
    (b"same_funcs", b"1 2"),
)
RULES_FORM: Final = rows_of(
    b"rules",
    (b"action", b"field", b"pattern", b"title", b"colour"),
    (b"fold", b"uri", b"*/app.js", b"The app", b"teal"),
)
FORM_BASES: Final[tuple[tuple[str, Fields], ...]] = (
    (SETTINGS, ((b"name", b"The shop"), (b"source_link_template", b"https://a.example/{path}#L{line}"))),
    (SETTINGS, ((b"try", b"1"), (b"name", b"The shop"), (b"source_link_template", b"https://a.example/{path}"))),
    (SETTINGS + "keys/", ((b"origins", b"https://a.example\n*"),)),
    (SETTINGS + "keys/{func}/", ((b"origins", b"https://a.example"),)),
    (SETTINGS + "keys/{func}/revoke/", ()),
    (SETTINGS + "collection/", ((b"rate", b"5"), (b"pages", b"/a/* 7\n* 0"), (b"duration", b"60"), (b"off", b"on"))),
    (SETTINGS + "routes/", ((b"rules", b"/a/:b\n/a/*"),)),
    (SETTINGS + "routes/", ((b"rules", b"/a/:b\n/a/*"), (b"preview", b"1"))),
    (SETTINGS + "code/", CODE_FORM),
    (SETTINGS + "code/", (*CODE_FORM, (b"preview", b"1"))),
    *((SETTINGS + "display/", (*RULES_FORM, (b"do", do))) for do in (b"save", b"preview", b"up-1", b"add-vendor")),
    (SETTINGS + "source-maps/delete/", ((b"release", b"1.0.0"),)),
    (SETTINGS + "retention/", ((b"keep_raw_days", b"3"), (b"keep_views_days", b"9"), (b"max_traces_per_day", b"1"))),
    (SETTINGS + "retention/", ((b"keep_raw_days", b"3"), (b"keep_cells_days", b"9"), (b"confirmed", b"1"))),
    (SETTINGS + "members/", ((b"username", b"stranger"), (b"role", b"member"))),
    (SETTINGS + "members/{func}/role/", ((b"role", b"member"),)),
    (SETTINGS + "members/{func}/remove/", ()),
    (SETTINGS + "members/{func}/link/", ()),
    (SETTINGS + "tokens/", ((b"name", b"mine"), (b"scopes", b"read"), (b"days", b"90"))),
    (SETTINGS + "erase/", ((b"name", b"visitor"), (b"value", b"3f9a"), (b"confirm", b"erase"))),
    (SETTINGS + "tokens/{trace}/revoke/", ()),
    ("/login/", ((b"username", b"owner"), (b"password", b"correct horse"), (b"next", b"/projects/"))),
    ("/logout/", ()),
    ("/account/", ((b"old_password", b"correct horse"), (b"new_password1", PASSWORD), (b"new_password2", PASSWORD))),
    ("/account/", ((b"everywhere", b"1"), (b"password", b"correct horse"))),
    ("/account/password/{func}/{trace}/", ((b"new_password1", PASSWORD), (b"new_password2", PASSWORD))),
    (PROJECT + "import/", ()),
)
FORM_VALUES: Final = VALUES | pick(
    [
        *(
            b"preview",
            b"move-0",
            b"remove-99",
            b"up-x",
            b"add",
            b"save",
            b"%0A".join([b"/a/:b/*"] * 300),
            b"admin",
            b"on",
        ),
        *(
            b"https://a.example",
            b"*",
            b"https://%C3%A9.example:99999",
            b"correct%20horse",
            b"member",
            b"stranger",
            b"{path}",
        ),
        *(
            b"%28a%2B%29%2B",
            b".%2A.%2A",
            b"%2A" * 100,
            b"[a-",
            b"{0}{name}",
            b"999999999",
            b"201",
            b"-1",
            b"2147483648",
        ),
    ]
)
BOUNDARY: Final = b"----x"


def make_form_request(
    base: int, changes: Sequence[tuple[int, bytes]], number: bytes | None, cookies: bytes, headers: dict[str, bytes]
) -> RequestCase:
    """Returns the post of a form, some of whose fields have other values, or occur again."""
    path, usual = FORM_BASES[base]
    fields = [(name, quote(value).encode()) for name, value in usual]
    for at, value in changes:
        if at % 5 == 0 or not fields:
            fields.append((usual[at % len(usual)][0] if usual else b"name", value))
        else:
            fields[at % len(fields)] = fields[at % len(fields)][0], value
    body = b"&".join(name + b"=" + value for name, value in fields)
    return RequestCase("POST", fill_path(path, number), b"", "owner", cookies, headers, body, FORM)


def make_json_request(which: int, edits: Sequence[Edit], query: bytes, who: str) -> RequestCase:
    method, path, body = JSON_BODIES[which]
    return RequestCase(method, path.encode(), query, who, body=edit_json(body, edits), media=JSON)


def make_file_request(sample: int, name: bytes, field: bytes, value: bytes, address: str) -> RequestCase:
    """Returns the post of a form with a file and one more field."""
    head = b"--" + BOUNDARY + b'\r\nContent-Disposition: form-data; name="'
    file = head + b'files"; filename="' + name + b'"\r\n\r\n' + SAMPLES[sample]
    body = file + b"\r\n" + head + field + b'"\r\n\r\n' + value + b"\r\n--" + BOUNDARY + b"--\r\n"
    media = f"multipart/form-data; boundary={BOUNDARY.decode()}"
    return RequestCase("POST", address.encode(), who="owner", body=body, media=media)


FORMS: Final = (
    st.builds(
        make_form_request,
        st.integers(0, len(FORM_BASES) - 1),
        st.lists(st.tuples(st.integers(0, 99), FORM_VALUES), max_size=3),
        st.none() | IDS,
        COOKIES,
        HEADERS,
    )
    | st.builds(
        make_json_request,
        st.integers(0, len(JSON_BODIES) - 1),
        st.just([]) | EDITS,
        pick([b"", b"", b"key=KEY-shop", b"release=1&url_prefix=https://a.example/"]) | QUERY_STRINGS,
        pick(["owner", "owner", "token", "member"]),
    )
    | st.builds(
        make_file_request,
        st.integers(0, len(SAMPLES) - 1),
        pick([b"a.json", b"", b"../x", b"\xff", b"a\x00", b"x" * 500]),
        pick([b"release", b"page", b"dry_run", b"prefix", b"files"]),
        pick([value for value in BAD if len(value) < 600] + [bytes([n]) for n in (0, 10, 255)]),
        pick([PROJECT + "import/", SETTINGS + "source-maps/"]),
    )
)


def check_form(lab: Lab, case: RequestCase) -> None:
    """Posts; then runs the job that it has started, and reads the settings and a table with what it has stored."""
    with taken_back():
        answer = ask_within_limits(lab, case)
        if case.method == "GET" or answer.status >= 400:
            return
        if answer.status == 202:
            run_jobs()
        for path in {case.path if case.path.startswith(SETTINGS.encode()) else b"/account/", PAGE_TABLE}:
            assert_is_harmless(lab.ask(RequestCase("GET", path, who="owner")), f"after it, {path[:80]!r}")


PAGE_TABLE: Final = f"{PROJECT}functions/table/".encode()
