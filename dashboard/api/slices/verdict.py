"""`verdict`: did the head get slower than the base, on which page, by which functions, and how certain is that."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Self

from msgspec import field as wire
from rest_framework.request import Request

from aggregate.selectors.project.announcements import CommitRange, find_commits
from aggregate.selectors.slice.sides import name_sides
from aggregate.selectors.slice.slices import format_instant
from aggregate.selectors.verdict.sentence import plain_text, write_sentence
from aggregate.selectors.verdict.verdict import Culprit, Verdict
from dashboard.api.core.answer import Answer, Conditional, InstantText, Interval, ViewsOfSides, choices, doc
from dashboard.api.core.parameters import SIDE_PARAMS, SLICE_PARAMS
from dashboard.api.core.parts import ChangedFuncAnswer, SliceAnswer, write_instant
from dashboard.api.core.views import ProjectView
from dashboard.web.access import Guest
from dashboard.web.project_pages import PageTraits
from dashboard.web.verdicts import ChosenSides, answer_verdict, choose_sides, find_rollback, key_of_verdict
from profcore.stats.joining import MIN_COMPARED_VIEWS
from profcore.stats.verdict.incidents import FunctionChange
from profcore.stats.verdict.judgement import STATES, Change
from profcore.trace.dimensions import SDKS

State = Annotated[str, choices(STATES)]
NO_RELEASES: Final = "There are no two releases to compare."


MixChange = Annotated[
    float | None, doc("What a changed mix of pages, devices and navigations adds to the plain difference.")
]
FalseDiscoveries = Annotated[
    float | None, doc("Over all compared pages, all pages together, and the functions that could matter.")
]
Why = Annotated[
    Annotated[str, choices(["page", "function"])] | None,
    doc("`function`: only a function of it is slower. Null without a clear change."),
]
IsConfirmed = Annotated[bool, doc("Slower, and as certain as an alert must be to alarm.")]


class VerdictChangeAnswer(Answer):
    """The change of a page's script time, seen and hidden, or of all compared pages. Nulls with too few views."""

    state: State
    delta_ms_per_view: float | None
    ci95: Interval
    relative: float | None
    mix_ms_per_view: MixChange
    p: float | None
    q: FalseDiscoveries
    is_confirmed: IsConfirmed
    views: ViewsOfSides


class VerdictPageAnswer(Answer):
    """The change of one page; slower pages come first, then faster ones."""

    page: str
    state: State
    why: Why
    delta_ms_per_view: float | None
    ci95: Interval
    relative: float | None
    mix_ms_per_view: MixChange
    p: float | None
    q: FalseDiscoveries
    is_confirmed: IsConfirmed
    views: ViewsOfSides


class CulpritAnswer(ChangedFuncAnswer):
    """A function that changed in the direction of the verdict, on the page where it changed most."""

    page: Annotated[str, doc("Empty if the sides have no page in common.")]
    delta_ms_per_view: float
    ci95: Interval
    q: float
    why: Annotated[
        Annotated[str, choices(["new", "own_time", "hidden_time"])],
        doc("`own_time`: seen on top of stacks for longer; `hidden_time`: inferred."),
    ]
    share: Annotated[float, doc("The change as a part of the page's script and hidden time.")]
    pages: Annotated[Sequence[str], doc("All pages that it made slower, this one first; empty if it is faster.")]
    is_confirmed: IsConfirmed
    party: Annotated[str | None, doc("The third party that serves it; null for own code, and if it is not known.")]
    from_outside: Annotated[
        bool, doc("It is a third party's, and no own function changed with it: likely not by this release.")
    ]

    @classmethod
    def of_culprit(cls, culprit: Culprit) -> Self:
        """Returns a culprit."""
        found, change = culprit.difference, culprit.change
        return cls.of_difference(
            culprit.func,
            found,
            delta_ms_per_view=found.delta_ms,
            why=culprit.why,
            page=change.page,
            share=change.share,
            pages=change.pages,
            is_confirmed=change.is_certain,
            party=culprit.party,
            from_outside=culprit.from_outside,
        )


class SmallestChangeAnswer(Answer):
    """What these views would have shown four times in five, and how many views a change of 5 % takes."""

    delta_ms_per_view: float
    relative: Annotated[float, doc("To the mean of both sides.")]
    views_for_five_percent: Annotated[int, doc("Page views of each side.")]


