"""Hostile reads: query strings, ids, cookies and headers of every page and endpoint; and reads after a hostile post."""

import re
from pathlib import Path
from typing import Final

from hypothesis import strategies as st

from aggregate.selectors.slice.slices import FINE_FIELDS, SLICE_FIELDS
from dashboard.pages.function.view import PARTS
from profcore.formats.registry import EXPORTERS
from tests.aggregate.posting import fold_all, rows
from tests.dashboard.web.addresses import API, API_ADDRESSES
from tests.hostile.cases import BodyCase, RequestCase
from tests.hostile.edits import pick
from tests.hostile.lab import Answer, Lab, assert_is_harmless, newest, taken_back
from tests.hostile.measuring import measure

ROOT: Final = Path(__file__).resolve().parents[2]
PROJECT: Final = "/projects/shop/"
VIEW: Final = "views/{view}/"
READS: Final = (
    *(
        PROJECT + name
        for name in (
            "",
            "functions/",
            "functions/table/",
            "flame-graph/",
            "quality/",
            "quality/sampled/",
            "changes/",
            "change-parts/",
            "change-forced/",
        )
    ),
    *(PROJECT + name for name in ("first-steps/", "last-change/", "functions/{func}/", "views/", "views/list/", VIEW)),
    *(PROJECT + name for name in (VIEW + "functions/", "compare/", "compare/table/", "compare/csv/", "import/")),
    *(f"{PROJECT}functions/{{func}}/parts/{part}/" for part in sorted(PARTS)),
    *(address.partition("?")[0].replace("/1/", "/{func}/") for address in API_ADDRESSES),
    *(API + name for name in (VIEW + "timeline", "traces/{trace}", "traces/{trace}/raw", "jobs/{trace}")),
    *("/", "/login/", "/projects/", "/account/", "/api/v1/schema", "/api/v1/shared/{trace}/a.json", "/snippet.js"),
    *(
        "/snippet/KEY-shop.js",
        "/snippet/{trace}.js",
        "/ingest/v1/traces",
        "/ingest/v1/absent",
        "/ingest/v1/loads",
        "/ingest/v1/reports",
        "/metrics",
        "/healthz",
        "/no-such-page",
        "/account/password/{func}/{trace}/",
    ),
)
SETTINGS: Final = PROJECT + "settings/"
SETTINGS_PAGES: Final = tuple(
    SETTINGS + name
    for name in (
        "",
        "keys/",
        "collection/",
        "routes/",
        "code/",
        "display/",
        "source-maps/",
        "retention/",
        "members/",
        "tokens/",
    )
)
# Whatever a view reads by its name is tried, also what is added later.
READ_BY_NAME: Final = re.compile(r'(?:read_\w+|\.get|getlist|Text|Count|Share|Parameter|many)\([^"()]*"([a-z_]+)"')


def list_parameters() -> list[str]:
    """Returns the names of all parameters that pages and the read API read."""
    names = {*SLICE_FIELDS, *FINE_FIELDS, "display", "nonsense"}
    names |= {f"{side}_{field}" for side in ("base", "head") for field in SLICE_FIELDS}
    for path in sorted((ROOT / "dashboard").rglob("*.py")):
        names |= set(READ_BY_NAME.findall(path.read_text(encoding="utf-8")))
    return sorted(names)


