"""What the functions of a source file cost, as the server knows it: asked once in some minutes for each file."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fieldflame.answers import Json, checked
from fieldflame.clean import clean
from fieldflame.numbers import write_change, write_interval, write_ms, write_percent
from fieldflame.server import Server

FRESH_S: Final = 300.0
MAX_FILES: Final = 200  # kept of those that were open
MAX_DEFINITIONS: Final = 2_000  # whose lines are kept: about 1 kB each
MAX_FUNCTIONS: Final = 200  # of a file, those with the most time
MAX_CHANGES: Final = 1_000
# The path of a source in a map may begin below the folder that is open, such as `src/` of `web/src/`.
MAX_FOLDERS: Final = 12
LEAST_MS: Final = 0.05  # less rounds to nothing


@dataclass(frozen=True)
class Cost:
    """What one function costs a page view. `line` is 1-based and is that of its definition in the measured release."""

    id: str
    name: str | None
    line: int
    ms_per_view: float
    ci95: tuple[float, float] | None
    views_share: float | None
    p75_ms: float | None
    delta_ms: float | None

    def describe(self, release: str, base: str | None) -> str:
        """Returns the line to show: `14 ms per view (13 to 15 ms) · in 40 % of views · +0.9 ms in 1.1.0`."""
        parts = [f"{write_ms(self.ms_per_view)} per view" + (f" ({write_interval(self.ci95)})" if self.ci95 else "")]
        if self.views_share is not None:
            parts.append(f"in {write_percent(self.views_share)} of views")
        else:
            parts.append("too few views for an interval")
        if self.delta_ms is not None and base is not None:
            parts.append(f"{write_change(self.delta_ms)} in {clean(release)}")
        return " · ".join(parts)


@dataclass(frozen=True)
class FileCosts:
    """The functions of a file in a release, those with the most time first. `base` is the release before it."""

    release: str | None
    base: str | None
    functions: tuple[Cost, ...]


NOTHING: Final = FileCosts(release=None, base=None, functions=())


@dataclass(frozen=True)
class _Releases:
    head: str | None
    base: str | None
    deltas: Mapping[str, float]  # of functions that changed clearly


class Costs:
    """Asks the server, about one release or the newest. One instance is used by one thread at a time."""

    def __init__(
        self, server: Server, *, release: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.server = server
        self._release = release
        self._clock = clock
        self._files: dict[str, tuple[float, FileCosts]] = {}
        self._lines: dict[tuple[str, str], Sequence[str] | None] = {}
        self._releases: tuple[float, _Releases] | None = None

    def find(self, path: str) -> FileCosts:
        """Returns the costs of the functions of a file, by its path below the open folder. Raises `CommandError`."""
        now = self._clock()
        kept = self._files.get(path)
        if kept is not None and now - kept[0] < FRESH_S:
            return kept[1]
        releases = self._find_releases(now)
        costs = NOTHING if releases.head is None else self._ask(path, releases)
        if len(self._files) >= MAX_FILES:
            self._files.pop(next(iter(self._files)))
        self._files[path] = now, costs
        return costs

    def find_line(self, function_id: str, release: str) -> Sequence[str] | None:
        """Returns the measured source around a definition, whose line is in the middle; None if no map has it."""
        key = function_id, release
        if key not in self._lines:
            if len(self._lines) >= MAX_DEFINITIONS:
                self._lines.clear()
            answer = self.server.get(f"functions/{function_id}/source", [("release", release)])
            self._lines[key] = checked(_read_lines, answer)
        return self._lines[key]

    def _ask(self, path: str, releases: _Releases) -> FileCosts:
        assert releases.head is not None
        endings = list_endings(path)
        params = [
            *(("source_path", ending) for ending in endings),
            ("release", releases.head),
            ("measure", "self+hidden"),
            ("display", "none"),
            ("limit", str(MAX_FUNCTIONS)),
        ]
        answer = self.server.get("functions", params)
        functions = checked(lambda known: _read_functions(known, endings, releases.deltas), answer)
        return FileCosts(release=releases.head, base=releases.base, functions=functions)

    def _find_releases(self, now: float) -> _Releases:
        if self._releases is None or now - self._releases[0] >= FRESH_S:
            self._releases = now, self._ask_releases()
        return self._releases[1]

    def _ask_releases(self) -> _Releases:
        if self._release is not None:
            return _Releases(head=self._release, base=None, deltas={})
        verdict = self.server.get("verdict")
        base, head = verdict.get("base"), verdict.get("head")
        if base is None or head is None:
            newest = checked(lambda known: known["releases"][:1], self.server.get("releases"))
            return _Releases(head=newest[0]["release"] if newest else None, base=None, deltas={})
        sides = [("base_release", base), ("head_release", head), ("display", "none")]
        answer = self.server.get("compare", [*sides, ("only", "significant"), ("limit", str(MAX_CHANGES))])
        deltas = checked(lambda known: {row["id"]: row["delta_ms_per_view"] for row in known["functions"]}, answer)
        return _Releases(head=head, base=base, deltas=deltas)


def list_endings(path: str) -> list[str]:
    """Returns the path, and what is left of it without its first folders, the longest first."""
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(min(len(parts), MAX_FOLDERS))]


def _read_functions(answer: Json, endings: Sequence[str], deltas: Mapping[str, float]) -> tuple[Cost, ...]:
    rows = [row for row in answer["functions"] if row["original"] is not None]
    known = {row["original"]["source"] for row in rows}
    source = next((ending for ending in endings if ending in known), None)  # the longest
    views = max(answer["views"], 1)
    costs = []
    for row in rows:
        estimates = row["estimates"] or {}
        ms = estimates.get("ms_per_view")
        ms = (row["self_ms"] + row["hidden_ms"]) / views if ms is None else ms
        if row["original"]["source"] != source or ms < LEAST_MS:
            continue
        interval = estimates.get("ms_per_view_ci95")
        costs.append(
            Cost(
                id=row["id"],
                name=row["original"]["name"],
                line=row["original"]["line"],
                ms_per_view=ms,
                ci95=(interval[0], interval[1]) if interval else None,
                views_share=estimates.get("views_share"),
                p75_ms=estimates.get("p75_ms"),
                delta_ms=deltas.get(row["id"]),
            )
        )
    return tuple(sorted(costs, key=lambda cost: -cost.ms_per_view))


def _read_lines(answer: Json) -> Sequence[str] | None:
    source = answer["source"]
    if source is None:
        return None
    around = {line["number"]: line["text"] for line in source["lines"]}
    middle = source["line"]
    reach = max(middle - min(around), max(around) - middle)
    return [around.get(number, "") for number in range(middle - reach, middle + reach + 1)]
