"""A verdict in one sentence: in parts, of which a page makes links and colours, or as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aggregate.selectors.slice.sides import are_releases, may_share_devices
from aggregate.selectors.verdict.verdict import Culprit, Verdict
from profcore.numbers import write_change, write_interval, write_ms, write_share
from profcore.stats.comparison import Difference
from profcore.stats.verdict.judgement import MAINLY, Change

# With this part of a change a function is named in the sentence; with `MAINLY` it is mainly what changed the page.
PARTLY: Final = 0.1
MAX_LABEL: Final = 120  # of a function: a sentence must stay one


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a sentence. `role` is "" for plain words, `name` for a release, page or function, `figure`, or `key`.

    `key` is the word that says which way, `is_strong` what a reader in a hurry should see.
    """

    text: str
    role: str = ""
    is_strong: bool = False


def write_sentence(verdict: Verdict, base: str, head: str) -> list[Segment]:
    """Returns the verdict in one sentence, with names of both sides; then that on all pages, if it led with one.

    The last one says which SDK recorded more of one side than of the other.
    """
    return [*_write_answer(verdict, base, head), *_write_sdks(verdict, base, head)]


def _write_answer(verdict: Verdict, base: str, head: str) -> list[Segment]:
    leading = verdict.leading
    difference = leading.difference
    if verdict.leading_function is not None:
        return _write_function(verdict, verdict.leading_function, base, head)
    if leading.state == "too_few" or difference is None:
        return _write_nothing(leading, base, head)
    if not leading.is_clear:
        return [*_write_unclear(leading, difference, base, head), *_write_moved(verdict)]
    # A release makes a page slower. A device or a span of time does not: it is slower than another. Nor does a release
    # whose visitors got another script of a third party.
    outside = _find_outside(verdict, difference)
    of_releases = are_releases(verdict.base, verdict.head) and outside is None
    name = Segment(head, "name")
    if leading.page is None:
        segments = [name, Segment(" is "), _key(leading.state), Segment(" than "), Segment(base, "name")]
    elif of_releases:
        page = Segment(leading.page, "name", is_strong=True)
        segments = [name, Segment(" made "), page, Segment(" "), _key(leading.state)]
    else:
        page = Segment(leading.page, "name", is_strong=True)
        than = [Segment(" than "), Segment(base, "name"), Segment(" on "), page]
        segments = [name, Segment(" is "), _key(leading.state), *than]
    segments += [Segment(": "), *_write_figure(difference)]
    segments += _write_culprit(verdict, difference)
    segments += [Segment("."), *(_write_outside(outside) if outside else ())]
    if leading.alike is not None:
        segments.append(
            Segment(
                f" All of its functions take {write_share(leading.alike)} longer alike: devices, browsers or visitors "
                "may differ, not one function."
            )
        )
    whole = verdict.judgement.whole
    return segments if leading is whole else [*segments, Segment(" " + _write_whole(whole, verdict.judgement.pages))]


def _write_function(verdict: Verdict, culprit: Culprit, base: str, head: str) -> list[Segment]:
    """Returns what one function did to a page whose time as a whole did not clearly change."""
    change, difference, leading = culprit.change, culprit.difference, verdict.leading
    label = Segment(culprit.func.label[:MAX_LABEL], "name", is_strong=True)
    where = [Segment(" on "), Segment(change.page, "name")] if change.page else []
    head_name = Segment(head, "name")
    of_releases = are_releases(verdict.base, verdict.head)
    is_outside = of_releases and culprit.from_outside
    if is_outside or not of_releases:
        segments = [label, Segment(" takes "), Segment("longer", "key", is_strong=True), *where]
        segments += [Segment(" with "), head_name, Segment(" than with "), Segment(base, "name")]
    elif culprit.why == "new":
        segments = [head_name, Segment(" added "), label, *where]
    else:
        segments = [head_name, Segment(" made "), label, Segment(" "), _key("slower"), *where]
    segments += [Segment(": "), *_write_figure(difference), Segment(f", {write_share(change.share)} of the page")]
    more_pages, more = len(change.pages) - 1, len(verdict.incidents) - 1
    if more_pages:
        segments.append(Segment(f", and on {more_pages:,} other page{'s' if more_pages > 1 else ''}"))
    if more:
        segments.append(Segment(f", and {more:,} more function{'s' if more > 1 else ''}"))
    segments += [Segment("."), *(_write_outside(culprit) if is_outside else ())]
    whole = leading.difference
    if leading.state != "no_clear_change" or whole is None:
        return segments
    if leading.is_early:
        return [
            *segments,
            Segment(" The page as a whole: "),
            *_write_figure(whole),
            Segment(", too early to be certain."),
        ]
    text = (
        f" The page as a whole: no clear change ({write_interval(whole.ci95.low, whole.ci95.high)})."
        if whole.ci95
        else ""
    )
    return [*segments, Segment(text or " The page as a whole: no clear change.")]


def _write_sdks(verdict: Verdict, base: str, head: str) -> list[Segment]:
    if not verdict.sdks:
        return []
    most = max(verdict.sdks, key=lambda share: share.head - share.base)
    segments = [Segment(f" {most.sdk} recorded {write_share(most.base)} of the page views of "), Segment(base, "name")]
    segments += [Segment(f" and {write_share(most.head)} of those of "), Segment(head, "name")]
    if may_share_devices(verdict.base, verdict.head):
        return [*segments, Segment(": only views of one SDK are compared with each other.")]
    return [*segments, Segment(": SDKs miss different parts of a view, so times may differ by that alone.")]


