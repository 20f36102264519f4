"""What no answer may have, whatever the texts in it: a status of 5xx, markup from a text, a file that does not read."""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from tempfile import TemporaryFile
from typing import Final, cast

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from tests.hostile.project.costs import MOST_BYTES, MOST_CPU_S, run_within_bounds
from tests.hostile.project.texts import MARK

ADDRESSES: Final = ("href", "src", "action", "formaction", "data", "xlink:href", "hx-get", "hx-post")
SAFE_SCHEMES: Final = ("http", "https", "mailto")
SCHEME: Final = re.compile(r"[\s\x00-\x20]*([A-Za-z][A-Za-z0-9+.-]*):")
CELL_ENDS: Final = re.compile(r"[;,|\t\r\n]")
UNSEEN: Final = re.compile(r"""[\s"\x00-\x1f\xad\u200b-\u200f\u2060\ufeff]*""")
SIGNS: Final = "=+-@＝＋－＠"
GZIP: Final = b"\x1f\x8b"


class BrokenAnswer(AssertionError):
    """An answer is what none may be."""


class MarkupSearch(HTMLParser):
    """Finds what is in a page only if a text of the project became markup."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if MARK in name or (name.startswith("on") and MARK in (value or "")):
                self.faults.append(f"an attribute {name}={value!r} in {self.get_starttag_text()!r}")
            scheme = SCHEME.match(value or "") if name in ADDRESSES else None
            if scheme and scheme[1].lower() not in SAFE_SCHEMES:
                self.faults.append(f"an address {name}={value!r}")
        if MARK in tag:
            self.faults.append(f"an element {self.get_starttag_text()!r}")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and its body, unpacked."""

    response: HttpResponseBase
    content: bytes


def read_within_bounds(
    ask: Callable[[], HttpResponseBase],
    what: str,
    *,
    most_cpu_s: float = MOST_CPU_S,
    most_bytes: int = MOST_BYTES,
) -> Answer:
    """Returns a checked answer. Raises `BrokenAnswer`, and `TooDear`."""
    responses: list[HttpResponseBase] = []
    with TemporaryFile() as file:  # as a server sends it: piece by piece, if it is streamed, and not kept in memory

        def work() -> None:
            file.seek(0)
            file.truncate()
            response = ask()
            if response.streaming:
                file.writelines(cast("Iterator[bytes]", cast("StreamingHttpResponse", response).streaming_content))
            else:
                file.write(cast("HttpResponse", response).content)
            responses[:] = [response]

        run_within_bounds(what, work, most_cpu_s=most_cpu_s, most_bytes=most_bytes)
        file.seek(0)
        content = file.read()
    answer = Answer(responses[0], gzip.decompress(content) if content.startswith(GZIP) else content)
    check_answer(answer, what)
    return answer


def check_answer(answer: Answer, what: str) -> None:
    """Raises `BrokenAnswer` for an answer that is what none may be."""
    response, content = answer.response, answer.content
    if response.status_code >= 500:
        error = getattr(response, "exc_info", (None, None))[1]
        raise BrokenAnswer(f"{what}: {response.status_code} {error or content[:300]!r}") from error
    check_content(response.get("Content-Type", "").partition(";")[0], content, what)
    for name in ("Content-Disposition", "Location", "Link"):
        value = response.get(name, "")
        if not value.isprintable():
            raise BrokenAnswer(f"{what}: {name} is {value[:300]!r}")


def check_content(kind: str, content: bytes, what: str) -> None:
    """Raises `BrokenAnswer` for content that is not what its media type says."""
    if kind == "application/gzip" and content[:1] in (b"{", b"["):
        kind = "application/json"
    try:
        if kind == "text/html":
            check_page(content.decode())
        elif kind == "application/x-ndjson":
            for line in content.split(b"\n"):
                json.loads(line or b"0", parse_constant=refuse_constant)
        elif kind.endswith("json"):
            json.loads(content, parse_constant=refuse_constant)
        elif kind == "text/csv":
            check_table(content.decode())
        elif kind.startswith("text/"):
            content.decode()
    except (ValueError, AssertionError, csv.Error) as error:
        raise BrokenAnswer(f"{what}: {kind}: {error}") from error


def check_page(page: str) -> None:
    """Raises `AssertionError` for a page in which a text became markup."""
    search = MarkupSearch()
    search.feed(page)
    search.close()
    assert not search.faults, search.faults[:3]
    assert f"<{MARK}" not in page, page[max(page.find(f"<{MARK}") - 200, 0) :][:400]


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def check_table(text: str) -> None:
    """Raises `AssertionError` for rows of other lengths, and for a cell that a spreadsheet takes for a formula."""
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len({len(row) for row in rows}) <= 1, "the rows have different lengths"
    for row in rows:
        for cell in row:
            if not is_number(cell):
                for part in CELL_ENDS.split(cell):
                    begin = UNSEEN.sub("", part, count=1)[:1]
                    assert not begin or begin not in SIGNS, f"a formula in {cell[:200]!r}"


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
