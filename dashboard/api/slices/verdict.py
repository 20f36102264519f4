"""`verdict`: did the head get slower than the base, on which page, by which functions, and how certain is that."""

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from aggregate.selectors.project.announcements import CommitRange, find_commits
from aggregate.selectors.slice.sides import SIDE_FIELDS, name_sides
from aggregate.selectors.slice.slices import SLICE_FIELDS, format_instant
from aggregate.selectors.verdict.sentence import plain_text, write_sentence
from aggregate.selectors.verdict.verdict import Culprit, Verdict
from dashboard.api.core.encoding import (
    OriginalShape,
    RenamedFromShape,
    SliceShape,
    encode_compared,
    encode_slice,
    func_fields,
)
from dashboard.api.core.parameters import ERRORS, SIDE_PARAMS, SLICE_PARAMS
from dashboard.api.core.statistics import encode_interval
from dashboard.api.core.views import ProjectView
from dashboard.web.access import Guest
from dashboard.web.answers import answer_json
from dashboard.web.schemas import Json, Shape, define_shape, interval_field
from dashboard.web.verdicts import ChosenSides, answer_verdict, choose_sides, facts_of_verdict, find_rollback
from profcore.alerts.states import Evidence, weigh_change
from profcore.stats.comparison import MIN_COMPARED_VIEWS
from profcore.stats.power import SmallestChange
from profcore.stats.verdict import STATES, Change


class VerdictChangeShape(Shape):
    """The change of a page's script time, seen and hidden, or of all compared pages. Nulls with too few views."""

    state = serializers.ChoiceField(STATES)
    delta_ms_per_view = serializers.FloatField(allow_null=True)
    ci95 = interval_field()
    relative = serializers.FloatField(allow_null=True)
    mix_ms_per_view = serializers.FloatField(
        allow_null=True, help_text="What a changed mix of pages, devices and navigations adds to the plain difference."
    )
    p = serializers.FloatField(allow_null=True)
    q = serializers.FloatField(allow_null=True, help_text="Over all compared pages and all pages together.")
    is_confirmed = serializers.BooleanField(help_text="Slower, and as certain as an alert must be to alarm.")
    views = serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2)


class VerdictPageShape(VerdictChangeShape):
    """The change of one page; slower pages come first, then faster ones."""

    page = serializers.CharField()


CulpritShape = define_shape(
    "CulpritShape",
    "A function that changed in the direction of the verdict.",
    {
        **func_fields(),
        "original": OriginalShape(allow_null=True),
        "renamed_from": RenamedFromShape(allow_null=True, help_text="What the base calls it, if it was only renamed."),
        "delta_ms_per_view": serializers.FloatField(),
        "ci95": interval_field(),
        "q": serializers.FloatField(),
        "why": serializers.ChoiceField(
            ["new", "own_time", "hidden_time"],
            help_text="`own_time`: seen on top of stacks for longer; `hidden_time`: inferred.",
        ),
    },
)


class SmallestChangeShape(Shape):
    """What these views would have shown four times in five, and how many views a change of 5 % takes."""

    delta_ms_per_view = serializers.FloatField()
    relative = serializers.FloatField(help_text="To the mean of both sides.")
    views_for_five_percent = serializers.IntegerField(help_text="Page views of each side.")


CommitsShape = define_shape(
    "CommitsShape",
    "The commits that the head has and the base has not, as announced.",
    {
        "from": serializers.CharField(allow_null=True, help_text="The base's commit, which is not one of them."),
        "to": serializers.CharField(help_text="The head's commit, the last of them."),
        "link": serializers.CharField(allow_null=True, help_text="Where they are shown."),
        "release_link": serializers.CharField(allow_null=True, help_text="Where the head is described."),
        "author": serializers.CharField(allow_null=True),
        "released_at": serializers.DateTimeField(allow_null=True),
    },
)


