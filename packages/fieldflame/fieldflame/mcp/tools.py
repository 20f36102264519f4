"""What the tools ask and answer: each returns its sentences and their figures. None of them changes anything."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from fieldflame.answers import checked, read_verdict
from fieldflame.mcp import models
from fieldflame.mcp.slices import make_sides
from fieldflame.mcp.words import (
    Json,
    name_function,
    place_of,
    quote,
    quote_sentence,
    write_difference,
    write_mean,
    write_views,
)
from fieldflame.numbers import write_ms, write_percent
from fieldflame.outcome import describe_sight, find_missing
from fieldflame.question import Question
from fieldflame.server import Pairs, Server

# An answer is read by a model that pays for each word: what is beyond these is told as a number.
MAX_FUNCTIONS: Final = 6
MAX_PAGES: Final = 8
MAX_CALLS: Final = 5
MAX_ALERTS: Final = 8
LINK_S: Final = 3_600
WINDOWS: Final = {
    "lcp": "until the largest contentful paint (LCP)",
    "interaction": "during the longest interaction (INP)",
}
WHY: Final = {"new": "new", "own_time": "in its own code", "hidden_time": "in hidden time", "gone": "gone"}


class Told(NamedTuple):
    """An answer: sentences for the model, and their figures."""

    text: str
    figures: BaseModel


def tell_verdict(server: Server, base: str | None, head: str | None, filters: Pairs) -> Told:
    """Returns whether a release is slower, where and why."""
    sides = [("release", head)] if head and not base else []
    if base and head:
        sides = [("base_release", base), ("head_release", head)]
    answer = server.get("verdict", [*sides, *filters])
    verdict = read_verdict(answer)
    return checked(lambda known: _tell_verdict(server, verdict.base, known, filters, _say_missing(verdict)), answer)


def _say_missing(verdict: Any) -> list[str]:  # Any: `answers.Verdict`
    question = Question(release=verdict.head or "")
    return [*find_missing(question, verdict), *describe_sight(verdict)]


def _tell_verdict(server: Server, base: str | None, answer: Json, filters: Pairs, missing: Sequence[str]) -> Told:
    link = _link_sides(server, base, answer["head"], filters)
    changed = [page for page in answer["pages"] if page["state"] in ("slower", "faster")]
    lines = [quote_sentence(answer["sentence_parts"]) or "There are no two releases to compare."]
    if base is not None:
        views = answer["views"]
        lines.append(
            f"Compared: {views[1]:,} page views of {quote(answer['head'])} with {views[0]:,} of {quote(base)}."
        )
        lines.append(f"Certain enough for an alert: {'yes' if answer['is_confirmed'] else 'no'}.")
    lines += missing
    for function in answer["functions"][:MAX_FUNCTIONS]:
        lines.append(f"- {name_function(function)} {_say_change(function)}")
    for page in changed[:MAX_PAGES]:
        if page["page"] != answer["page"]:
            lines.append(f"- page {quote(page['page'])} is {page['state']}: {_write_page(page)}")
    if answer.get("commits"):
        commits = answer["commits"]
        since = f" after {quote(commits['from'])}" if commits["from"] else ""
        lines.append(f"Commits{since} up to {quote(commits['to'])}.")
    figures = models.Verdict(
        base=base,
        head=answer["head"],
        state=answer["state"],
        is_confirmed=answer["is_confirmed"],
        leading=_read_page(answer),
        functions=[_read_change(function) for function in answer["functions"][:MAX_FUNCTIONS]],
        pages=[_read_page(page) for page in changed[:MAX_PAGES]],
        link=link,
    )
    return Told(join_lines(lines, link), figures)


def _say_change(function: Json) -> str:
    said = write_difference(function["delta_ms_per_view"], function["ci95"])
    pages = function.get("pages") or [function["page"]]
    more = f" and {len(pages) - 3} more pages" if len(pages) > 3 else ""
    said += f" on {', '.join(quote(page) for page in pages[:3])}{more}: {WHY.get(function['why'], 'changed')}"
    return said + (f", served by {quote(function['party'])}" if function.get("party") else "")


def _write_page(page: Json) -> str:
    if page["delta_ms_per_view"] is None:
        return f"{page['views'][0]:,} and {page['views'][1]:,} page views"
    return write_difference(page["delta_ms_per_view"], page["ci95"])


def tell_savings(server: Server, filters: Pairs, limit: int) -> Told:
    """Returns the functions whose time each page view would save."""
    params = [("limit", str(limit)), *filters]
    answer = server.get("savings", params)
    return checked(lambda known: _tell_savings(server.link("vitals/", filters), known), answer)


def _tell_savings(link: str, answer: Json) -> Told:
    rows = answer["savings"]
    lines = [f"Of {write_views(answer['views'])}, by what each would certainly save without the function:"]
    if not rows:
        lines = [f"No function stands out in {write_views(answer['views'])}."]
    for number, row in enumerate(rows, 1):
        said = f"{number}. {name_function(row)}: {write_mean(row['own_ms_per_view'], row['own_ms_per_view_ci95'])}"
        if row["views_share"] is not None:
            said += f", in {write_percent(row['views_share'])} of page views"
        for window in row["windows"]:
            if window["window"] in WINDOWS:
                said += f"; {write_ms(window['ms_per_view'])} {WINDOWS[window['window']]}"
        lines.append(said + ".")
    functions = [
        models.Cost(
            **read_function(row),
            ms_per_view=row["own_ms_per_view"],
            ci95=row["own_ms_per_view_ci95"],
            views_share=row["views_share"],
        )
        for row in rows
    ]
    return Told(join_lines(lines, link), models.Savings(views=answer["views"], functions=functions, link=link))


def tell_comparison(server: Server, base: str | None, head: str | None, since: str | None, filters: Pairs) -> Told:
    """Returns which functions differ clearly between two releases, or since a moment."""
    sides = make_sides(base, head, since, filters, now=datetime.now(UTC))
    answer = server.get("compare", [*sides, ("only", "significant"), ("limit", str(4 * MAX_FUNCTIONS))])
    return checked(lambda known: _tell_comparison(server.link("compare/", sides), known), answer)


def _tell_comparison(link: str, answer: Json) -> Told:
    base_views, head_views = answer["base"]["views"], answer["head"]["views"]
    lines = [f"{write_views(base_views)} before, {write_views(head_views)} after."]
    delta, interval = answer["overall_delta_ms_per_view"], answer["overall_delta_ci95"]
    if answer["is_too_few"]:
        lines.append("Too few page views to compare: each side needs 20 or more in common.")
    elif delta is not None:
        lines.append(f"All functions together: {write_difference(delta, interval)}, at one mix of pages and devices.")
    rows = answer["functions"]
    slower = [row for row in rows if row["delta_ms_per_view"] > 0][:MAX_FUNCTIONS]
    faster = [row for row in rows if row["delta_ms_per_view"] < 0][:MAX_FUNCTIONS]
    for word, some in (("Slower", slower), ("Faster", faster)):
        lines += [f"- {word}: {name_function(row)} {_say_difference(row)}" for row in some]
    if not rows and not answer["is_too_few"]:
        lines.append("No function changed clearly.")
    figures = models.Comparison(
        base_views=base_views,
        head_views=head_views,
        delta_ms=delta,
        ci95=interval,
        functions=[
            models.Change(
                **read_function(row),
                delta_ms=row["delta_ms_per_view"],
                ci95=row["delta_ci95"],
                why=row["status"],
            )
            for row in (*slower, *faster)
        ],
        link=link,
    )
    return Told(join_lines(lines, link), figures)


def _say_difference(row: Json) -> str:
    said = write_difference(row["delta_ms_per_view"], row["delta_ci95"])
    if row["is_caller"]:
        said += ", in functions that it called"
    return said + (f": {row['status']}" if row["status"] != "changed" else "")


def tell_vitals(server: Server, filters: Pairs) -> Told:
    """Returns what ran until LCP and during interactions."""
    answer = server.get("vitals", [*filters, ("limit", str(MAX_CALLS))])
    return checked(lambda known: _tell_vitals(server.link("vitals/", filters), known), answer)


def _tell_vitals(link: str, answer: Json) -> Told:
    lines, windows = [], []
    for window in answer["windows"]:
        if window["window"] not in WINDOWS or not window["views"]:
            continue
        estimates = window["estimates"] or {}
        mean = write_mean(window["ms_per_view"], estimates.get("ms_per_view_ci95"))
        parts = {part["part"]: part["share"] for part in window["parts"] if part["share"]}
        shares = ", ".join(f"{part} {write_percent(share)}" for part, share in parts.items())
        lines.append(f"Time {WINDOWS[window['window']]}: {mean} in {write_views(window['views'])}. Of it: {shares}.")
        functions = [read_cost(row, row["ms_per_view"]) for row in window["functions"][:MAX_CALLS]]
        for row, cost in zip(window["functions"], functions, strict=False):
            lines.append(f"- {name_function(row)}: {write_mean(cost.ms_per_view, cost.ci95)}")
        windows.append(
            models.Window(
                window=window["window"],
                views=window["views"],
                ms_per_view=window["ms_per_view"],
                parts=parts,
                functions=functions,
            )
        )
    if not windows:
        lines.append(f"None of {write_views(answer['views'])} has a known LCP or interaction.")
    return Told(join_lines(lines, link), models.Vitals(windows=windows, link=link))


def tell_alerts(server: Server) -> Told:
    """Returns what alerts say now."""
    answer = server.get("alerts")
    return checked(lambda known: _tell_alerts(server, known), answer)


def _tell_alerts(server: Server, answer: Json) -> Told:
    link = server.link("alerts/")
    rows = answer["open"]
    lines = [f"{len(rows):,} open." if rows else "No alert is open."]
    for row in rows[:MAX_ALERTS]:
        began = f" since {row['began_at'][:16]}Z" if row["began_at"] else ""
        lines.append(f"- {row['state']}{began}: {quote(row['text'], 400)}")
    if len(rows) > MAX_ALERTS:
        lines.append(f"And {len(rows) - MAX_ALERTS:,} more.")
    lines += [
        f"The alert {quote(rule['name'])} could not be judged: {quote(rule['problem'], 200)}"
        for rule in answer["alerts"]
        if rule["problem"]
    ]
    figures = models.Alerts(
        open=[
            models.Alert(text=row["text"], state=row["state"], began_at=row["began_at"], link=server.url + row["url"])
            for row in rows[:MAX_ALERTS]
        ],
        rules={rule["name"]: rule["state"] or "unknown" for rule in answer["alerts"]},
        link=link,
    )
    return Told(join_lines(lines, link), figures)


def make_profile_link(server: Server, base: str | None, head: str | None, filters: Pairs) -> Told:
    """Returns a signed link to a profile of a slice, or of the difference of two releases. It ends after an hour."""
    params: dict[str, list[str]] = {"format": ["firefox"], "compress": ["gzip"]}
    release = [("base_release", base), ("head_release", head)] if base else [("release", head)]
    for name, value in [*release, *filters]:
        if value:
            params.setdefault(name, []).append(value)
    answer = server.post("links", {"params": params, "expires_in_s": LINK_S})
    return checked(_tell_link, answer)


def _tell_link(answer: Json) -> Told:
    command = f"npx @firefox-devtools/profiler-cli load '{answer['url']}'"
    figures = models.ProfileLink(
        viewer_url=answer["viewer_url"], url=answer["url"], command=command, expires_at=answer["expires_at"]
    )
    lines = [
        f"Open in the Firefox Profiler: {answer['viewer_url']}",
        f"Read it by a command: {command}",
        f"Anyone with the link can read this profile until {answer['expires_at'][:16]}Z.",
    ]
    return Told("\n".join(lines), figures)


def read_function(row: Json) -> dict[str, Any]:  # Any: of a model
    """Returns what identifies a function."""
    return {"id": row["id"], "label": row["label"], "place": place_of(row), "party": row.get("party")}


def _read_change(row: Json) -> models.Change:
    return models.Change(
        **read_function(row),
        page=row["page"],
        delta_ms=row["delta_ms_per_view"],
        ci95=row["ci95"],
        why=row["why"],
    )


def read_cost(row: Json, ms_per_view: float) -> models.Cost:
    """Returns what a function costs, with its interval if there are enough page views."""
    estimates = row.get("estimates") or {}
    return models.Cost(
        **read_function(row),
        ms_per_view=ms_per_view,
        ci95=estimates.get("ms_per_view_ci95"),
        views_share=estimates.get("views_share"),
    )


def _read_page(page: Json) -> models.PageChange:
    return models.PageChange(
        page=page["page"],
        state=page["state"],
        delta_ms=page["delta_ms_per_view"],
        ci95=page["ci95"],
        views=page["views"],
    )


def _link_sides(server: Server, base: str | None, head: str | None, filters: Pairs) -> str:
    if base is None or head is None:
        return server.link("", filters)
    return server.link("compare/", [("base_release", base), ("head_release", head), *filters])


def join_lines(lines: Sequence[str], link: str) -> str:
    """Returns an answer's text."""
    return "\n".join([*lines, f"Details: {link}"])
