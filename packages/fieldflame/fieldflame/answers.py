"""The server's answers as values. Fields that are not known here are ignored; missing ones are told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeVar, cast

from fieldflame.exits import CommandError

State = Literal["slower", "faster", "no_clear_change", "too_few"]
STATES: Final = ("slower", "faster", "no_clear_change", "too_few")
Json = Mapping[str, Any]  # Any: JSON, checked here
Value = TypeVar("Value")


@dataclass(frozen=True)
class Change:
    """The change of a page, or of all pages together (`page` is None). Figures are None with too few page views."""

    page: str | None
    state: State
    delta_ms: float | None
    ci95: tuple[float, float] | None
    is_confirmed: bool
    views: tuple[int, int]


@dataclass(frozen=True)
class Original:
    """Where a function is defined in the source. Line and column are 1-based."""

    source: str
    line: int
    column: int


@dataclass(frozen=True)
class Culprit:
    """A function that changed in the direction of the verdict."""

    id: str
    label: str
    delta_ms: float
    ci95: tuple[float, float] | None
    why: str
    original: Original | None
    uri: str | None
    line: int | None
    column: int | None


@dataclass(frozen=True)
class Commits:
    """The commits after `first`, up to `last`."""

    first: str | None
    last: str
    link: str | None
    release_link: str | None
    author: str | None


@dataclass(frozen=True)
class PassedOver:
    """A newer release than the base, which was rolled back. The time is when that was known."""

    release: str
    rolled_back_by: datetime


@dataclass(frozen=True)
class Verdict:
    """What the server says about two releases. Parts of the sentence are pairs of text and role."""

    base: str | None
    head: str | None
    leading: Change
    is_early: bool
    is_confirmed: bool
    sentence: tuple[tuple[str, str], ...]
    culprits: tuple[Culprit, ...]
    pages: tuple[Change, ...]
    whole: Change | None
    page_count: int
    bound: float
    looks: int | None
    least_views: int
    smallest: float | None  # the smallest visible change, relative to the mean of both sides
    smallest_ms: float | None
    views_for_five_percent: int | None
    commits: Commits | None
    answer: Mapping[str, Any] = field(repr=False)  # Any: JSON, as it came
    passed_over: tuple[PassedOver, ...] = ()
    rolled_back_by: datetime | None = None  # of the head

    @property
    def text(self) -> str:
        """The sentence."""
        return "".join(text for text, _ in self.sentence)


def read_verdict(answer: Json) -> Verdict:
    """Returns a verdict. Raises `CommandError` for any other answer."""
    return checked(_read_verdict, answer)


def read_views(answer: Json) -> dict[str, int]:
    """Returns the page views of each release in an answer of `overview?by=release`. Raises `CommandError`."""
    return checked(lambda known: {_text(row["release"]): int(row["views"]) for row in known["rows"]}, answer)


def read_names(answer: Json) -> list[str]:
    """Returns the releases of an answer of `releases`, the newest first. Raises `CommandError`."""
    return checked(lambda known: [_text(row["release"]) for row in known["releases"]], answer)


def read_rollback(answer: Json) -> tuple[str, bool]:
    """Returns the server's time, and whether it knows an announced release as rolled back since then or before.

    The build's clock may be ahead, and what is to come does not count yet. Raises `CommandError`.
    """
    return checked(_read_rollback, answer)


def checked(read: Callable[[Json], Value], answer: Json) -> Value:
    try:
        return read(answer)
    except KeyError as error:
        raise CommandError(f"The server's answer has no {error}: it is older than this command. Update it.") from None
    except (TypeError, ValueError, AttributeError):
        raise CommandError("The server's answer cannot be read: update this command, or the server.") from None


def _read_verdict(answer: Json) -> Verdict:
    smallest = answer["smallest_visible_change"]
    whole = answer["all_pages"]
    return Verdict(
        base=_maybe_text(answer["base"]),
        head=_maybe_text(answer["head"]),
        leading=_read_change(answer, _maybe_text(answer["page"])),
        is_early=bool(answer["is_early"]),
        is_confirmed=bool(answer["is_confirmed"]),
        sentence=tuple((_text(part["text"]), _text(part["role"])) for part in answer["sentence_parts"]),
        culprits=tuple(_read_culprit(culprit) for culprit in answer["culprits"]),
        pages=tuple(_read_change(page, _text(page["page"])) for page in answer["pages"]),
        whole=None if whole is None else _read_change(whole, None),
        page_count=int(answer["page_count"]),
        bound=float(answer["bound"]),
        looks=None if answer["looks"] is None else int(answer["looks"]),
        least_views=int(answer["least_views"]),
        smallest=None if smallest is None else float(smallest["relative"]),
        smallest_ms=None if smallest is None else float(smallest["delta_ms_per_view"]),
        views_for_five_percent=None if smallest is None else int(smallest["views_for_five_percent"]),
        commits=None if answer["commits"] is None else _read_commits(answer["commits"]),
        answer=answer,
        passed_over=tuple(_read_passed_over(release) for release in answer["passed_over"]),
        rolled_back_by=None if answer["rolled_back_by"] is None else _read_time(answer["rolled_back_by"]),
    )


def _read_passed_over(release: Json) -> PassedOver:
    return PassedOver(_text(release["release"]), _read_time(release["rolled_back_by"]))


def _read_time(value: Any) -> datetime:  # Any: JSON
    return datetime.fromisoformat(_text(value)).astimezone(UTC)


def _read_rollback(answer: Json) -> tuple[str, bool]:
    now, at = _text(answer["announced_at"]), _maybe_text(answer["rolled_back_at"])
    is_known = at is not None and datetime.fromisoformat(at) <= datetime.fromisoformat(now)
    return now, is_known


def _read_change(change: Json, page: str | None) -> Change:
    state = _text(change["state"])
    if state not in STATES:
        raise ValueError(state)
    base, head = change["views"]
    return Change(
        page=page,
        state=cast("State", state),
        delta_ms=None if change["delta_ms_per_view"] is None else float(change["delta_ms_per_view"]),
        ci95=_read_interval(change["ci95"]),
        is_confirmed=bool(change["is_confirmed"]),
        views=(int(base), int(head)),
    )


def _read_culprit(culprit: Json) -> Culprit:
    original = culprit["original"]
    return Culprit(
        id=_text(culprit["id"]),
        label=_text(culprit["label"]),
        delta_ms=float(culprit["delta_ms_per_view"]),
        ci95=_read_interval(culprit["ci95"]),
        why=_text(culprit["why"]),
        original=None
        if original is None
        else Original(_text(original["source"]), int(original["line"]), int(original["column"])),
        uri=_maybe_text(culprit["uri"]),
        line=None if culprit["line"] is None else int(culprit["line"]),
        column=None if culprit["column"] is None else int(culprit["column"]),
    )


def _read_commits(commits: Json) -> Commits:
    return Commits(
        first=_maybe_text(commits["from"]),
        last=_text(commits["to"]),
        link=_maybe_link(commits["link"]),
        release_link=_maybe_link(commits["release_link"]),
        author=_maybe_text(commits["author"]),
    )


def _read_interval(pair: Any) -> tuple[float, float] | None:  # Any: JSON
    if pair is None:
        return None
    low, high = pair
    return float(low), float(high)


def _text(value: Any) -> str:  # Any: JSON
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _maybe_text(value: Any) -> str | None:  # Any: JSON
    return None if value is None else _text(value)


def _maybe_link(value: Any) -> str | None:  # Any: JSON
    """Returns a link that may be printed and clicked: http or https."""
    text = _maybe_text(value)
    return text if text is not None and text.startswith(("http://", "https://")) else None
