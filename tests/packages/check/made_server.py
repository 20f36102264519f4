"""A made-up Fieldflame that answers as its read API does, and a clock that nobody has to wait for."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from fieldflame.main import main
from fieldflame.waiting import Clock

TOKEN: Final = "ff_SECRET0123456789"
URL: Final = "https://profiles.example"
HOSTILE: Final = (
    "::error::x\n##[warning]y|`@anna ![a](https://evil.example)<img src=x>\u202e\x1b[31m[b](https://evil.example)"
)
VERDICT: Final[Mapping[str, Any]] = {
    "base": "1.0.0",
    "head": "1.1.0",
    "state": "slower",
    "is_early": False,
    "is_confirmed": False,
    "scope": "page",
    "page": "/report",
    "sentence": "1.1.0 made /report slower: +389 ms per view (122 to 758 ms), mainly findRuleFor.",
    "sentence_parts": [
        {"text": "1.1.0", "role": "name"},
        {"text": " made ", "role": "words"},
        {"text": "/report", "role": "name"},
        {"text": " ", "role": "words"},
        {"text": "slower", "role": "key"},
        {"text": ": ", "role": "words"},
        {"text": "+389 ms", "role": "figure"},
        {"text": " per view", "role": "words"},
        {"text": " (122 to 758 ms)", "role": "figure"},
        {"text": ", mainly ", "role": "words"},
        {"text": "findRuleFor", "role": "name"},
        {"text": ".", "role": "words"},
    ],
    "delta_ms_per_view": 389.2,
    "ci95": [122.0, 758.3],
    "views": [28, 28],
    "bound": 0.05,
    "culprits": [
        {
            "id": "17",
            "name": "Xt",
            "label": "findRuleFor",
            "uri": "https://shop.example/main.js",
            "line": 2,
            "column": 13319,
            "original": {
                "source": "webpack://shop/./src/rules/find rule.ts",
                "line": 41,
                "column": 17,
                "name": "findRuleFor",
                "package": None,
            },
            "delta_ms_per_view": 363.4,
            "ci95": [301.0, 431.8],
            "q": 2e-7,
            "why": "own_time",
        },
        {
            "id": "18",
            "name": "b",
            "label": "b",
            "uri": "https://shop.example/other.js",
            "line": 1,
            "column": 7,
            "original": None,
            "delta_ms_per_view": 20.0,
            "ci95": [10.0, 31.0],
            "q": 0.003,
            "why": "hidden_time",
        },
    ],
    "pages": [
        {
            "page": "/report",
            "state": "slower",
            "delta_ms_per_view": 389.2,
            "ci95": [122.0, 758.3],
            "views": [28, 28],
            "is_confirmed": False,
        },
        {
            "page": "/cart",
            "state": "slower",
            "delta_ms_per_view": 20.5,
            "ci95": [9.0, 31.0],
            "views": [400, 40],
            "is_confirmed": False,
        },
        {
            "page": "/",
            "state": "no_clear_change",
            "delta_ms_per_view": -1.0,
            "ci95": [-9.0, 7.0],
            "views": [400, 40],
            "is_confirmed": False,
        },
        {
            "page": "/rare",
            "state": "too_few",
            "delta_ms_per_view": None,
            "ci95": None,
            "views": [3, 1],
            "is_confirmed": False,
        },
    ],
    "page_count": 6,
    "all_pages": {
        "state": "no_clear_change",
        "delta_ms_per_view": 3.0,
        "ci95": [-5.0, 11.0],
        "views": [831, 109],
        "is_confirmed": False,
    },
    "smallest_visible_change": {"delta_ms_per_view": 210.0, "relative": 0.33, "views_for_five_percent": 1234},
    "looks": 2,
    "least_views": 20,
    "commits": {
        "from": "e83c5163",
        "to": "9fceb02d",
        "link": "https://code.example/compare/e83c5163...9fceb02d",
        "release_link": "https://code.example/pull/7",
        "author": "Anna",
        "released_at": None,
    },
    "passed_over": [],
    "rolled_back_by": None,
}

ALERTS: Final[dict[str, Any]] = {
    "alerts": [
        {
            "id": 0,
            "kind": "release",
            "name": "New releases",
            "is_on": True,
            "counts": {"confirmed": 1},
            "problem": None,
            "question": {},
            "unjudged": None,
        },
        {
            "id": 1,
            "kind": "budget",
            "name": "Script on phones",
            "is_on": True,
            "counts": {"confirmed": 1, "ok": 2},
            "problem": None,
            "question": {},
            "unjudged": None,
        },
        {
            "id": 2,
            "kind": "budget",
            "name": "Ads",
            "is_on": False,
            "counts": {"confirmed": 1},
            "problem": None,
            "question": {},
            "unjudged": None,
        },
    ],
    "open": [
        {
            "alert": {"id": 1, "kind": "budget", "name": "Script on phones"},
            "state": "confirmed",
            "text": "Script on phones: over its limit (412 ms)",
        },
        {"alert": None, "state": "confirmed", "text": "of an alert that was deleted"},
    ],
}


def make_verdict(**changes: Any) -> dict[str, Any]:  # Any: JSON
    """Returns the server's answer, with changes."""
    return {**deepcopy(dict(VERDICT)), **changes}


