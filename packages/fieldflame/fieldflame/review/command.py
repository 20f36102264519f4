"""The command `review`: asks for the cost of touched functions, or for what a release changed about them."""

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from fieldflame.answers import Json, Verdict, checked, read_verdict
from fieldflame.exits import Exit
from fieldflame.files import write_file
from fieldflame.lsp.costs import Costs
from fieldflame.review.diff import load_diff, read_diff
from fieldflame.review.functions import TouchedFunction, find_touched
from fieldflame.review.report import Line, Review, write_review_markdown, write_review_text
from fieldflame.server import Server

MAX_SHOWN: Final = 20  # of the dearest functions; each is a request
MAX_COMPARED: Final = 10_000  # as many as the server answers
WEEK: Final = timedelta(days=7)


def run_review(server: Server, options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Prints the review and writes the file; returns the exit code. Raises `CommandError`."""
    touched = read_diff(load_diff(options.diff, options.against))
    found = find_touched(Costs(server, release=options.release), touched, Path.cwd())
    verdict = None if options.release is None else _ask_verdict(server, options)
    changes = {} if verdict is None else _ask_changes(server, verdict)
    lines = []
    for function in found.functions[:MAX_SHOWN]:
        pages = _ask_pages(server, function, found.release) if verdict is None else ()
        lines.append(Line(function=function, pages=pages, change=changes.get(function.cost.id)))
    review = Review(
        project=server.project,
        release=found.release,
        lines=tuple(lines),
        more=len(found.functions) - len(lines),
        files=found.files,
        left_out=found.left_out,
        views_a_day=_ask_views_a_day(server) if verdict is None else None,
        verdict=verdict,
        link=server.link("") if verdict is None else _link(server, verdict),
    )
    print(write_review_text(review), flush=True)
    if options.markdown is not None:
        write_file(options.markdown, write_review_markdown(review), environment)
    return Exit.OK


def _ask_pages(server: Server, function: TouchedFunction, release: str | None) -> tuple[str, ...]:
    """Returns the pages that run a function, those with the most of its time first."""
    params = [("by", "page"), ("display", "none"), *([("release", release)] if release else [])]
    answer = server.get(f"functions/{function.cost.id}/breakdown", params)
    rows = checked(lambda known: [row for row in known["breakdown"] if row["function_views"]], answer)
    rows.sort(key=lambda row: -row["self_ms"])
    return tuple(str(row["value"]) for row in rows)


def _ask_views_a_day(server: Server) -> float:
    """Returns the mean of the recorded page views of the last whole days."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    params = [("by", "day"), ("from", (today - WEEK).isoformat()), ("to", today.isoformat())]
    answer = server.get("overview", params)
    return checked(lambda known: sum(int(row["views"]) for row in known["rows"]) / WEEK.days, answer)


def _ask_verdict(server: Server, options: argparse.Namespace) -> Verdict:
    if options.base is None:
        return read_verdict(server.get("verdict", [("release", options.release)]))
    return read_verdict(server.get("verdict", [("base_release", options.base), ("head_release", options.release)]))


def _ask_changes(server: Server, verdict: Verdict) -> dict[str, Json]:
    """Returns the row of each function of the comparison, by its id."""
    if verdict.base is None or verdict.head is None:
        return {}
    sides = [("base_release", verdict.base), ("head_release", verdict.head), ("display", "none")]
    answer = server.get("compare", [*sides, ("limit", str(MAX_COMPARED))])
    return checked(lambda known: {row["id"]: row for row in known["functions"]}, answer)


def _link(server: Server, verdict: Verdict) -> str:
    if verdict.base is None or verdict.head is None:
        return server.link("")
    return server.link("compare/", [("base_release", verdict.base), ("head_release", verdict.head)])
