"""Asks the web server of this container whether it lives: exit code 0 if so. For HEALTHCHECK; the image has no curl.

A request has to name an allowed host, so the first name of FIELDFLAME_ALLOWED_HOSTS is given.
"""

import http.client
import os
import sys

LIMIT_S = 3


def choose_host(allowed: str) -> str:
    """Returns a Host header that the setting allows; `*` allows any, `.example.com` its own name."""
    first = allowed.split(",", maxsplit=1)[0].strip().removeprefix(".")
    return "127.0.0.1" if first in ("", "*") else first


def read_status(port: int, host: str) -> int:
    """Returns the status of GET /healthz, 0 where nobody answers."""
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    try:
        asked.request("GET", "/healthz", headers={"Host": host})
        return asked.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        asked.close()


def main() -> int:
    port = int(os.environ.get("FIELDFLAME_PORT", "8000"))
    host = choose_host(os.environ.get("FIELDFLAME_ALLOWED_HOSTS", ""))
    return 0 if read_status(port, host) == http.client.OK else 1


if __name__ == "__main__":
    sys.exit(main())