class CommitsAnswer(Answer):
    """The commits that the head has and the base has not, as announced."""

    from_: Annotated[str | None, doc("The base's commit, which is not one of them.")] = wire(name="from")
    to: Annotated[str, doc("The head's commit, the last of them.")]
    link: Annotated[str | None, doc("Where they are shown.")]
    release_link: Annotated[str | None, doc("Where the head is described.")]
    author: str | None
    released_at: InstantText | None


class SentencePartAnswer(Answer):
    """A part of the sentence. Names come from releases, pages and scripts: anybody may have chosen them."""

    text: str
    role: Annotated[
        Annotated[str, choices(["words", "name", "figure", "key"])],
        doc("`name`: of a release, page or function; `key`: the word slower or faster."),
    ]


class PassedOverAnswer(Answer):
    """A release before the head that is not the base, since it was rolled back."""

    release: str
    rolled_back_by: Annotated[
        InstantText,
        doc("Since when that is said; else when it was known from page views, mostly a day or more later."),
    ]


class SdkShareAnswer(Answer):
    """The shares of page views that an SDK recorded."""

    sdk: Annotated[str, choices(SDKS)]
    base: float
    head: float


class VerdictAnswer(Answer):
    """One answer on two sides. Its figures are those of the page that it leads with, or of all pages together."""

    base: Annotated[str | None, doc("Its release, or in what else the sides differ.")]
    head: str | None
    passed_over: Annotated[
        Sequence[PassedOverAnswer],
        doc("Newer releases than the base that were rolled back, the newest 20; empty if a base was named."),
    ]
    base_slice: SliceAnswer | None
    head_slice: SliceAnswer | None
    state: State
    is_early: Annotated[bool, doc("Whether the change would be clear, if this were the only look at it.")]
    is_confirmed: Annotated[bool, doc("Whether it is confirmed for any page, or for all together.")]
    scope: Annotated[
        Annotated[str, choices(["all", "page", "function"])],
        doc("What the sentence leads with. The figures are of that: of a function, the first of `functions`."),
    ]
    page: str | None
    sentence: str
    sentence_parts: Annotated[
        Sequence[SentencePartAnswer], doc("The same sentence, for those who mark names and figures.")
    ]
    delta_ms_per_view: float | None
    ci95: Interval
    relative: float | None
    q: float | None
    views: ViewsOfSides
    bound: Annotated[float, doc("A change is clear if its q is below this: 0.05, or less at early looks.")]
    culprits: Annotated[Sequence[CulpritAnswer], doc("The functions behind the leading change.")]
    functions: Annotated[
        Sequence[CulpritAnswer], doc("All functions that made a page slower, one for each chain of callers.")
    ]
    tested_functions: Annotated[int, doc("How many functions could matter, and were asked about.")]
    may_be_smaller: Annotated[
        bool, doc("The change is near what these views can show: the true one is likely smaller.")
    ]
    alike: Annotated[
        float | None,
        doc("By which part all functions of the leading page got slower, if none of them stands out."),
    ]
    pages: Sequence[VerdictPageAnswer]
    page_count: Annotated[int, doc("Pages of both sides; those with the most time are compared.")]
    all_pages: Annotated[VerdictChangeAnswer | None, doc("All compared pages together.")]
    smallest_visible_change: SmallestChangeAnswer | None
    sdks: Annotated[
        Sequence[SdkShareAnswer],
        doc("By what SDK both sides of the leading page were recorded; empty if by the same. The sentence says it."),
    ]
    looks: Annotated[int | None, doc("Null if looks are not counted, as of spans of time.")]
    least_views: Annotated[int, doc("Page views that each side needs, on a page that both have.")]
    commits: Annotated[CommitsAnswer | None, doc("Null if the head was not announced with its commit.")]
    rolled_back_by: Annotated[
        InstantText | None, doc("By when it was known that the head was rolled back. Null if it is in use.")
    ]


class VerdictView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = (*SLICE_PARAMS, *SIDE_PARAMS)

    def get(self, request: Request, slug: str) -> Conditional[VerdictAnswer]:
        """Says whether the head is slower than the base: the last release than the one before, or the named sides.

        A release that was rolled back is not taken for the base unless it is named.
        """
        sides = choose_sides(self.resolve_slice(), request.query_params)
        if sides is None:
            return Conditional(("none", self.project.pk), lambda: NO_SIDES)
        base, head = sides.base, sides.head
        key = key_of_verdict(base, head)
        commits = None if isinstance(request.user, Guest) else find_commits(base, head)
        rolled_back_at = find_rollback(head)
        return Conditional(
            (key, commits, sides.passed_over, rolled_back_at),
            lambda: write_verdict(sides, answer_verdict(base, head), commits, rolled_back_at),
        )


