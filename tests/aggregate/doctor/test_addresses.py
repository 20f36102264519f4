"""Which addresses the doctor visits: public ones only, and exactly the one that was checked."""

import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlunsplit

import pytest

from aggregate.doctor.addresses import RefusedAddress, may_visit, read_target, resolve, split_url
from aggregate.doctor.fetching import FailedRequest, Jar, Limits, fetch, follow
from aggregate.doctor.findings import Finding, State
from tests.aggregate.doctor.site import HTML, QuietServer, Reply, VisitedHandler, VisitedSite
from tests.deploy.proxy import make_certificate

Look = Callable[..., dict[str, Finding]]
REFUSED = [
    *("127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
    *("100.64.0.1", "192.0.2.1", "198.18.0.1", "203.0.113.7", "224.0.0.1", "239.255.255.250", "240.0.0.1"),
    *("255.255.255.255", "::1", "::", "fe80::1", "fe80::1%lo", "fec0::1", "fc00::1", "fd12::1", "ff02::1"),
    *("2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::", "2002:a00:1::1"),
    *("2001:0:7f00:1::1", "100::1"),
]
LOCAL_FILE = urlunsplit(("file", "", "/secret.txt", "", ""))  # three slashes: no host
PUBLIC = ["93.184.215.14", "8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("text", REFUSED)
def test_an_address_that_is_not_public_is_refused(text: str) -> None:
    assert not may_visit(ip_address(text), [])


@pytest.mark.parametrize("text", PUBLIC)
def test_a_public_address_may_be_visited(text: str) -> None:
    assert may_visit(ip_address(text), [])


def test_only_the_networks_that_the_setting_names_are_allowed() -> None:
    allowed = [ip_network("10.1.0.0/16"), ip_network("::1")]
    assert may_visit(ip_address("10.1.2.3"), allowed)
    assert may_visit(ip_address("::ffff:10.1.2.3"), allowed)
    assert may_visit(ip_address("::1"), allowed)
    assert not may_visit(ip_address("10.2.0.1"), allowed)
    assert not may_visit(ip_address("127.0.0.1"), allowed)


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://shop.example/", LOCAL_FILE, "gopher://shop.example/", "javascript:alert(1)", "data:,x"),
        *("//shop.example/", "https://", "https:///path", "https://user@shop.example/", "https://a:b@shop.example/"),
        *("https://shop.example:70000/", "https://shop.example:0/", "https://[::1", "https://shop.example:22/"),
        *("https://shop.example/a b", "https://shop.example/\r\nX: y", "https://shop.example\\@evil.example/", ""),
        *("https://[fe80::1%25eth0]/", "https://shop.example/" + "a" * 3_000, "https://" + "ü" * 300 + ".example/"),
    ],
)
def test_a_bad_url_is_refused(url: str) -> None:
    with pytest.raises(RefusedAddress):
        read_target(url, [80, 443])


def test_a_url_is_read_as_browsers_write_it() -> None:
    target = split_url("HTTPS://Müller.Example:443/ä?q=ü#part")
    assert target.url == "https://xn--mller-kva.example/%C3%A4?q=%C3%BC"
    assert split_url("http://[2606:4700::1]:8080/").netloc == "[2606:4700::1]:8080"


def look_up(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Lets each look-up of a name find the next addresses. Returns the names, as they are asked."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def answer(host: Any, port: Any, *arguments: Any, **more: Any) -> Any:  # Any: as the function that it replaces
        try:
            ip_address(host)
        except ValueError:
            asked.append(host)
            addresses = answers[min(len(asked), len(answers)) - 1]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]
        return real(host, port, *arguments, **more)

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return asked


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up(monkeypatch, ["93.184.215.14", "10.0.0.1"])
    with pytest.raises(RefusedAddress, match=r"shop\.example is not a public address"):
        resolve(split_url("https://shop.example/"), [])


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "2130706433", "0x7f.1", "017700000001", "[::ffff:127.0.0.1]", "127.1"]
)
def test_this_machine_is_refused_however_it_is_spelled(site: VisitedSite, host: str) -> None:
    limits = Limits(ports=[site.port], allowed=[])
    with pytest.raises(FailedRequest):
        fetch(f"http://{host}:{site.port}/", limits, {}, max_bytes=10, keep_end=False)
    assert site.seen == []


