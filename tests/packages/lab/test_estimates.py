"""The estimate: which functions are the same in lab and field, the factor, new functions, and earlier releases."""

import math
from dataclasses import replace

import pytest
from fieldflame.lab.command import judge
from fieldflame.lab.costs import Compared, FieldCost, FieldTable, FuncName, LabChange
from fieldflame.lab.estimates import ALLOWANCE, estimate, find_scale, is_moved, is_replaced, measure_agreement, total
from fieldflame.lab.report import LabReport, describe_agreement, describe_field, write_lab_markdown, write_lab_text

from tests.packages.check.made_server import HOSTILE


def name(label: str, source: str = "") -> FuncName:
    return FuncName(label, source)


def compared(*changes: LabChange, others: tuple[LabChange, ...] = (), is_too_few: bool = False) -> Compared:
    return Compared(is_too_few, (30, 30), changes, (*changes, *others))


def table(*costs: FieldCost) -> FieldTable:
    return FieldTable(costs)


EXACT = (1.0, 1.0)  # no allowance
RENDER = LabChange(name("renderCart", "src/cart.ts"), 12.0, 31.0)
STEADY = LabChange(name("steady"), 8.0, 8.0)
PHONES = table(
    FieldCost(name("renderCart", "src/cart.ts"), 88.4, (80.0, 97.0)), FieldCost(name("steady"), 31.6, (30.0, 33.0))
)


def test_a_function_grows_in_the_field_by_its_factor_in_the_lab() -> None:
    (estimated,) = estimate(compared(RENDER, others=(STEADY,)), {"phones": PHONES}, EXACT)
    guess = estimated.guesses["phones"]
    assert guess.is_own
    assert guess.ms == pytest.approx(88.4 * 19 / 12)
    assert guess.ci95 == pytest.approx((80.0 * 19 / 12, 97.0 * 19 / 12))
    assert describe_field(estimated) == "In the field that would be about +140 ms per view (127 to 154 ms) on phones."


def test_a_faster_function_has_its_interval_in_order() -> None:
    (estimated,) = estimate(compared(LabChange(RENDER.name, 31.0, 12.0)), {"phones": PHONES})
    low, high = estimated.guesses["phones"].ci95
    assert low < estimated.guesses["phones"].ms < high < 0


def test_the_interval_has_the_labs_own_uncertainty() -> None:
    unsure = LabChange(RENDER.name, 12.0, 31.0, (10.0, 30.0))
    (estimated,) = estimate(compared(unsure), {"phones": PHONES}, EXACT)
    ms, (low, high) = estimated.guesses["phones"].ms, estimated.guesses["phones"].ci95
    # 8.4 and 8.6 ms of the field's time, 9 and 11 ms of the lab's change: each moves the product by itself.
    assert ms - low == pytest.approx(math.hypot(8.4 * 19 / 12, 88.4 * 9 / 12))
    assert high - ms == pytest.approx(math.hypot(8.6 * 19 / 12, 88.4 * 11 / 12))


def test_the_interval_allows_for_what_earlier_releases_were_off() -> None:
    def bounds(change: LabChange, *given: tuple[float, float]) -> tuple[float, float]:
        return estimate(compared(change), {"phones": PHONES}, *given)[0].guesses["phones"].ci95

    ms = 88.4 * 19 / 12
    exact = bounds(RENDER, EXACT)
    assert bounds(RENDER, (0.5, 1.0)) == pytest.approx((ms - math.hypot(ms - exact[0], ms / 2), exact[1]))
    assert bounds(RENDER) == pytest.approx((ms - math.hypot(ms - exact[0], ms / 2), ms + math.hypot(exact[1] - ms, ms)))
    low, high = bounds(LabChange(RENDER.name, 31.0, 12.0), (-0.1, 3.0))
    assert low < -3 * 88.4 * 19 / 31
    assert high > 0  # an earlier release went the other way


def test_time_may_have_moved_unless_whole_page_views_changed_too() -> None:
    lab = compared(RENDER)
    assert not is_moved(lab)  # files say nothing of it
    assert not is_moved(replace(lab, whole_ci95=(2.0, 40.0)))
    assert is_moved(replace(lab, whole_ci95=(-2.0, 40.0)))
    faster = replace(compared(LabChange(RENDER.name, 31.0, 12.0)), whole_ci95=(-40.0, -2.0))
    assert not is_moved(faster)
    assert is_moved(replace(faster, whole_ci95=(-40.0, 2.0)))
    assert not is_moved(compared())


def test_what_may_only_have_moved_fails_no_build() -> None:
    estimates = estimate(compared(RENDER), {"phones": PHONES}, EXACT)
    assert judge(estimates, total(estimates), 50.0, has_moved=False)[0] == 1
    code, sentence = judge(estimates, total(estimates), 50.0, has_moved=True)
    assert (code, sentence) == (0, "the estimate is over 50 ms on phones, but may only have moved")


