"""One function: what it costs, who calls it, what it calls, how it was in other releases, and its source."""

from collections.abc import Sequence
from typing import Final

from fieldflame.answers import checked
from fieldflame.clean import clean
from fieldflame.mcp import models
from fieldflame.mcp.tools import (
    MAX_CALLS,
    Told,
    join_lines,
    read_cost,
    read_function,
)
from fieldflame.mcp.words import Json, name_function, quote, write_mean, write_views
from fieldflame.numbers import write_ms, write_percent
from fieldflame.server import Pairs, Server

MAX_FITTING: Final = 5
MAX_RELEASES: Final = 6
MAX_LINES: Final = 12
MAX_CODE_CHARS: Final = 1_200


def tell_function(server: Server, name: str, filters: Pairs) -> Told:
    """Returns all about the function that a name, or `file:line:column`, fits best."""
    params = [("q", name), ("measure", "self+hidden"), ("limit", "100"), *filters]
    answer = server.get("functions", params)
    return checked(lambda known: _tell_function(server, name, known, filters), answer)


def _tell_function(server: Server, name: str, answer: Json, filters: Pairs) -> Told:
    rows = answer["functions"]
    if not rows:
        link = server.link("", filters)
        lines = [f"No function fits {quote(name)} in {write_views(answer['views'])}."]
        return Told(
            join_lines(lines, link), models.FunctionCost(views=answer["views"], function=None, others=[], link=link)
        )
    # Those with exactly this name first; the server has those with the most time first.
    found, *others = sorted(rows, key=lambda row: name not in (row["label"], row["name"]))
    others = others[:MAX_FITTING]
    path = f"functions/{found['id']}/"
    callers = _read_calls(server.get(path + "callers", filters)["callers"])
    callees = _read_calls(server.get(path + "callees", filters)["callees"])
    releases = _read_releases(server.get(path + "breakdown", [("by", "release"), *filters])["breakdown"])
    link = server.link(path, filters)
    own_ms = found["self_ms"] + found["hidden_ms"]
    figures = models.FunctionCost(
        views=answer["views"],
        function=read_cost(found, own_ms / max(answer["views"], 1)),
        others=[models.Function(**read_function(row)) for row in others],
        callers=callers,
        callees=callees,
        releases=releases,
        link=link,
    )
    lines = [*_describe_cost(found, figures), *_describe_source(server, found, filters)]
    return Told(join_lines(lines, link), figures)


def _describe_cost(found: Json, figures: models.FunctionCost) -> list[str]:
    cost = figures.function
    assert cost is not None
    lines = [f"{name_function(found)}: {write_mean(cost.ms_per_view, cost.ci95)}, of {write_views(figures.views)}."]
    if cost.views_share is not None:
        lines.append(f"It ran in {write_percent(cost.views_share)} of page views.")
    if found["hidden_ms"] and figures.views:
        lines.append(f"Of that, {write_ms(found['hidden_ms'] / figures.views)} is hidden time attributed to it.")
    if cost.ci95 is not None:
        lines.append(f"Without it a page view saves at least {write_ms(cost.ci95[0])}.")
    else:
        lines.append("There are too few page views for an interval: 25 are needed.")
    for word, calls in (("Called by", figures.callers), ("Calls", figures.callees)):
        if calls:
            named = (f"{quote(call.label)} {write_percent(call.share)}" for call in calls)
            lines.append(f"{word}: {', '.join(named)} of its time.")
    if len(figures.releases) > 1:
        each = (f"{quote(row.release)} {write_ms(row.ms_per_view)}" for row in figures.releases)
        lines.append(f"By release, without regard to the mix of pages: {', '.join(each)}.")
    if figures.others:
        lines.append(f"Other functions that fit: {', '.join(quote(row.label) for row in figures.others)}.")
    return lines


def _describe_source(server: Server, found: Json, filters: Pairs) -> list[str]:
    releases = [(name, value) for name, value in filters if name == "release"]
    answer = server.get(f"functions/{found['id']}/source", releases[:1])
    owners = [f"Owners: {', '.join(map(quote, answer['owners']))}."] if answer.get("owners") else []
    if answer["source"] is None:
        return owners
    source = answer["source"]
    shown = [line for line in source["lines"] if line["number"] >= source["line"]][:MAX_LINES]
    code = "\n".join(f"{line['number']:>5} {clean(line['text'].expandtabs(2))}" for line in shown)[:MAX_CODE_CHARS]
    return [
        *owners,
        f"Source, {quote(source['path'])} (it is defined in its first line):",
        "~~~",
        code.replace("~~~", "~ ~"),
        "~~~",
    ]


def _read_calls(rows: Sequence[Json]) -> list[models.Caller]:
    total = sum(row["self_ms"] for row in rows) or 1.0
    known = [row for row in rows if row["function"] is not None]
    return [models.Caller(**read_function(row["function"]), share=row["self_ms"] / total) for row in known[:MAX_CALLS]]


def _read_releases(rows: Sequence[Json]) -> list[models.Release]:
    return [
        models.Release(
            release=row["value"],
            views=row["views"],
            ms_per_view=(row["self_ms"] + row["hidden_ms"]) / row["views"] if row["views"] else 0.0,
        )
        for row in rows[:MAX_RELEASES]
    ]
