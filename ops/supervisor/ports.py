"""The web server's address: the check whether it is free, and the URL to call it."""

import errno
import socket

from ops.supervisor.messages import StartError

PORT_MAX = 65_535


def check_port_is_free(host: str, port: int) -> None:
    """Raises StartError with one sentence if no one could listen on host:port."""
    if not 1 <= port <= PORT_MAX:
        raise StartError(f"{port} is not a port; give one from 1 to {PORT_MAX} by --port.")
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise StartError(f"The host {host} is not an address of this machine; give another by --host.") from None
    family, kind, protocol, _, address = addresses[0]
    with socket.socket(family, kind, protocol) as probe:
        # As servers do: a connection of a former run that is still closing does not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise StartError(explain_bind_error(host, port, error)) from None


def explain_bind_error(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is taken by another program; give another by --port, or stop that program."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"The host {host} is not an address of this machine; give another by --host."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"Port {port} on {host} may not be used by this user; give one above 1023 by --port."
    return f"Nothing can listen on port {port} of {host}: {error.strerror}."


def make_url(host: str, port: int) -> str:
    """Returns the address under which this machine itself reaches a server that listens on `host`."""
    if host in ("0.0.0.0", ""):  # noqa: S104  # compared with, not listened on
        host = "127.0.0.1"
    elif host == "::":
        host = "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