def _write_moved(verdict: Verdict) -> list[Segment]:
    """Returns from which function to which other one time moved, if that is all that changed."""
    if not verdict.moved:
        return []
    (to, before), *_ = verdict.moved
    change = to.change
    return [
        Segment(" Time moved from "),
        Segment(before.label[:MAX_LABEL], "name"),
        Segment(" to "),
        Segment(to.func.label[:MAX_LABEL], "name"),
        Segment(" on "),
        Segment(change.page, "name"),
        Segment(f" ({write_change(change.fell[0][1])} and {write_change(to.difference.delta_ms)} per view)", "figure"),
        Segment("."),
    ]


def _write_figure(difference: Difference) -> list[Segment]:
    return [
        Segment(write_change(difference.delta_ms), "figure", is_strong=True),
        Segment(" per view"),
        Segment(f" ({_write_interval(difference)})", "figure"),
    ]


def _write_culprit(verdict: Verdict, difference: Difference) -> list[Segment]:
    """Returns what the first culprit did, if it is worth saying: half of the change is mainly its, a tenth partly."""
    if not verdict.culprits:
        return []
    first = verdict.culprits[0]
    part = first.difference.delta_ms / difference.delta_ms
    word = "mainly" if part >= MAINLY else "partly" if part >= PARTLY else ""
    return [Segment(f", {word} "), Segment(first.func.label[:MAX_LABEL], "name")] if word else []


def _find_outside(verdict: Verdict, difference: Difference) -> Culprit | None:
    """Returns the function that mainly made a page slower, if it comes from outside of the release."""
    mainly = (row for row in verdict.culprits[:1] if row.difference.delta_ms >= MAINLY * difference.delta_ms > 0)
    first = next(mainly, None)
    return first if first and first.from_outside and are_releases(verdict.base, verdict.head) else None


def _write_outside(culprit: Culprit) -> list[Segment]:
    return [
        Segment(" It comes from "),
        Segment((culprit.party or "")[:MAX_LABEL], "name"),
        Segment(", and none of your own functions changed with it: likely not by this release."),
    ]


def _key(state: str) -> Segment:
    return Segment(state, "key", is_strong=True)


def _write_nothing(leading: Change, base: str, head: str) -> list[Segment]:
    base_name, head_name = Segment(base, "name"), Segment(head, "name")
    if leading.state == "too_few":
        return [Segment("Too few page views to compare "), head_name, Segment(" with "), base_name, Segment(".")]
    return [Segment("Neither "), base_name, Segment(" nor "), head_name, Segment(" has any script time.")]


def _write_unclear(leading: Change, difference: Difference, base: str, head: str) -> list[Segment]:
    base_name, head_name = Segment(base, "name"), Segment(head, "name")
    if leading.is_early:
        way = "slower" if difference.delta_ms > 0 else "faster"
        return [
            head_name,
            Segment(f" seems {way} than "),
            base_name,
            Segment(": "),
            Segment(write_change(difference.delta_ms), "figure", is_strong=True),
            Segment(" per view"),
            Segment(f" ({_write_interval(difference)})", "figure"),
            Segment(". It is too early to be certain."),
        ]
    if leading.is_only_in_mean:
        way = "slower" if difference.delta_ms > 0 else "faster"
        figure = Segment(f"{write_ms(abs(difference.delta_ms))}", "figure", is_strong=True)
        least, most = (
            sorted(abs(bound) for bound in (difference.ci95.low, difference.ci95.high))
            if difference.ci95
            else (0.0, 0.0)
        )
        return [
            head_name,
            Segment(f" is {way} than "),
            base_name,
            Segment(" by "),
            figure,
            Segment(" per view "),
            Segment(f"({write_interval(least, most)})", "figure"),
            Segment(" on average, but fewer than half of the views clearly changed."),
        ]
    return [
        Segment("No clear change from "),
        base_name,
        Segment(" to "),
        head_name,
        Segment(": "),
        Segment(write_change(difference.delta_ms), "figure"),
        Segment(" per view"),
        Segment(f" ({_write_interval(difference)})", "figure"),
        Segment("."),
    ]


def _write_whole(whole: Change, pages: Sequence[Change]) -> str:
    """Returns what all pages together say, after the count of the pages that changed if it is more than one.

    What some gain, others may lose: "no clear change" alone would hide it.
    """
    slower, faster = (sum(page.shown_state == state for page in pages) for state in ("slower", "faster"))
    counts = [f"{count} {state}" for count, state in ((slower, "slower"), (faster, "faster")) if count]
    together = "All pages together"
    if slower + faster > 1:
        together = f"{' and '.join(counts)} of {len(pages)} pages; all together"
    difference = whole.difference
    if whole.state == "too_few":
        return f"{together}: too few page views to compare."
    if difference is None or not whole.is_clear:
        return f"{together}: no clear change."
    return f"{together}: {write_change(difference.delta_ms)} per view ({_write_interval(difference)})."


def _write_interval(difference: Difference) -> str:
    return write_interval(difference.ci95.low, difference.ci95.high) if difference.ci95 else "no interval"


def plain_text(segments: Sequence[Segment]) -> str:
    """Returns a sentence as text."""
    return "".join(segment.text for segment in segments)
