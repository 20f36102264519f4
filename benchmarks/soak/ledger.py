"""The ledger: every post of a soak, what was answered, and the sums that the accepted ones must give."""

import random
import threading
import time
from array import array
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid4, uuid5

from benchmarks.soak.traces import Func, Group, SoakTrace
from profcore.sums.fold import FUNC_SUM_NAMES
from profcore.trace.weights import TIME_PART_NAMES

OPEN_VIEWS: Final = 1_000  # a view's next trace comes after so many others: some seconds later
OLD_VIEWS: Final = 50  # in so many views, one began earlier today, one three days ago, and one five days ago
HOUR_MS: Final = 3_600_000.0
UNSENT, ACCEPTED, REFUSED, UNKNOWN = range(4)


@dataclass(slots=True)
class ExpectedGroup:
    """The exact sums of a group, as `SoakTrace` has them; `funcs` also has the number of a func's views, at its end."""

    traces: int = 0
    views: int = 0
    parts: list[int] = field(default_factory=lambda: [0] * len(TIME_PART_NAMES))
    funcs: dict[Func, list[int]] = field(default_factory=dict)


@dataclass(slots=True)
class OpenView:
    """A view that goes on to send."""

    number: int
    traces: Sequence[int]
    sent: int = 0


class Ledger:
    """Deals out posts, and keeps what became of each. `visits` are lists of traces, by their index: a view's each.

    A post is a number. Its view, its place in it and its trace follow from what was noted when it was dealt out.
    """

    def __init__(self, traces: Sequence[SoakTrace], visits: Sequence[Sequence[int]], *, seed: int) -> None:
        self.traces = traces
        self.states = bytearray()
        self._visits = visits
        self._space = uuid4()
        self._draw = random.Random(seed)  # noqa: S311  # not for secrets
        self._lock = threading.Lock()
        self._open: deque[OpenView] = deque()
        self._starts_ms = array("d")  # of views
        self._views, self._seqs, self._traces = array("L"), array("H"), array("L")  # of posts
        self._began_ms = time.time() * 1000

    def deal(self) -> int:
        """Returns the number of a new post."""
        with self._lock:
            if len(self._open) < OPEN_VIEWS:
                view = self._start_view()
            else:
                view = self._open.popleft()
                if view.sent == len(view.traces):
                    view = self._start_view()
            self._views.append(view.number)
            self._seqs.append(view.sent)
            self._traces.append(view.traces[view.sent])
            self.states.append(UNSENT)
            view.sent += 1
            self._open.append(view)
            return len(self.states) - 1

    def _start_view(self) -> OpenView:
        number = len(self._starts_ms)
        now_ms = time.time() * 1000
        # The hour moves on each minute: there are always new hours to roll up and to merge.
        hour = int((now_ms - self._began_ms) / 60_000) % 20
        hours_ago = {0: 2 + hour, 1: 72 + hour, 2: 120 + hour}.get(number % OLD_VIEWS, 0)
        self._starts_ms.append(now_ms - hours_ago * HOUR_MS)
        return OpenView(number, self._visits[self._draw.randrange(len(self._visits))])

    def body_of(self, post: int) -> bytes:
        """Returns the bytes of a post."""
        view = self._views[post]
        return self.traces[self._traces[post]].make_body(self.view_id(view), self._seqs[post], self._starts_ms[view])

    def view_id(self, view: int) -> UUID:
        return uuid5(self._space, str(view))

    def list_in_state(self, state: int) -> list[int]:
        """Returns the posts in a state."""
        return [post for post, current in enumerate(self.states) if current == state]

    def count(self, state: int) -> int:
        """Returns the number of posts in a state."""
        return self.states.count(state)

    def expect(self) -> dict[Group, ExpectedGroup]:
        """Returns the sums of all accepted posts, by group."""
        of_views: dict[int, list[int]] = {}
        for post in self.list_in_state(ACCEPTED):
            of_views.setdefault(self._views[post], []).append(self._traces[post])
        kinds = Counter(tuple(sorted(traces)) for traces in of_views.values())
        groups: dict[Group, ExpectedGroup] = {}
        for kind, views in kinds.items():
            self._add_views(groups, kind, views)
        return groups

    def _add_views(self, groups: dict[Group, ExpectedGroup], kind: Sequence[int], views: int) -> None:
        group = groups.setdefault(self.traces[kind[0]].group, ExpectedGroup())
        group.traces += views * len(kind)
        group.views += views
        ran: set[Func] = set()
        for number in kind:
            trace = self.traces[number]
            for place, value in enumerate(trace.parts):
                group.parts[place] += views * value
            for func, values in trace.funcs.items():
                sums = group.funcs.setdefault(func, [0] * (len(FUNC_SUM_NAMES) + 1))
                for place, value in enumerate(values):
                    sums[place] += views * value
                if values[TOTAL_SAMPLES]:
                    ran.add(func)
        for func in ran:
            group.funcs[func][-1] += views


TOTAL_SAMPLES: Final = FUNC_SUM_NAMES.index("total_samples")
