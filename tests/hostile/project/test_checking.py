"""What looks for markup, formulas and costs finds them. Otherwise the walk through the project would prove nothing."""

import pytest
from django.http import HttpResponse, StreamingHttpResponse

from tests.hostile.project.checking import BrokenAnswer, check_content, read_within_bounds
from tests.hostile.project.costs import MOST_BYTES, TooDear, read_memory, run_within_bounds
from tests.hostile.project.texts import FORMULAS, MARK, MARKUP

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "page",
    [
        f"<p>{MARKUP}</p>",
        f'<p title="{MARKUP}">',
        f"<p title={MARK}= {MARK}=1>",
        f"<script>var a = '{MARKUP}'</script>",
        f'<img src=x onerror="{MARK}()">',
        '<a href=" java&#115;cript:alert(1)">',
        '<a href="data:text/html,x">',
    ],
)
def test_a_text_that_became_markup_is_found(page: str) -> None:
    with pytest.raises(BrokenAnswer):
        check_content("text/html", page.encode(), "a page")


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_is_found(formula: str) -> None:
    quoted = formula.replace('"', '""')
    with pytest.raises(BrokenAnswer):
        check_content("text/csv", f'"a","{quoted}"\r\n'.encode(), "a table")


@pytest.mark.parametrize(("kind", "content"), [("application/json", b"NaN"), ("application/x-ndjson", b"{}\n{")])
def test_json_that_does_not_read_is_found(kind: str, content: bytes) -> None:
    with pytest.raises(BrokenAnswer):
        check_content(kind, content, "an answer")


def test_an_error_is_found() -> None:
    with pytest.raises(BrokenAnswer, match="503"):
        read_within_bounds(lambda: HttpResponse(status=503), "a page")


def test_memory_and_a_processors_time_are_found() -> None:
    def spend() -> None:
        sum(range(10**6))

    with pytest.raises(TooDear, match="of a processor"):
        run_within_bounds("work", spend, most_cpu_s=0.0)
    if read_memory("VmHWM"):  # only Linux tells it
        with pytest.raises(TooDear, match="MiB"):
            run_within_bounds("work", lambda: bytearray(b"x" * (MOST_BYTES + 2**20)))


def test_a_streamed_answer_is_not_kept_in_memory() -> None:
    pieces = (b"x" * 2**20 for _ in range(2 * MOST_BYTES // 2**20))
    answer = read_within_bounds(lambda: StreamingHttpResponse(pieces, content_type="text/plain"), "a file")
    assert len(answer.content) == 2 * MOST_BYTES
