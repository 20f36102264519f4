"""Logs of all parts: one event per line, as text for people or as JSON for machines, by structlog.

Every line of this process comes through here, those of Django, Celery and granian too. Fields are a closed set, so that
no library adds a request, an argument or a body. What could be a secret is left out of messages and tracebacks.
Needs no settings: granian's main process has none.
"""

import logging
import os
import re
from collections.abc import Mapping
from typing import Any, Final

from prometheus_client import Counter
from structlog.contextvars import merge_contextvars
from structlog.processors import JSONRenderer, TimeStamper, format_exc_info
from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level, add_logger_name
from structlog.types import EventDict

from ops.telemetry.requests import present_request

FORMATS: Final = ("text", "json")
FORMAT_NAME: Final = "FIELDFLAME_LOG_FORMAT"
# What a record may bring besides its message. `did` are the numbers of a task's line, which its message has too.
FIELDS: Final = ("trace_id", "did", "seconds", "status_code")
# Two or three lines for each task, and a sweep is sent every few seconds.
CHATTY: Final = ("celery.worker.strategy", "celery.app.trace", "celery.beat")
# Of addresses, statements and headers: what stands behind the name.
SECRETS: Final = (
    (re.compile(r"(?i)\b(bearer|token) +[\w.~+/=-]{8,}"), r"\1 …"),
    (re.compile(r"(?i)\b(key|token|password|passwd|secret|secret_key|sessionid|csrftoken)=[^\s&'\",)]+"), r"\1=…"),
    (re.compile(r"://([^/\s:@]*):[^@\s/]+@"), r"://\1:…@"),
    (re.compile(r"(/shared/|/snippet/(?:full/)?)[^\s/'\"?]+"), r"\1…"),
)
# PostgreSQL's details hold the values of a row, which may be a body or a key.
DETAILS: Final = re.compile(r"(?ms)^(DETAIL|CONTEXT):.*?(?=\n\n(?:The above|During)|\Z)")

LOG_LINES: Final = Counter(
    "fieldflame_log_lines_total", "Lines logged at a level that someone should look at, by level", ["level"]
)
COUNTED: Final = ("warning", "error", "critical")
for _level in COUNTED:  # so that the first one of each is seen as a rise
    LOG_LINES.labels(_level)


def add_request(_: object, __: str, event: EventDict) -> EventDict:
    """Adds the id of the request that this thread serves."""
    mark = present_request()
    if mark is not None:
        event["request_id"] = mark.id
    return event


def add_process(_: object, __: str, event: EventDict) -> EventDict:
    """Adds the process's id."""
    event["process"] = event["_record"].process
    return event


def count_line(_: object, __: str, event: EventDict) -> EventDict:
    """Counts warnings and errors."""
    if event["level"] in COUNTED:
        LOG_LINES.labels(event["level"]).inc()
    return event


def name_route(_: object, __: str, event: EventDict) -> EventDict:
    """Says which address failed, not its path: that has what someone typed, or the secret of a link."""
    request = getattr(event["_record"], "request", None)
    path = getattr(request, "path", None)
    if path and event["event"].endswith(path):
        match = getattr(request, "resolver_match", None)
        event["event"] = event["event"].removesuffix(path) + (match.route if match else "(no such address)")
    return event


def hide_secrets(_: object, __: str, event: EventDict) -> EventDict:
    """Leaves out what could be a secret, of the message and of the traceback."""
    for name in ("event", "exception"):
        if text := event.get(name):
            event[name] = hide(str(text))
    return event


def hide(text: str) -> str:
    """Returns a text without what looks like a secret, or like the values of a row."""
    text = DETAILS.sub(r"\1: (left out)", text)
    for pattern, instead in SECRETS:
        text = pattern.sub(instead, text)
    return text


def render_text(_: object, __: str, event: EventDict) -> str:
    """Returns `time LEVEL logger message name=value …`, and the traceback below it."""
    event.pop("did", None)
    head = [str(event.pop(name)) for name in ("timestamp", "level", "logger", "event")]
    head[1] = head[1].upper()
    traceback = event.pop("exception", None)
    line = " ".join([*head, *(f"{name}={value}" for name, value in event.items())])
    return f"{line}\n{traceback}" if traceback else line


def make_formatter() -> logging.Formatter:
    """Returns the formatter of every handler, in the format that the environment names."""
    renderer = (
        JSONRenderer(ensure_ascii=False) if os.environ.get(FORMAT_NAME, "").strip().lower() == "json" else render_text
    )
    return ProcessorFormatter(
        foreign_pre_chain=[
            merge_contextvars,
            add_logger_name,
            add_log_level,
            TimeStamper(fmt="iso", utc=True),
            ExtraAdder(FIELDS),
        ],
        processors=[
            add_process,
            add_request,
            count_line,
            name_route,
            ProcessorFormatter.remove_processors_meta,
            format_exc_info,
            hide_secrets,
            renderer,
        ],
    )


def make_logging(level: str) -> Mapping[str, Any]:  # Any: as `logging.config` has it
    """Returns the configuration of the logs of a process, from a level on."""
    quiet = "WARNING" if level == "INFO" else level
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": "ops.telemetry.logs.make_formatter"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Anybody could fill the log: refused logins are counted, and so are all answers by their class of status.
            "axes": {"level": "ERROR"},
            "django.request": {"level": "ERROR"},
            "django.security": {"level": "CRITICAL"},
            # Django's own handlers print only with DEBUG, or send mail.
            "django": {"handlers": [], "level": level, "propagate": True},
            **{name: {"level": quiet} for name in CHATTY},
        },
    }
