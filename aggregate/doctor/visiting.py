"""One visit in a process of its own: `python -m aggregate.doctor.visiting`, the task on stdin.

Pages are hostile input. If one hangs it, or eats memory or processor time, only this process ends. It imports no
framework, so it starts fast.
"""

import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from typing import Any, Final
from urllib.parse import urljoin

import msgspec

from aggregate.doctor.addresses import RefusedAddress, split_url
from aggregate.doctor.fetching import USER_AGENT, Answer, FailedRequest, Jar, Limits, fetch, follow
from aggregate.doctor.markup import Markup, ScriptTag, read_markup
from profcore.symbolicate.builds import InlineMapError, read_bundle

MEMORY_BYTES: Final = 2**30  # address space; a page of 2 MB takes some 50 MB
END_BYTES: Final = 16_384  # of a script: its comment about a map is in its last line


class VisitTask(msgspec.Struct, kw_only=True):
    """The input of the child."""

    url: str
    ports: list[int]
    allowed: list[str]
    max_page_bytes: int
    max_script_bytes: int
    max_scripts: int
    time_s: int


class Hop(msgspec.Struct, kw_only=True):
    """One answer on the way to the page."""

    url: str
    status: int
    headers: list[tuple[str, str]]

    def header(self, name: str) -> str:
        """Returns the lines of a header, joined; empty if there is none."""
        return ", ".join(self.lines(name))

    def lines(self, name: str) -> list[str]:
        """Returns the lines of a header."""
        return [value for key, value in self.headers if key.lower() == name]


class FetchedScript(msgspec.Struct, kw_only=True):
    """An external script of the page. `map_url` is its public map ("inline" for one in it); `end_seen` is False if its
    end was not read."""

    url: str
    tag: int  # its place among the page's scripts
    is_foreign: bool
    status: int = 0
    failure: str = ""
    allow_origin: str = ""
    allow_credentials: str = ""
    map_url: str = ""
    end_seen: bool = False


class VisitResult(msgspec.Struct, kw_only=True):
    """The answer of the child: both visits, the page, and its scripts. A failure is a sentence."""

    hops: list[Hop] = []
    failure: str = ""
    cookie_hops: list[Hop] = []
    cookie_failure: str = ""
    has_cookies: bool = False
    markup: Markup | None = None
    is_cut: bool = False
    scripts: list[FetchedScript] = []
    scripts_left: int = 0
    out_of_time: bool = False


task_decoder: Final = msgspec.msgpack.Decoder(VisitTask)
result_decoder: Final = msgspec.msgpack.Decoder(VisitResult)


class OutOfTime(Exception):
    """The visit took as long as it may."""


def visit(task: VisitTask) -> VisitResult:
    """Visits a page without and with its cookies, then asks for its scripts. Stops when its time is over."""
    result = VisitResult()
    limits = Limits(ports=task.ports, allowed=[ip_network(network) for network in task.allowed])
    try:
        with limit_time(task.time_s):
            _visit(task, limits, result)
    except OutOfTime:
        result.out_of_time = True
    return result


def _visit(task: VisitTask, limits: Limits, result: VisitResult) -> None:
    jar = Jar()
    hops: list[Answer] = []
    page: Answer | None = None
    try:
        page = follow(task.url, limits, max_bytes=task.max_page_bytes, sent=Jar(), got=jar, hops=hops)
    except FailedRequest as error:
        result.failure = str(error)
    finally:
        result.hops = [to_hop(hop) for hop in hops]
    result.has_cookies = any(jar.kept.values())
    if result.has_cookies:
        hops = []
        try:
            again = follow(task.url, limits, max_bytes=task.max_page_bytes, sent=jar, got=jar, hops=hops)
            page = page or again
        except FailedRequest as error:
            result.cookie_failure = str(error)
        finally:
            result.cookie_hops = [to_hop(hop) for hop in hops]
    if page is None or "html" not in page.header("content-type").lower():
        return
    result.is_cut = page.is_cut
    result.markup = read_markup(decode(page))
    _fetch_scripts(task, limits, page, result)