def unclear(base: int = 400, head: int = 40, *, relative: float = 0.33, **changes: Any) -> dict[str, Any]:  # Any: JSON
    """Returns an answer without a clear change."""
    visible = {"delta_ms_per_view": 21.0, "relative": relative, "views_for_five_percent": 1234}
    sentence = [{"text": "No clear change from 1.0.0 to 1.1.0: +1 ms per view.", "role": "words"}]
    page = {
        "page": "/cart",
        "state": "no_clear_change",
        "delta_ms_per_view": 1.0,
        "ci95": [-5.0, 7.0],
        "views": [base, head],
        "is_confirmed": False,
    }
    alike = {**page, "scope": "all", "page": None, "culprits": [], "pages": [page], "page_count": 1, "all_pages": page}
    return make_verdict(**{**alike, "sentence_parts": sentence, "smallest_visible_change": visible, **changes})


def too_few(base: int = 400, head: int = 7) -> dict[str, Any]:  # Any: JSON
    """Returns an answer of too few page views."""
    page: dict[str, Any] = {
        "page": "/cart",
        "state": "too_few",
        "delta_ms_per_view": None,
        "ci95": None,
        "views": [base, head],
    }
    page["is_confirmed"] = False
    text = "Too few page views to compare 1.1.0 with 1.0.0."
    parts = [{"text": text, "role": "words"}]
    all_null: dict[str, Any] = {
        "state": "too_few",
        "delta_ms_per_view": None,
        "ci95": None,
        "smallest_visible_change": None,
    }
    return unclear(base, head, pages=[page], all_pages=page, sentence_parts=parts, **all_null)


@dataclass
class MadeServer:
    """Answers by the last part of the address; a list is answered one by one, the last one again and again."""

    answers: dict[str, Any] = field(default_factory=dict)  # Any: JSON, a response, or what makes one
    requests: list[httpx.Request] = field(default_factory=list)
    now_s: float = 0.0
    pauses_s: list[float] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answers a request."""
        self.requests.append(request)
        name = request.url.path.rpartition("/")[2]
        answer = self.answers[name]
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

    def sleep(self, seconds: float) -> None:
        """Lets time pass at once."""
        self.pauses_s.append(seconds)
        self.now_s += seconds

    def run(self, *arguments: str, environment: Mapping[str, str] | None = None) -> int:
        """Runs the command against this server."""
        known = {"FIELDFLAME_URL": URL, "FIELDFLAME_TOKEN": TOKEN} if environment is None else environment
        clock = Clock(now=lambda: self.now_s, sleep=self.sleep, draw=lambda: 0.5)
        return main(arguments, environment=known, transport=httpx.MockTransport(self), clock=clock)

    def check(self, *arguments: str) -> int:
        """Runs `check` of the shop's release 1.1.0."""
        return self.run("check", "--project", "shop", "--release", "1.1.0", *arguments)

    def asked(self, name: str) -> list[httpx.QueryParams]:
        """Returns the parameters of all requests for an address."""
        return [request.url.params for request in self.requests if request.url.path.endswith(f"/shop/{name}")]


def views_of(*pairs: tuple[int, int]) -> list[dict[str, Any]]:
    """Returns answers of `overview`, one after the other, with page views of base and head."""
    return [
        {"rows": [{"release": "1.1.0", "views": head}, {"release": "1.0.0", "views": base}]} for base, head in pairs
    ]


def read_json(path: Path) -> Any:  # JSON
    """Returns a file's JSON."""
    return json.loads(path.read_text(encoding="utf-8"))
