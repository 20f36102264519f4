"""The web server's address: one clear sentence for whatever is wrong with it."""

import socket

import pytest

from ops.supervisor.messages import StartError
from ops.supervisor.ports import check_port_is_free, make_url


def test_a_free_port_is_let_through() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    check_port_is_free("127.0.0.1", port)


def test_a_taken_port_is_named_with_the_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(StartError, match=rf"Port {port} on 127\.0\.0\.1 is taken .* --port"):
            check_port_is_free("127.0.0.1", port)


def test_a_host_of_another_machine_is_named() -> None:
    # 192.0.2.0/24 is set aside for documents (RFC 5737): no machine has such an address.
    with pytest.raises(StartError, match=r"The host 192\.0\.2\.1 is not an address of this machine"):
        check_port_is_free("192.0.2.1", 8000)


def test_a_number_that_is_no_port_is_named() -> None:
    with pytest.raises(StartError, match="70000 is not a port"):
        check_port_is_free("127.0.0.1", 70000)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("shop.example", "http://shop.example:8000"),
    ],
)
def test_a_server_on_every_address_is_called_on_the_loopback(host: str, url: str) -> None:
    assert make_url(host, 8000) == url