class SentencePartShape(Shape):
    """A part of the sentence. Names come from releases, pages and scripts: anybody may have chosen them."""

    text = serializers.CharField(trim_whitespace=False)
    role = serializers.ChoiceField(
        ["words", "name", "figure", "key"],
        help_text="`name`: of a release, page or function; `key`: the word slower or faster.",
    )


class PassedOverShape(Shape):
    """A release before the head that is not the base, since it was rolled back."""

    release = serializers.CharField()
    rolled_back_by = serializers.DateTimeField(
        help_text="Since when somebody says so; else when it was known from page views, mostly a day or more later."
    )


class VerdictShape(Shape):
    """One answer on two sides. Its figures are those of the page that it leads with, or of all pages together."""

    base = serializers.CharField(allow_null=True, help_text="Its release, or in what else the sides differ.")
    head = serializers.CharField(allow_null=True)
    passed_over = PassedOverShape(
        many=True,
        help_text="Newer releases than the base that were rolled back, the newest 20; empty if a base was named.",
    )
    rolled_back_by = serializers.DateTimeField(
        allow_null=True, help_text="By when it was known that the head was rolled back. Null if it is in use."
    )
    base_slice = SliceShape(allow_null=True)
    head_slice = SliceShape(allow_null=True)
    state = serializers.ChoiceField(STATES)
    is_early = serializers.BooleanField(
        help_text="Whether the change would be clear, if this were the only look at it."
    )
    is_confirmed = serializers.BooleanField(help_text="Whether it is confirmed for any page, or for all together.")
    scope = serializers.ChoiceField(["all", "page"])
    page = serializers.CharField(allow_null=True)
    sentence = serializers.CharField()
    sentence_parts = SentencePartShape(many=True, help_text="The same sentence, for those who mark names and figures.")
    delta_ms_per_view = serializers.FloatField(allow_null=True)
    ci95 = interval_field()
    relative = serializers.FloatField(allow_null=True)
    q = serializers.FloatField(allow_null=True)
    bound = serializers.FloatField(help_text="A change is clear if its q is below this: 0.05, or less at early looks.")
    views = serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2)
    culprits = CulpritShape(many=True)
    pages = VerdictPageShape(many=True)
    page_count = serializers.IntegerField(help_text="Pages of both sides; those with the most time are compared.")
    all_pages = VerdictChangeShape(allow_null=True, help_text="All compared pages together.")
    smallest_visible_change = SmallestChangeShape(allow_null=True)
    looks = serializers.IntegerField(allow_null=True, help_text="Null if looks are not counted, as of spans of time.")
    least_views = serializers.IntegerField(help_text="Page views that each side needs, on a page that both have.")
    commits = CommitsShape(allow_null=True, help_text="Null if the head was not announced with its commit.")