def _fetch_scripts(task: VisitTask, limits: Limits, page: Answer, result: VisitResult) -> None:
    assert result.markup is not None
    base = urljoin_safely(page.target.url, result.markup.base)
    external = [(at, tag) for at, tag in enumerate(result.markup.scripts) if tag.attributes.get("src")]
    result.scripts_left = len(external)
    seen: set[str] = set()
    for at, tag in external:
        if len(result.scripts) >= task.max_scripts:
            return
        url = urljoin_safely(base, tag.attributes["src"].strip())
        result.scripts_left -= 1
        if url in seen or not url.startswith(("http://", "https://")):
            continue
        seen.add(url)
        script = FetchedScript(url=url, tag=at, is_foreign=is_foreign(url, page))
        result.scripts.append(script)
        try:
            _look_at(script, tag, page, limits, task.max_script_bytes)
        except FailedRequest as error:
            script.failure = str(error)


def _look_at(script: FetchedScript, tag: ScriptTag, page: Answer, limits: Limits, max_bytes: int) -> None:
    headers = {"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity", "Sec-Fetch-Dest": "script"}
    headers |= {"Range": f"bytes=-{END_BYTES}", "Sec-Fetch-Mode": "cors" if is_cors(tag) else "no-cors"}
    if script.is_foreign:
        headers["Origin"] = page.target.origin
    answer = fetch(script.url, limits, headers, max_bytes=max_bytes, keep_end=True)
    if answer.status == 416:  # shorter than what was asked for, at some servers
        del headers["Range"]
        answer = fetch(script.url, limits, headers, max_bytes=max_bytes, keep_end=True)
    script.status = answer.status
    script.allow_origin = answer.header("access-control-allow-origin")
    script.allow_credentials = answer.header("access-control-allow-credentials")
    script.end_seen = not answer.is_cut and answer.header("content-encoding").lower() in ("", "identity")
    script.map_url = (answer.header("sourcemap") or answer.header("x-sourcemap"))[:1_000]
    if not script.map_url and script.end_seen:
        try:
            bundle = read_bundle(answer.body)
        except InlineMapError:
            return
        script.map_url = "inline" if bundle.inline_map is not None else (bundle.mapping_url or "")[:1_000]


def is_cors(tag: ScriptTag) -> bool:
    """Returns whether a browser requests a script with CORS: modules always, others with `crossorigin`."""
    return "crossorigin" in tag.attributes or tag.attributes.get("type", "").strip().lower() == "module"


def is_foreign(url: str, page: Answer) -> bool:
    """Returns whether a script is from another origin than the page."""
    try:
        return split_url(url).origin != page.target.origin
    except RefusedAddress:
        return True


def urljoin_safely(base: str, url: str) -> str:
    """Returns an address from its page's; the page's own if the text is no address."""
    try:
        return urljoin(base, url) if url else base
    except ValueError:
        return base


def to_hop(answer: Answer) -> Hop:
    """Returns an answer without its body."""
    return Hop(url=answer.target.url, status=answer.status, headers=list(answer.headers))


def decode(page: Answer) -> str:
    """Returns the text of a page. Its tags are ASCII in all encodings but UTF-16, which pages hardly use."""
    charset = page.header("content-type").lower().partition("charset=")[2].split(";")[0].strip(" \"'")
    try:
        return page.body.decode(charset or "utf-8", "replace")
    except LookupError:
        return page.body.decode("utf-8", "replace")


@contextmanager
def limit_time(seconds: int) -> Iterator[None]:
    """Raises `OutOfTime` in the block after some seconds. For the main thread only."""

    def stop(number: int, frame: Any) -> None:  # Any: as in the standard library's stubs
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main() -> None:
    """Reads a task from stdin and writes the result to stdout."""
    task = task_decoder.decode(sys.stdin.buffer.read())
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (task.time_s, task.time_s))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.buffer.write(msgspec.msgpack.encode(visit(task)))


if __name__ == "__main__":
    main()