def test_the_connection_goes_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch, site: VisitedSite
) -> None:
    """A name that has another address a moment later, as in DNS rebinding."""
    asked = look_up(monkeypatch, ["127.0.0.1"], ["10.255.255.1"])
    site.set_page("<p>")
    limits = Limits(ports=[site.port], allowed=[ip_network("127.0.0.1")])
    answer = follow(f"http://shop.example:{site.port}/", limits, max_bytes=99, sent=Jar(), got=Jar(), hops=[])
    assert answer.status == 200
    assert asked == ["shop.example"]
    assert site.headers_of("/")[0]["host"] == f"shop.example:{site.port}"


def test_a_redirect_to_a_private_address_is_refused(
    doctor: Look, monkeypatch: pytest.MonkeyPatch, site: VisitedSite, cdn: VisitedSite
) -> None:
    look_up(monkeypatch, ["10.0.0.1"])
    for place in (
        "http://intern.example/",
        f"http://[::1]:{cdn.port}/",
        "http://169.254.169.254/",
        LOCAL_FILE,
    ):
        site.replies["/"] = Reply(302, [("Location", place)])
        finding = doctor()["visit"]
        assert finding.state is State.PROBLEM
    assert cdn.seen == []


def test_a_redirect_to_another_port_is_refused(doctor: Look, site: VisitedSite) -> None:
    site.replies["/"] = Reply(302, [("Location", "http://127.0.0.1:22/")])
    assert "Port 22 is not allowed" in doctor()["visit"].sentence


def test_scripts_are_held_to_the_same_addresses(doctor: Look, site: VisitedSite, cdn: VisitedSite) -> None:
    cdn.set_script("/secret.js")
    site.replies["/jump.js"] = Reply(302, [("Location", f"http://[::1]:{cdn.port}/secret.js")])
    site.set_page(f"<script src=http://[::1]:{cdn.port}/secret.js></script><script src=/jump.js></script>")
    assert list(doctor()["scripts"].about) == [f"http://[::1]:{cdn.port}/secret.js"]
    assert cdn.seen == []


def test_https_asks_for_the_name_and_checks_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The certificate is of `localhost`: under that name it is accepted, under another name it is not."""
    make_certificate(tmp_path)
    names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "fullchain.pem", tmp_path / "privkey.pem")
    context.sni_callback = lambda _socket, name, _context: names.append(name)

    class Handler(VisitedHandler):
        pass

    server = QuietServer(("127.0.0.1", 0), Handler)
    Handler.site = VisitedSite(server.server_port)
    Handler.site.set_page("<p>")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "fullchain.pem"))
    look_up(monkeypatch, ["127.0.0.1"])
    limits = Limits(ports=[server.server_port], allowed=[ip_network("127.0.0.1")])
    try:
        good = fetch(f"https://localhost:{server.server_port}/", limits, {}, max_bytes=99, keep_end=False)
        with pytest.raises(FailedRequest, match=r"certificate of shop\.example"):
            fetch(f"https://shop.example:{server.server_port}/", limits, {}, max_bytes=99, keep_end=False)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert good.status == 200
    assert names == ["localhost", "shop.example"]
    assert Handler.site.headers_of("/")[0]["host"] == f"localhost:{server.server_port}"


def test_a_visit_carries_no_cookie_and_no_credentials_of_ours(doctor: Look, site: VisitedSite) -> None:
    site.set_page("<script src=/a.js></script>")
    site.set_script("/a.js")
    doctor()
    for _, headers in site.seen:
        assert not {"cookie", "authorization", "x-forwarded-for"} & set(headers)


def test_the_process_of_a_visit_reads_no_proxy_from_the_environment(
    doctor: Look, site: VisitedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    def answer(request: BaseHTTPRequestHandler) -> Reply:
        return Reply(200, [HTML], b"<p>" if request.path == "/" else b"")

    site.replies["/"] = answer
    assert "visit" not in doctor()
