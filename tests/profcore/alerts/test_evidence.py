"""What one look says of pages and functions: an incident is told once."""

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from profcore.alerts.evidence import SubjectName, Weighed, weigh_judgement
from profcore.alerts.states import Evidence
from profcore.stats.verdict.judgement import Judgement
from tests.profcore.stats.verdict.judging import draw, judge_pages

NAMES: Final = {3: "parse", 5: "draw"}
Judged = list[tuple[SubjectName, Evidence]]


def judge_slower_function(factor: float = 1.5) -> Judgement:
    """Returns the judgement on two pages, on one of which a function takes longer."""
    rng = np.random.default_rng(1)
    slower, same = (draw(rng), draw(rng)), (draw(rng), draw(rng))
    slower[1][:, 3] *= factor
    return judge_pages({"/a": slower, "/b": same}, followed=[3, 5])


def weigh(
    judgement: Judgement,
    *,
    known: Collection[str] = (),
    told: Collection[SubjectName] = (),
    deaf: bool = False,
    names: Mapping[int, str] = NAMES,
) -> Judged:
    judged: Judged = []

    def keep(weighed: Weighed) -> bool:
        judged.append((weighed.subject, weighed.evidence))
        return not deaf and weighed.evidence in (Evidence.BAD, Evidence.CERTAIN)

    weigh_judgement(judgement, names, dict.fromkeys(known, "/a"), told, keep)
    return judged


def test_a_page_is_not_judged_while_its_function_is_told() -> None:
    judgement = judge_slower_function(12.0)
    assert (judgement.leading.page, judgement.leading.state) == ("/a", "slower")
    assert weigh(judgement) == [((None, "parse"), Evidence.CERTAIN), (("/b", ""), Evidence.QUIET)]
    assert [subject for subject, _ in weigh(judgement, deaf=True)] == [
        (None, "parse"),
        ("/a", ""),
        ("/b", ""),
        (None, ""),
    ]


def test_a_function_is_not_judged_while_its_page_is_told() -> None:
    judged = weigh(judge_slower_function(12.0), told=[("/a", "")])
    assert judged == [(("/a", ""), Evidence.CERTAIN), (("/b", ""), Evidence.QUIET)]


def test_a_function_with_a_state_is_judged_at_each_look() -> None:
    judgement = judge_slower_function()
    assert ((None, "draw"), Evidence.QUIET) in weigh(judgement, known=["draw"])
    assert ((None, "gone"), Evidence.QUIET) in weigh(judgement, known=["gone"])  # it is not asked about any more
    assert "draw" not in [name for (_, name), _ in weigh(judgement)]


def test_all_pages_together_are_judged_while_nothing_else_is_told() -> None:
    judgement = judge_slower_function(1.0)
    assert ((None, ""), Evidence.QUIET) in weigh(judgement)
    assert (None, "") not in [subject for subject, _ in weigh(judgement, told=[("/b", "")])]


def test_a_followed_function_without_a_name_is_left_out() -> None:
    judgement = judge_slower_function()
    judged = weigh(judgement, known=["parse"], names={3: "parse"})
    assert [subject for subject, _ in judged if subject[1]] == [(None, "parse")]