VALID: Final = (
    *(b"", b"1.0.0", b"2.0.0", b"/cart", b"/p/:id", b"phone", b"desktop", b"chromium", b"cache=warm", b"cache", b"1"),
    *(
        b"1:5",
        b"as_stored",
        b"function",
        b"file",
        b"package",
        b"self",
        b"total",
        b"hidden",
        b"self_ms",
        b"csv",
        b"page",
    ),
    *(b"2026-11-01", b"2026-11-21T10:00", b"1795300000000", b"release", b"day", b"device", b"graph", b"table", b"both"),
    *(
        b"0.5",
        b"20",
        b"browser",
        b"raw",
        b"json",
        b"gzip",
        b"original",
        b"third-party",
        b"A",
        *(n.encode() for n in EXPORTERS),
    ),
)
BAD: Final = (
    *(
        b"%00",
        b"a%00b",
        b"%ED%A0%80",
        b"%FF",
        b"%",
        b"%zz",
        b"\xff\xfe",
        b"%C2%B2",
        b"%D9%A3",
        b"-1",
        b"0",
        b"nan",
        b"inf",
    ),
    *(
        b"1e309",
        b"1" * 5_000,
        b"99999999999",
        b"2147483648",
        b"-0",
        b"0x1",
        b"1_0",
        b"%0D%0AX-A:%20b",
        b"'",
        b"--",
        b"%25s",
    ),
    *(b"0001-01-01T00:00:00%2B23:59", b"9999-12-31T23:59:59-23:59", b"2026-W01", b"0000-00-00", b"253402300799999"),
    *(
        b"%7B%7Ba%7D%7D",
        b"%3Cscript%3E",
        b"../../etc",
        b"m" + b"f" * 20,
        b"m" + b"f" * 20 + b":1",
        b"1:1e9",
        b"a=b=c",
        b"=",
    ),
    *(b"x" * 70_000, b"%F0%9F%8E%88" * 80, b"%E2%80%AE", b"%5B", b"%5C", b"%25", b"(" * 300, b"*" * 300, b"a%20" * 200),
    *(
        b"00000000-0000-0000-0000-000000000000",
        b"0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11.99999999999",
        b"%2F",
        b"%2F" * 300,
    ),
)
VALUES: Final = pick([*VALID, *VALID, *BAD])
NAMES: Final = pick([name.encode() for name in list_parameters()])
PAIRS: Final = st.tuples(NAMES, VALUES, pick([1, 1, 1, 1, 2, 101, 1_001])).map(
    lambda drawn: b"&".join([drawn[0] + b"=" + drawn[1]] * (drawn[2] if len(drawn[1]) < 100 else 1))
)
QUERY_STRINGS: Final = st.lists(PAIRS | pick([b"&&", b"=", b";", b"%00=1", b"\xff"]), max_size=5).map(b"&".join)
COOKIES: Final = pick(
    [
        *(b"", b"", b"", b"", b"sessionid=x", b"csrftoken=" + b"a" * 64, b"csrftoken=\xff", b"messages=W1siX19qc29u"),
        *(
            b'messages="[[]]:1:x"',
            b"sessionid=" + b"a" * 9_000,
            b"; =;;=",
            b"a=%00; a=\x01",
            b"\xed\xa0\x80",
            b'a="\\777',
        ),
    ]
)
HEADERS: Final = st.dictionaries(
    pick(
        [
            *("Accept", "Accept-Encoding", "Accept-Language", "If-None-Match", "If-Modified-Since", "HX-Request"),
            *("HX-Current-URL", "Referer", "Origin", "User-Agent", "X-Forwarded-Proto", "Range", "X-CSRFToken", "Host"),
            *("Authorization", "X-HTTP-Method-Override", "Content-Encoding"),
        ]
    ),
    pick(
        [
            *(
                b"",
                b"true",
                b"gzip",
                b"*;q=0",
                b"gzip;q=" + b"9" * 500,
                b'W/"a"',
                b"*",
                b"\xff",
                b"http://[",
                b"a" * 9_000,
            ),
            *(
                b"text/html",
                b"Bearer x",
                b"Bearer ff_00000000_\xff",
                b"Basic !",
                b"bytes=0-",
                b"Thu, 99 Foo 0000",
                b"testserver",
            ),
        ]
    ),
    max_size=2,
)
WHO: Final = pick(["member", "member", "owner", "token", "stranger", ""])
TRACE_ID: Final = "0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11"
IDS: Final = VALUES.map(lambda value: value.replace(b"?", b"%3F")) | pick([b"1", b"2", b"3"])


def fill_path(address: str, number: bytes | None) -> bytes:
    """Returns an address with an id in its places: the same, maybe hostile, in all; else ids that may exist."""
    path = address.encode()
    for name, usual in ((b"{func}", b"1"), (b"{view}", TRACE_ID.encode()), (b"{trace}", TRACE_ID.encode())):
        path = path.replace(name, usual if number is None else number)
    return path