class VerdictView(ProjectView):
    known_params = (*SLICE_FIELDS, *SIDE_FIELDS)

    @extend_schema(
        operation_id="verdict",
        parameters=[*SLICE_PARAMS, *SIDE_PARAMS],
        responses={
            200: VerdictShape,
            304: OpenApiResponse(description="The answer named by `If-None-Match` has not changed."),
            **ERRORS,
        },
    )
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Says whether the head is slower than the base: the last release than the one before, or the named sides.

        A release that was rolled back is not taken for the base unless it is named.
        """
        sides = choose_sides(self.resolve_slice(), request.query_params)
        if sides is None:
            return answer_json(request._request, facts=("none", self.project.pk), make=lambda: NO_SIDES)
        base, head = sides.base, sides.head
        facts = facts_of_verdict(base, head)
        commits = None if isinstance(request.user, Guest) else find_commits(base, head)
        rolled_back_by = find_rollback(head)
        return answer_json(
            request._request,
            facts=(facts, commits, sides.passed_over, rolled_back_by),
            make=lambda: {
                **encode_verdict(sides, answer_verdict(base, head, facts), commits),
                "rolled_back_by": format_instant(rolled_back_by) if rolled_back_by else None,
            },
        )


NO_SIDES: Json = {
    "base": None,
    "head": None,
    "passed_over": [],
    "rolled_back_by": None,
    "base_slice": None,
    "head_slice": None,
    "state": "too_few",
    "is_early": False,
    "is_confirmed": False,
    "scope": "all",
    "page": None,
    "sentence": "There are no two releases to compare.",
    "sentence_parts": [{"text": "There are no two releases to compare.", "role": "words"}],
    "delta_ms_per_view": None,
    "ci95": None,
    "relative": None,
    "q": None,
    "bound": 0.05,
    "views": [0, 0],
    "culprits": [],
    "pages": [],
    "page_count": 0,
    "all_pages": None,
    "smallest_visible_change": None,
    "looks": None,
    "least_views": MIN_COMPARED_VIEWS,
    "commits": None,
}


def encode_verdict(sides: ChosenSides, verdict: Verdict, commits: CommitRange | None) -> Json:
    base, head = sides.base, sides.head
    judgement, leading = verdict.judgement, verdict.leading
    names = name_sides(base, head)
    bound = judgement.bound
    figures = _encode_change(leading, bound)
    whole = _encode_change(judgement.whole, bound)
    pages = [{"page": each.page, **_encode_change(each, bound)} for each in judgement.pages]
    sentence = write_sentence(verdict, *names)
    return {
        "base": names[0],
        "head": names[1],
        "passed_over": [
            {"release": each.release, "rolled_back_by": format_instant(each.known_at)} for each in sides.passed_over
        ],
        "base_slice": encode_slice(base),
        "head_slice": encode_slice(head),
        "state": leading.state,
        "is_early": leading.is_early,
        "is_confirmed": any(each["is_confirmed"] for each in (whole, *pages)),
        "scope": "all" if leading.page is None else "page",
        "page": leading.page,
        "sentence": plain_text(sentence),
        "sentence_parts": [{"text": part.text, "role": part.role or "words"} for part in sentence],
        **{name: figures[name] for name in ("delta_ms_per_view", "ci95", "relative", "q", "views")},
        "bound": bound,
        "culprits": [_encode_culprit(each) for each in verdict.culprits],
        "pages": pages,
        "page_count": verdict.page_count,
        "all_pages": whole,
        "smallest_visible_change": _encode_smallest(verdict.smallest),
        "looks": verdict.look.number if verdict.look else None,
        "least_views": MIN_COMPARED_VIEWS,
        "commits": _encode_commits(commits),
    }


def _encode_commits(commits: CommitRange | None) -> Json | None:
    if commits is None:
        return None
    head = commits.head
    return {
        "from": commits.first,
        "to": commits.last,
        "link": commits.link,
        "release_link": head.link,
        "author": head.author,
        "released_at": format_instant(head.released_at) if head.released_at else None,
    }


def _encode_change(change: Change, bound: float) -> Json:
    found = change.difference
    return {
        "state": change.state,
        "delta_ms_per_view": found.delta_ms if found else None,
        "ci95": encode_interval(found.ci95 if found else None),
        "relative": found.relative if found else None,
        "mix_ms_per_view": found.mix_ms if found else None,
        "p": found.p if found else None,
        "q": found.q if found else None,
        "is_confirmed": weigh_change(change, bound) is Evidence.CERTAIN,
        "views": list(change.views),
    }


def _encode_culprit(culprit: Culprit) -> Json:
    func, found = culprit.func, culprit.difference
    return {
        **encode_compared(func),
        "delta_ms_per_view": found.delta_ms,
        "ci95": encode_interval(found.ci95),
        "q": found.q,
        "why": culprit.why,
    }


def _encode_smallest(smallest: SmallestChange | None) -> Json | None:
    if smallest is None:
        return None
    return {
        "delta_ms_per_view": smallest.delta_ms,
        "relative": smallest.relative,
        "views_for_five_percent": smallest.views_for_five_percent,
    }
