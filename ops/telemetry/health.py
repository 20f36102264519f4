"""Addresses for monitors: whether this process runs, whether everything it needs answers, and the metrics."""

import threading
import time
from collections.abc import Callable

import psycopg
import redis
from celery.exceptions import CeleryError
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import KombuError
from prometheus_client import CONTENT_TYPE_LATEST
from psycopg.conninfo import make_conninfo

from config.celery import app
from ops.telemetry.exposition import render_metrics
from ops.telemetry.serving import FORBIDDEN, may_read

LIMIT_S = 2
PROXY_HEADERS = ("Forwarded", "Via", "X-Forwarded-For", "X-Real-IP")  # any of them: someone asks through a proxy
# A check costs a connection and a broadcast to the workers, and anyone may ask, so an answer is kept for some seconds.
ANSWER_KEPT_S = 1.0


def ask_postgres() -> None:
    """Raises psycopg.Error. Does not use the pool, whose own limit is longer than a monitor waits."""
    fields = connection.settings_dict
    address = make_conninfo(
        host=fields["HOST"] or None,
        port=fields["PORT"] or None,
        user=fields["USER"] or None,
        password=fields["PASSWORD"] or None,
        dbname=fields["NAME"],
        **{name: value for name, value in fields["OPTIONS"].items() if name.startswith("ssl")},
    )
    with psycopg.connect(address, connect_timeout=LIMIT_S, application_name="fieldflame readyz") as server:
        server.execute("SELECT 1")


def ask_valkey() -> None:
    """Raises redis.RedisError."""
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=LIMIT_S, socket_connect_timeout=LIMIT_S) as client:
        client.ping()


def ask_worker() -> None:
    """Raises CeleryError if no worker answers, and the errors of an absent broker."""
    if not app.control.ping(timeout=LIMIT_S, limit=1):
        raise CeleryError(f"no worker answered within {LIMIT_S} s")


QUESTIONS: dict[str, Callable[[], None]] = {"postgres": ask_postgres, "valkey": ask_valkey, "worker": ask_worker}


def ask_all() -> list[str]:
    """Returns the names of the parts that do not answer."""
    failing = []
    for name, ask in QUESTIONS.items():
        try:
            ask()
        except (psycopg.Error, redis.RedisError, CeleryError, KombuError, OSError):
            failing.append(name)
    return failing


class KeptAnswer:
    """The last answer of `ask_all`. While one thread asks, others get the answer before; only the first one is awaited.

    Anyone may ask, and each who waited would hold a thread for up to six seconds if nothing answers.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.failing: list[str] | None = None
        self.valid_until = 0.0

    def read(self) -> list[str]:
        if self.lock.acquire(blocking=self.failing is None):
            try:
                if self.failing is None or time.monotonic() >= self.valid_until:
                    self.failing = ask_all()
                    self.valid_until = time.monotonic() + ANSWER_KEPT_S
            finally:
                self.lock.release()
        assert self.failing is not None
        return self.failing


KEPT_ANSWER = KeptAnswer()


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Answers 200 as long as this process runs."""
    return JsonResponse({"alive": True})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """Answers 200 once Postgres, Valkey and a worker answer; else 503 with the names of those that do not."""
    failing = KEPT_ANSWER.read()
    return JsonResponse({"ready": not failing, "failing": failing}, status=503 if failing else 200)


def may_read_metrics(request: HttpRequest) -> bool:
    """Returns whether a request may read the metrics, which count projects, traces and errors of everyone."""
    return may_read(
        request.META.get("REMOTE_ADDR", ""),
        request.headers.get("Authorization", ""),
        is_proxied=any(name in request.headers for name in PROXY_HEADERS),
    )


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Answers with the metrics, in the Prometheus text format; 403 to others than `may_read_metrics` allows."""
    if not may_read_metrics(request):
        return HttpResponse(FORBIDDEN, status=403, content_type="text/plain; charset=utf-8")
    return HttpResponse(render_metrics(), content_type=CONTENT_TYPE_LATEST)