QUERIES: Final = st.builds(
    lambda method, path, number, query, who, cookies, headers: RequestCase(
        method, fill_path(path, number), query, who, cookies, headers
    ),
    pick(["GET", "GET", "GET", "GET", "HEAD", "OPTIONS"]),
    pick([*READS, *SETTINGS_PAGES]),
    st.none() | IDS,
    QUERY_STRINGS,
    WHO,
    COOKIES,
    HEADERS,
)

# Steps of a request to the lab, and for each byte of it: no reader may cost more by what is in the address.
REQUEST_STEPS: Final = 500_000
ROWS_STEPS: Final = 8_000_000  # of a form of 600 rules, each with its fields, which an admin may send with ten bytes
STEPS_PER_BYTE: Final = 50


def ask_within_limits(lab: Lab, case: RequestCase) -> Answer:
    """Sends a request: it is never answered 5xx, nor with a text of another project, nor at length."""
    answers: list[Answer] = []
    cost = measure(lambda: answers.append(lab.ask(case)), with_memory=False)
    what = f"{case.method} {case.path[:80]!r}"
    # The stranger is told the name of their own project, on pages that are not of a project.
    assert_is_harmless(answers[0], what, may_name_it=case.who == "stranger")
    size = len(case.path) + len(case.query) + len(case.body)
    steps = ROWS_STEPS if b"TOTAL_FORMS" in case.body else REQUEST_STEPS
    cost.check(size, steps_per_byte=STEPS_PER_BYTE, bytes_per_byte=0, steps=steps, peak_bytes=0)
    return answers[0]


def check_read(lab: Lab, case: RequestCase) -> None:
    """Reads, and leaves nothing behind."""
    with taken_back():
        ask_within_limits(lab, case)


READ_BACK: Final = (
    *(
        PROJECT,
        PROJECT + "functions/table/",
        PROJECT + "functions/table/?group_by=package",
        PROJECT + "quality/sampled/",
    ),
    *(
        PROJECT + "views/list/",
        PROJECT + "views/{view}/",
        PROJECT + "views/{view}/functions/",
        PROJECT + "functions/{func}/",
    ),
    *(f"{PROJECT}functions/{{func}}/parts/{part}/" for part in sorted(PARTS)),
    *(API + name for name in ("functions", "flamegraph", "calltree", "traces", "views", "pages", "markers", "quality")),
    *(API + name for name in ("functions/{func}/breakdown", "functions/{func}/callers", "views/{view}/timeline")),
    *(API + f"profile?format={name}" for name in EXPORTERS),
    API + "profile?format=firefox&axis=time&view={view}",
    *(API + "profile?format=firefox&segment=release", API + "compare?base_release=1.0.0&head_release=2.0.0"),
    *(
        PROJECT + "compare/table/?base_release=1.0.0&head_release=2.0.0",
        API + "matches?base_release=1.0.0&head_release=2.0.0",
    ),
)


def check_post(lab: Lab, case: BodyCase) -> None:
    """Posts an envelope, folds it and reads some pages with it: nothing may fail that a visitor has caused."""
    with taken_back():
        sent = RequestCase("POST", b"/ingest/v1/traces", b"key=KEY-shop", "", body=case.body, media="application/json")
        answer = lab.ask(sent)
        assert_is_harmless(answer, "the endpoint")
        cost = measure(fold_all, with_memory=False)
        cost.check(len(case.body), steps_per_byte=60, bytes_per_byte=0, steps=60_000, peak_bytes=0)
        pending = rows("SELECT count(*) FROM ingest_tracereceipt WHERE state <> 1")
        assert pending == [(0,)] or pending == [("0",)], f"{pending} traces are not folded"
        func, view = newest("aggregate_func", "id", lab.shop), newest("ingest_tracereceipt", "view_id", lab.shop)
        for step in range(3):
            address = READ_BACK[(case.read + step * 13) % len(READ_BACK)].format(func=func, view=view)
            path, _, query = address.partition("?")
            read = RequestCase("GET", path.encode(), query.encode(), "owner")
            assert_is_harmless(lab.ask(read), f"reading {address}")