NO_SIDES: Final = VerdictAnswer(
    base=None,
    head=None,
    passed_over=(),
    rolled_back_by=None,
    base_slice=None,
    head_slice=None,
    state="too_few",
    is_early=False,
    is_confirmed=False,
    scope="all",
    page=None,
    sentence=NO_RELEASES,
    sentence_parts=(SentencePartAnswer(NO_RELEASES, "words"),),
    delta_ms_per_view=None,
    ci95=None,
    relative=None,
    q=None,
    bound=0.05,
    views=(0, 0),
    culprits=(),
    functions=(),
    tested_functions=0,
    may_be_smaller=False,
    alike=None,
    pages=(),
    page_count=0,
    all_pages=None,
    smallest_visible_change=None,
    sdks=(),
    looks=None,
    least_views=MIN_COMPARED_VIEWS,
    commits=None,
)


def write_verdict(
    sides: ChosenSides, verdict: Verdict, commits: CommitRange | None, rolled_back_at: datetime | None
) -> VerdictAnswer:
    """Returns a verdict with the sentence that says it."""
    judgement, leading, look, smallest = verdict.judgement, verdict.leading, verdict.look, verdict.smallest
    names = name_sides(sides.base, sides.head)
    whole = VerdictChangeAnswer(**_write_change(judgement.whole))
    pages = [
        VerdictPageAnswer(page=change.page or "", why=change.why, **_write_change(change)) for change in judgement.pages
    ]
    functions = [CulpritAnswer.of_culprit(culprit) for culprit in verdict.incidents]
    figures = _write_change(leading, judgement.leading_function)
    sentence = write_sentence(verdict, *names)
    return VerdictAnswer(
        base=names[0],
        head=names[1],
        passed_over=[PassedOverAnswer(row.release, format_instant(row.known_at)) for row in sides.passed_over],
        rolled_back_by=write_instant(rolled_back_at),
        base_slice=SliceAnswer.of(sides.base),
        head_slice=SliceAnswer.of(sides.head),
        is_early=leading.is_early,
        is_confirmed=judgement.is_confirmed,
        scope="function" if judgement.leading_function else "all" if leading.page is None else "page",
        page=leading.page,
        sentence=plain_text(sentence),
        sentence_parts=[SentencePartAnswer(part.text, part.role or "words") for part in sentence],
        **{name: figures[name] for name in ("state", "delta_ms_per_view", "ci95", "relative", "q", "views")},
        bound=judgement.bound,
        culprits=[CulpritAnswer.of_culprit(culprit) for culprit in verdict.culprits],
        functions=functions,
        tested_functions=judgement.function_count,
        may_be_smaller=judgement.may_be_smaller,
        alike=leading.alike,
        pages=pages,
        page_count=verdict.page_count,
        all_pages=whole,
        smallest_visible_change=SmallestChangeAnswer.of(smallest, delta_ms_per_view=smallest.delta_ms)
        if smallest
        else None,
        sdks=[SdkShareAnswer.of(share) for share in verdict.sdks],
        looks=look.number if look else None,
        least_views=MIN_COMPARED_VIEWS,
        commits=_write_commits(commits) if commits else None,
    )


def _write_commits(commits: CommitRange) -> CommitsAnswer:
    head = commits.head
    return CommitsAnswer(
        from_=commits.first,
        to=commits.last,
        link=commits.link,
        release_link=head.link,
        author=head.author,
        released_at=write_instant(head.released_at),
    )


def _write_change(
    change: Change, function: FunctionChange | None = None
) -> dict[str, Any]:  # Any: the fields of two answers
    """Returns the figures of a page's change, or of a function of it."""
    difference = function.difference if function else change.difference
    names = {"delta_ms_per_view": "delta_ms", "mix_ms_per_view": "mix_ms"}
    figures = ("delta_ms_per_view", "ci95", "relative", "mix_ms_per_view", "p", "q")
    return {
        **{name: difference and getattr(difference, names.get(name, name)) for name in figures},
        "state": change.shown_state,
        "is_confirmed": change.state == "slower" and change.is_certain,
        "views": change.views,
    }
