"""The shipped nginx configuration, running: what it lets through, what it refuses, and in which words."""

import contextlib
import gzip
import http.client
import json
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from django.conf import settings
from django.urls import reverse

from dashboard.pages.imports import FORM_BYTES
from ingest.endpoint.absences import MAX_REPORT_BYTES
from ingest.endpoint.reports import MAX_REPORTS_BYTES
from ingest.endpoint.requests import BodyTooLarge
from ingest.endpoint.responses import STATUS_OF_REASON
from ops.supervisor.running import find_free_port
from ops.supervisor.services import WEB_HEADER_WAIT_MS
from profcore.errors import Reason
from tests.deploy.files import NGINX
from tests.deploy.proxy import Proxy, lay_out_proxy, require_program, run_proxy
from tests.runner.waiting import wait_until

CONFS = ("compose.conf", "compose-tls.conf", "fieldflame.conf")
ENDPOINT_PATH = "/ingest/v1/traces"
ENDPOINT = f"{ENDPOINT_PATH}?key=public"
REPORTS = "/ingest/v1/reports?key=k"
DATADOG = "/datadog/public/api/v2/profile"
SENTRY = "/sentry/api/1/envelope/?sentry_key=public"
MIB = 2**20


@dataclass(slots=True)
class Upstream:
    """Stands for the app: keeps what it was asked, and answers with a CORS header of its own."""

    port: int = 0
    asked: list[tuple[str, str, Message, bytes]] = field(default_factory=list)
    connected_at: list[float] = field(default_factory=list)
    posts_to_drop: int = 0


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    kept = Upstream()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            kept.connected_at.append(time.monotonic())
            super().handle_one_request()

        def do_GET(self) -> None:
            self.answer(200)

        def do_POST(self) -> None:
            if kept.posts_to_drop:
                kept.posts_to_drop -= 1
                self.close_connection = True
            else:
                self.answer(202)

        def answer(self, status: int) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kept.asked.append((self.command, self.path, self.headers, body))
            answer = b'{"answer": "' + b"a" * 3_000 + b'"}'
            self.send_response(413 if body == b"too many envelopes" else status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Access-Control-Allow-Origin", "*")
            if self.path.startswith("/static/"):
                self.send_header("Cache-Control", "max-age=315360000, public, immutable")
            if self.path == "/api/packed":
                answer = gzip.compress(answer)
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    kept.port = server.server_port
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def proxy(tmp_path: Path, upstream: Upstream) -> Iterator[Proxy]:
    with run_proxy(tmp_path / "nginx", "compose.conf", upstream.port) as running:
        yield running


@pytest.fixture
def lonely_proxy(tmp_path: Path) -> Iterator[Proxy]:
    """A proxy with nobody behind it."""
    with run_proxy(tmp_path / "nginx", "compose.conf", find_free_port()) as running:
        yield running


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Message
    body: bytes


def ask(
    proxy: Proxy, method: str, path: str, body: bytes | Iterator[bytes] = b"", headers: dict[str, str] | None = None
) -> Answer:
    asked = http.client.HTTPConnection("127.0.0.1", proxy.plain_port, timeout=60)
    try:
        asked.request(method, path, body=body or None, headers=headers or {})
        response = asked.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        asked.close()


@pytest.mark.parametrize("conf", CONFS)
def test_nginx_accepts_the_configuration(tmp_path: Path, conf: str) -> None:
    laid_out = lay_out_proxy(tmp_path / "nginx", conf, find_free_port())
    done = subprocess.run([*laid_out.command, "-t"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Newer versions than Debian 12's warn that `http2` has a line of its own now.
    warnings = [line for line in done.stderr.splitlines() if "[warn]" in line and "http2" not in line]
    assert warnings == []


def test_a_post_reaches_the_app_as_it_was_sent(proxy: Proxy, upstream: Upstream) -> None:
    body = gzip.compress(b'{"a": 1}')
    sent = {"Content-Encoding": "gzip", "Content-Type": "application/json", "Origin": "https://shop.example"}
    answer = ask(proxy, "POST", ENDPOINT, body, sent)
    assert answer.status == 202
    assert answer.headers.get_all("Access-Control-Allow-Origin") == ["*"]  # twice, and a browser refuses the answer
    [(_, path, headers, received)] = upstream.asked
    assert (path, received) == (ENDPOINT, body)
    assert {name: headers[name] for name in sent} == sent
    assert headers["Host"] == f"127.0.0.1:{proxy.plain_port}"
    assert headers["X-Forwarded-Proto"] == "http"


def test_whoever_ends_tls_in_front_is_believed(proxy: Proxy, upstream: Upstream) -> None:
    ask(proxy, "GET", "/", headers={"X-Forwarded-Proto": "https"})
    ask(proxy, "GET", "/", headers={"X-Forwarded-Proto": "nonsense"})
    assert [headers.get_all("X-Forwarded-Proto") for _, _, headers, _ in upstream.asked] == [["https"], ["http"]]


def test_the_app_gets_the_true_address_but_none_with_traces(proxy: Proxy, upstream: Upstream) -> None:
    lie = {"X-Forwarded-For": "192.0.2.7"}
    paths = ("/login/", "/projects/?a=/ingest/", "/shared/x/", "/api/v1/projects/a/sourcemaps", ENDPOINT, "/snippet.js")
    for path in (
        *paths,
        f"/{ENDPOINT}&a=/login/",
        "/snippet/key.js",
        "/ingest/v1/absent?key=k",
        "/ingest/v1/loads?key=k",
        REPORTS,
        DATADOG,
        SENTRY,
    ):
        ask(proxy, "GET", path, headers=lie)
    addresses = [headers.get_all("X-Forwarded-For") for _, _, headers, _ in upstream.asked]
    assert addresses == [["127.0.0.1"]] * 4 + [None] * 9


def test_few_large_uploads_are_taken_from_one_address_at_a_time(proxy: Proxy, upstream: Upstream) -> None:
    """Those that wait hold bodies on the disk before the app asks who sends them."""
    path = "/api/v1/projects/shop/sourcemaps"
    begun = [socket.create_connection(("127.0.0.1", proxy.plain_port), 10) for _ in range(4)]
    try:
        for upload in begun:
            upload.sendall(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nabc".encode())
        wait_until(lambda: ask(proxy, "POST", path, b"more").status == 429)
        assert ask(proxy, "POST", "/projects/shop/import/", b"more").status == 429
        assert ask(proxy, "GET", "/projects/").status == 200
    finally:
        for upload in begun:
            upload.close()
    wait_until(lambda: ask(proxy, "POST", path, b"more").status == 202)


def post_by_tls(proxy: Proxy, body: bytes) -> int:
    trusting = ssl.create_default_context(cafile=str(proxy.folder / "fullchain.pem"))
    trusting.check_hostname = False
    asked = http.client.HTTPSConnection("127.0.0.1", proxy.tls_port, timeout=60, context=trusting)
    try:
        asked.request("POST", ENDPOINT, body=body, headers={"Host": "profiles.example.com"})
        return asked.getresponse().status
    finally:
        asked.close()


def test_a_post_that_met_a_closing_connection_is_posted_again(tmp_path: Path, upstream: Upstream) -> None:
    with run_proxy(tmp_path / "nginx", "fieldflame.conf", upstream.port) as running:
        assert post_by_tls(running, b"first") == 202  # its connection to the app is kept
        upstream.posts_to_drop = 1
        assert post_by_tls(running, b"second") == 202
    assert [body for _, _, _, body in upstream.asked] == [b"first", b"second"]


def test_tls_ends_here_where_the_proxy_has_a_certificate(tmp_path: Path, upstream: Upstream) -> None:
    with run_proxy(tmp_path / "nginx", "fieldflame.conf", upstream.port) as running:
        assert post_by_tls(running, b"{}") == 202
        assert upstream.asked[0][2]["X-Forwarded-Proto"] == "https"
        moved = ask(running, "GET", "/projects/?a=b", headers={"Host": "profiles.example.com"})
        assert (moved.status, moved.headers["Location"]) == (301, "https://profiles.example.com/projects/?a=b")


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_too_large_is_refused_with_cors_headers_in_the_apps_words(
    proxy: Proxy, upstream: Upstream, is_chunked: bool
) -> None:
    body = (b"x" * MIB for _ in range(6)) if is_chunked else b"x" * 6 * MIB
    answer = ask(proxy, "POST", ENDPOINT, body, {"Content-Type": "text/plain", "Origin": "https://shop.example"})
    error = BodyTooLarge("sent", settings.INGEST_MAX_BODY_BYTES)
    assert answer.status == STATUS_OF_REASON[error.reason] == 413
    assert json.loads(answer.body) == {"reason": error.reason, "path": error.path, "detail": error.detail}
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert upstream.asked == []


def test_the_largest_body_that_the_contract_allows_passes(proxy: Proxy, upstream: Upstream) -> None:
    assert ask(proxy, "POST", ENDPOINT, b"x" * settings.INGEST_MAX_BODY_BYTES).status == 202
    assert len(upstream.asked[0][3]) == settings.INGEST_MAX_BODY_BYTES


def test_an_import_may_be_larger_than_other_forms(proxy: Proxy, upstream: Upstream) -> None:
    assert ask(proxy, "POST", "/projects/shop/import/", b"x" * 8 * MIB).status == 202
    assert len(upstream.asked[0][3]) == 8 * MIB
    assert ask(proxy, "POST", "/projects/shop/", b"x" * 2 * MIB).status == 413


ADDRESSES = (
    *("/ingest/v1/traces/", "//ingest/v1/traces", "/ingest/v1/absent", "/ingest/v1/absent/"),
    *("/ingest/v1/reports", "/ingest/v1/reports/"),
)


def assert_json_for_any_page(answer: Answer, reason: Reason) -> None:
    assert (answer.status, json.loads(answer.body)["reason"]) == (STATUS_OF_REASON[reason], reason)
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("path", ADDRESSES)
def test_every_address_that_pages_post_to_refuses_large_bodies_in_json(
    proxy: Proxy, upstream: Upstream, path: str
) -> None:
    assert_json_for_any_page(ask(proxy, "POST", path, b"x" * 6 * MIB), Reason.TOO_LARGE)
    assert upstream.asked == []


@pytest.mark.parametrize("path", ADDRESSES)
def test_every_address_that_pages_post_to_says_in_json_that_the_app_is_absent(lonely_proxy: Proxy, path: str) -> None:
    assert_json_for_any_page(ask(lonely_proxy, "POST", path, b"{}"), Reason.UNAVAILABLE)


@pytest.mark.parametrize(
    ("path", "most"), [("/ingest/v1/absent", MAX_REPORT_BYTES), ("/ingest/v1/reports", MAX_REPORTS_BYTES)]
)
def test_the_words_for_a_large_report_are_those_of_the_app(proxy: Proxy, path: str, most: int) -> None:
    detail = BodyTooLarge("sent", most).detail
    assert json.loads(ask(proxy, "POST", path, b"x" * (most + 1)).body)["detail"] == detail


def test_a_large_trace_passes_at_an_address_with_a_slash(proxy: Proxy) -> None:
    assert ask(proxy, "POST", f"{ENDPOINT_PATH}/", b"x" * settings.INGEST_MAX_BODY_BYTES).status == 202


def test_what_the_app_refuses_itself_is_not_replaced(proxy: Proxy) -> None:
    answer = ask(proxy, "POST", ENDPOINT, b"too many envelopes")
    assert answer.status == 413
    assert b'"answer"' in answer.body


def test_an_absent_app_is_a_503_that_a_browser_may_read_and_retry(lonely_proxy: Proxy) -> None:
    answer = ask(lonely_proxy, "POST", ENDPOINT, b"{}", {"Origin": "https://shop.example"})
    assert answer.status == STATUS_OF_REASON[Reason.UNAVAILABLE] == 503
    assert json.loads(answer.body)["reason"] == Reason.UNAVAILABLE
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Access-Control-Expose-Headers"] == "Retry-After"
    assert int(answer.headers["Retry-After"]) > 0


def test_a_slow_sender_reaches_the_app_when_all_is_here(proxy: Proxy, upstream: Upstream) -> None:
    body = b"x" * 1_000
    with socket.create_connection(("127.0.0.1", proxy.plain_port), timeout=60) as sender:
        sender.sendall(f"POST {ENDPOINT} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        for start in range(0, len(body), 100):
            time.sleep(0.05)
            assert upstream.connected_at == []
            sender.sendall(body[start : start + 100])
        assert sender.recv(12) == b"HTTP/1.1 202"
    assert upstream.asked[0][3] == body


def test_a_chunked_body_reaches_the_app_with_its_length(proxy: Proxy, upstream: Upstream) -> None:
    assert ask(proxy, "POST", ENDPOINT, (b"abc" for _ in range(3))).status == 202
    [(_, _, headers, received)] = upstream.asked
    assert (headers["Content-Length"], headers["Transfer-Encoding"], received) == ("9", None, b"abcabcabc")


def test_caching_is_as_the_app_says(proxy: Proxy) -> None:
    answer = ask(proxy, "GET", "/static/app.0123456789ab.js", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Cache-Control"] == "max-age=315360000, public, immutable"
    assert answer.headers["Content-Encoding"] is None


def test_answers_of_the_read_api_are_compressed_once(proxy: Proxy) -> None:
    for path in ("/api/plain", "/api/packed"):
        answer = ask(proxy, "GET", path, headers={"Accept-Encoding": "gzip"})
        assert answer.headers.get_all("Content-Encoding") == ["gzip"]
        assert gzip.decompress(answer.body).startswith(b'{"answer"')


def test_an_encoded_path_stays_as_it_was_asked(proxy: Proxy, upstream: Upstream) -> None:
    ask(proxy, "GET", "/api/v1/projects/a%2Fb/functions?page=%2Fproduct%2F%3Aid")
    assert upstream.asked[0][1] == "/api/v1/projects/a%2Fb/functions?page=%2Fproduct%2F%3Aid"


def test_metrics_are_not_for_the_public(proxy: Proxy, upstream: Upstream) -> None:
    assert ask(proxy, "GET", "/metrics").status == 404
    assert upstream.asked == []


def test_the_logs_hold_no_key_no_address_and_no_referrer(proxy: Proxy) -> None:
    strange = {"Referer": "https://shop.example/?token=secret", "Origin": "https://shop.example"}
    ask(proxy, "POST", ENDPOINT, b"x" * 6 * MIB, strange)
    ask(proxy, "POST", ENDPOINT, b"{}", strange)
    for address in (DATADOG, SENTRY):
        ask(proxy, "POST", address, b"x" * 6 * MIB, strange)
    ask(proxy, "GET", "/login/?next=secret", headers=strange)
    for address in (
        reverse("shared-profile", args=["secret", "a.json"]),
        reverse("set-password", args=["Mg", "secret"]),
        reverse("open-shared", args=["ffs_secret"]),
    ):
        ask(proxy, "GET", address)
    # A line is written when its request is done with, which takes longer for the refused one.
    deadline = time.monotonic() + 60
    while (log := proxy.read_log("access.log")).count("\n") < 7 and time.monotonic() < deadline:
        time.sleep(0.02)
    lines = sorted(re.sub(r"^\S+ ", "", line).split()[:3] for line in log.splitlines())
    assert lines == [
        ["GET", "/account/password/...", "200"],
        ["GET", "/api/v1/shared/...", "200"],
        ["GET", "/login/", "200"],
        ["GET", "/shared/...", "200"],
        ["POST", "/datadog/...", "413"],
        ["POST", ENDPOINT_PATH, "413"],  # no line for a trace that was taken
        ["POST", "/sentry/...", "413"],
    ]
    for secret in ("public", "secret", "127.0.0.1"):
        assert secret not in log + proxy.read_log("error.log")


def test_the_limit_of_the_proxy_is_that_of_the_endpoint() -> None:
    text = (NGINX / "fieldflame" / "locations.conf").read_text(encoding="utf-8")
    [endpoint] = re.findall(r"location ~ (\^/\(ingest/\S+) \{\n\s+client_max_body_size (\d+)m;", text)
    for path in (ENDPOINT_PATH, ENDPOINT_PATH + "/", "/datadog/key/api/v2/profile", SENTRY):
        assert re.match(endpoint[0], path)
    assert endpoint[1] == str(settings.INGEST_MAX_BODY_BYTES // MIB)


@pytest.mark.slow(25)
@pytest.mark.parametrize(
    "said", [b"", b"POST / HTTP/1.1\r\nHost: a\r\n", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"]
)
def test_a_connection_on_which_nothing_comes_is_freed(proxy: Proxy, said: bytes) -> None:
    with socket.create_connection(("127.0.0.1", proxy.plain_port), timeout=300) as sender:
        sender.sendall(said)
        with contextlib.suppress(ConnectionResetError):
            while sender.recv(1_000):
                pass


def test_nginx_ends_its_idle_connections_to_the_app_before_the_app_does() -> None:
    text = (NGINX / "fieldflame.conf").read_text(encoding="utf-8")
    [kept_s] = re.findall(r"keepalive_timeout (\d+)s;", text)
    assert int(kept_s) * 1_000 < WEB_HEADER_WAIT_MS


def test_nginx_accepts_the_main_configuration_of_the_container(tmp_path: Path) -> None:
    text = (NGINX / "nginx.conf").read_text(encoding="utf-8")
    for name in ("/etc/nginx", "/var/log/nginx", "/run"):
        text = text.replace(name, str(tmp_path))
    (tmp_path / "mime.types").touch()
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "nginx.conf").write_text(text.replace("user nginx;", "user root root;"), encoding="utf-8")
    command = [require_program("nginx"), "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_limits_of_the_proxy_for_files_are_those_of_page_and_api() -> None:
    text = (NGINX / "fieldflame" / "locations.conf").read_text(encoding="utf-8")
    [imports, builds, uploads] = re.findall(
        r"location ~ (?!\^/\(?ingest/)(\S+) \{\n\s+client_max_body_size (\d+)m;", text
    )
    assert re.match(imports[0], reverse("import", args=["shop"]))
    assert int(imports[1]) * MIB == settings.IMPORT_MAX_FILE_BYTES + FORM_BYTES
    assert re.match(builds[0], reverse("settings-sourcemaps", args=["shop"]))
    assert int(builds[1]) * MIB == settings.SOURCE_MAP_MAX_UPLOAD_BYTES + FORM_BYTES
    for address in (reverse("api-sourcemaps", args=["shop"]), reverse("sentry-chunks", args=["any"])):
        assert re.match(uploads[0], address)
    assert int(uploads[1]) * MIB == settings.SOURCE_MAP_MAX_UPLOAD_BYTES
