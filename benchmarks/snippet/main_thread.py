"""Reads from a DevTools trace what a page's main thread did, and which of its tasks the snippet caused.

Times are those of the thread's processor clock, so that other programs of the machine count less. A throttled browser
spends the rest of each moment in the same thread, so its tasks count in full.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

CATEGORIES: Final = (
    *("-*", "disabled-by-default-devtools.timeline", "devtools.timeline", "toplevel", "blink", "mojom"),
    *("blink.resource", "loading", "v8"),
)
END_MARK: Final = "own-cost"
LONG_TASK_MS: Final = 50.0
# What follows is never the page's: the pages that are visited have no such scripts, requests, streams or profilers.
OWN_ADDRESSES: Final = ("/snippet.js", "/ingest/v1/")
OWN_EVENTS: Final = ("ProfilerTraceBuilder::", "CpuProfiler::", "CompressionStream", "BlobRegistry::", "FetchLater")
# A task that a browser posts from there does nothing but resolve a promise or pass on bytes.
OWN_SOURCES: Final = (*("script_promise_resolver.cc", "blob", "Blob", "fetch_later", "FetchLater"),)
# Such a task is the snippet's if it has a part of it and no code of the page.
SHARED_SOURCES: Final = (
    *("dom_timer.cc", "timing/performance.cc", "core/script/script_runner.cc", "idle", "Idle"),
    *("URLLoader", "body.cc", "body_stream_buffer", "fetch_data_loader", "data_pipe_bytes_consumer"),
)
CODE: Final = ("FunctionCall", "EvaluateScript", "v8.evaluateModule")

Event = dict[str, Any]  # Any: JSON of the browser


@dataclass(frozen=True, slots=True, kw_only=True)
class MainThread:
    """The ms of all tasks, and of those that the snippet caused by where they come from; its longest task, and the
    time from each click to what it painted.
    """

    all_ms: float
    caused_ms: dict[str, float]
    longest_ms: float
    long_tasks: int
    clicks_ms: list[float]


def read_main_thread(trace: bytes) -> MainThread:
    """Returns what the thread did that wrote `END_MARK`, until then."""
    events: list[Event] = json.loads(trace)["traceEvents"]
    end = next(e for e in events if e["name"] == "TimeStamp" and e["args"]["data"].get("message") == END_MARK)
    own_thread = [e for e in events if (e["pid"], e["tid"]) == (end["pid"], end["tid"]) and e["ts"] <= end["ts"]]
    caused: dict[str, float] = {}
    all_ms, longest_ms, long_tasks = 0.0, 0.0, 0
    for task in _split_tasks(own_thread):
        all_ms += _cpu_ms(task[0])
        ms = _find_caused_ms(task)
        if ms:
            kind = _find_source(task)
            caused[kind] = caused.get(kind, 0.0) + ms
            longest_ms = max(longest_ms, ms)
            long_tasks += ms >= LONG_TASK_MS
    return MainThread(
        all_ms=all_ms,
        caused_ms=caused,
        longest_ms=longest_ms,
        long_tasks=long_tasks,
        clicks_ms=list(_find_clicks(own_thread)),
    )


def _cpu_ms(event: Event) -> float:
    return float(event.get("tdur", 0)) / 1000


def _split_tasks(events: Iterable[Event]) -> Iterator[list[Event]]:
    """Yields each outermost event with those that lie in it, in the order of their begins."""
    task: list[Event] = []
    end = -1
    for event in sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["ts"], -e.get("dur", 0))):
        if event["ts"] >= end:
            if task:
                yield task
            task, end = [], event["ts"] + event.get("dur", 0)
        task.append(event)
    if task:
        yield task


def _read_address(event: Event) -> str:
    args = event.get("args", {})
    details = args.get("data") or {}
    return str(details.get("url") or args.get("url") or "")


def _is_own(event: Event) -> bool:
    return event["name"].startswith(OWN_EVENTS) or any(part in _read_address(event) for part in OWN_ADDRESSES)


def _find_source(task: Sequence[Event]) -> str:
    """Returns where in the browser's source a task was posted, and for a message what it is about."""
    source = task[0]["name"]
    for event in task:
        args = event.get("args", {})
        if event["name"] == "ThreadControllerImpl::RunTask":
            source = (
                f"{args.get('src_func', '')}@{args.get('src_file', '').removeprefix('third_party/blink/renderer/')}"
            )
        elif event["name"] == "SimpleWatcher::OnHandleReady":
            return f"{source} {(args.get('chrome_mojo_event_info') or {}).get('watcher_notify_interface_tag', '')}"
    return str(source)


def _find_caused_ms(task: Sequence[Event]) -> float:
    """Returns the ms of a task that the snippet caused: the whole of its own tasks, and its parts of others."""
    own = [event for event in task if _is_own(event)]
    source = _find_source(task)
    is_page = any(event["name"] in CODE and not _is_own(event) for event in task)
    sources = OWN_SOURCES + SHARED_SOURCES if own else OWN_SOURCES
    if not is_page and any(part in source for part in sources):
        return _cpu_ms(task[0])
    caused_ms, end = 0.0, -1
    for event in own:
        if event["ts"] >= end:
            caused_ms += _cpu_ms(event)
            end = event["ts"] + event.get("dur", 0)
    return caused_ms


def _find_clicks(events: Iterable[Event]) -> Iterator[float]:
    """Yields the ms of each click until the frame that shows what it did: INP is made of these."""
    begins: dict[str, Event] = {}
    for event in events:
        if event["name"] == "EventTiming":
            if event["ph"] == "b" and event["args"]["data"]["type"] == "click":
                begins[event["id2"]["local"] if "id2" in event else event["id"]] = event
            elif event["ph"] == "e" and (key := event["id2"]["local"] if "id2" in event else event["id"]) in begins:
                yield (event["ts"] - begins.pop(key)["ts"]) / 1000
