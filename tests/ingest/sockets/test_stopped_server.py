"""A web server that is stopped in the middle of posts. Real sockets."""

import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.envelopes import view_id_of
from tests.ingest.endpoint.posting import IngestServer
from tests.ingest.sockets.serving import LIMIT_S, WebServer, run_web_server

pytestmark = [pytest.mark.stack, pytest.mark.slow(20)]

SENDERS = 12
ENOUGH = 200  # accepted posts before the server is stopped


def post_until_refused(server: WebServer, key: str, sender: int, accepted: list[str]) -> None:
    """Posts one trace after the other until nobody answers."""
    number = 0
    while True:
        name = f"{sender}-{number}"
        try:
            status = server.post(key, name)
        except (OSError, http.client.HTTPException):
            return
        if status == 202:
            accepted.append(name)
        number += 1


def test_what_a_stopped_server_has_accepted_is_stored(open_endpoint: IngestServer, tmp_path: Path) -> None:
    """Posts that share a statement with the last ones too."""
    accepted: list[str] = []
    with ThreadPoolExecutor(SENDERS) as pool, run_web_server(tmp_path, FIELDFLAME_WEB_PROCESSES="1") as server:
        senders = [pool.submit(post_until_refused, server, open_endpoint.key, n, accepted) for n in range(SENDERS)]
        deadline = time.monotonic() + LIMIT_S
        while len(accepted) < ENOUGH:
            assert time.monotonic() < deadline, f"only {len(accepted)} posts were accepted"
            assert not any(sender.done() for sender in senders)
            time.sleep(0.01)
    stored = {view for view, _ in open_endpoint.receipts()}
    assert {view_id_of(name) for name in accepted} <= stored
    assert len(open_endpoint.bodies()) == len(stored)