def test_a_new_function_is_scaled_as_all_others_together() -> None:
    lab = compared(LabChange(name("fresh"), 0.0, 10.0), others=(LabChange(RENDER.name, 12.0, 12.0), STEADY))
    assert find_scale(lab, PHONES) == pytest.approx(120 / 20)
    (estimated,) = estimate(lab, {"phones": PHONES})
    assert not estimated.guesses["phones"].is_own
    assert estimated.guesses["phones"].ms == pytest.approx(60.0)
    assert "scaled as all functions together" in describe_field(estimated)


def test_what_may_only_have_moved_in_its_script_is_not_taken_for_new() -> None:
    new, gone = LabChange(name("getRegex"), 0.0, 6.0), LabChange(name("getRegex"), 11.0, 0.0)
    pair_of_one = compared(new, gone, others=(RENDER, STEADY))
    assert [is_replaced(change, pair_of_one) for change in (new, gone)] == [True, True]
    assert not any(estimated.guesses for estimated in estimate(pair_of_one, {"phones": PHONES}))
    minified = LabChange(name("Ce"), 0.0, 6.0)
    assert is_replaced(minified, compared(minified))
    assert not is_replaced(replace(minified, name=name("Ce", "src/a.ts")), compared())  # a source map names it
    assert not is_replaced(new, compared(new, others=(RENDER,)))
    assert not is_replaced(RENDER, compared(RENDER))


def test_what_the_field_does_not_run_has_no_estimate() -> None:
    (estimated,) = estimate(compared(LabChange(name("other", "src/cart.ts"), 12.0, 31.0)), {"phones": PHONES})
    assert (estimated.guesses, total([estimated])) == ({}, {})
    assert describe_field(estimated) == "The field does not know this function, or it only moved in its script."


@pytest.mark.parametrize(
    ("lab", "field", "is_same"),
    [
        (name("render", "src/a.ts"), [name("render", "src/a.ts"), name("render", "src/b.ts")], True),
        (name("render", "src/c.ts"), [name("render", "src/a.ts")], False),
        (name("render"), [name("render", "src/a.ts")], True),
        (name("render"), [name("render", "src/a.ts"), name("render", "src/b.ts")], False),
        (name("render", "src/a.ts"), [name("render")], True),
        (name("Xt"), [name("Xt")], False),  # minified: another function as often as not
        (name("Xt", "src/a.ts"), [name("Xt", "src/a.ts")], True),
        (name("(anonymous) a.js:1:2"), [name("(anonymous) a.js:1:2")], False),
    ],
)
def test_the_same_function_is_of_the_same_source_or_has_a_telling_name(
    lab: FuncName, field: list[FuncName], is_same: bool
) -> None:
    match = FieldTable([FieldCost(known, 1.0, (0.5, 1.5)) for known in field]).find(lab)
    assert (match is not None) is is_same


def pair(lab_head: float, field_head: float, label: str = "f") -> tuple[Compared, Compared]:
    """Returns a lab's and a field's comparison of one function that took 10 and 100 ms before."""
    lab, field = LabChange(name(label), 10.0, lab_head), LabChange(name(label), 100.0, field_head)
    return compared(lab), compared(field)


def test_agreement_is_measured_on_earlier_releases() -> None:
    agreement = measure_agreement(
        [
            pair(20.0, 200.0),  # as foretold
            pair(20.0, 150.0),  # half of it
            pair(5.0, 40.0),  # foretold -50, measured -60
            pair(20.0, 90.0),  # the other way
            (compared(is_too_few=True), compared()),
        ]
    )
    assert (agreement.releases, agreement.functions, agreement.same_way) == (4, 4, 3)
    assert agreement.ratios == pytest.approx((1.0, 0.5, 1.2, -0.1))
    assert agreement.middle == pytest.approx(0.75)
    assert agreement.allowance == pytest.approx((0.35, 1.05))
    assert describe_agreement(agreement) == (
        "On 4 earlier releases, 3 of 4 functions that changed in the lab changed the same way in the field, by 0.8 "
        "times the estimate, the middle half by 0.3 to 1.1 times."
    )


def test_agreement_that_is_not_known_says_so() -> None:
    nothing = measure_agreement([])
    assert describe_agreement(nothing).startswith("How well lab and field agree is not known")
    assert nothing.allowance == ALLOWANCE


def test_hostile_names_are_only_text() -> None:
    estimates = estimate(compared(LabChange(name(HOSTILE, "a.ts"), 12.0, 31.0)), {"phones": PHONES})
    report = LabReport("shop", HOSTILE, estimates, total(estimates), measure_agreement([]), has_moved=True)
    text = write_lab_text(report)
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert "##[" not in text
    markdown = write_lab_markdown(report)
    assert all(character.isprintable() for character in (text + markdown).replace("\n", ""))
    assert "An estimate from the lab" in text
    assert "An estimate from the lab" in markdown
    assert "page views as a whole did not clearly change" in text
    assert "page views as a whole did not clearly change" in markdown
