"""One family of pages and functions: what names a function, what only moved, what only grew with the rest."""

import numpy as np
import pytest

from profcore.stats.verdict.family import LEAST_MS
from profcore.stats.verdict.incidents import Code
from tests.profcore.stats.verdict.judging import FUNCS, VIEWS, draw, judge_pages


def test_a_function_is_named_where_its_page_shows_nothing() -> None:
    rng = np.random.default_rng(1)
    base, head = draw(rng), draw(rng)
    head[:, 3] *= 1.5
    judgement = judge_pages({"/a": (base, head)})
    (incident,) = judgement.incidents
    assert (incident.func_id, incident.page, incident.is_certain) == (3, "/a", True)
    assert (judgement.leading.state, judgement.leading.why, judgement.state) == (
        "no_clear_change",
        "function",
        "slower",
    )
    assert judgement.leading_function is incident
    assert judgement.function_count == FUNCS


def test_nothing_is_named_where_nothing_changed() -> None:
    rng = np.random.default_rng(2)
    named = [judge_pages({"/a": (draw(rng), draw(rng)), "/b": (draw(rng), draw(rng))}).state for _ in range(40)]
    assert named.count("no_clear_change") >= 37


def test_a_function_on_several_pages_is_one_incident() -> None:
    rng = np.random.default_rng(3)
    pages = {}
    for page in ("/a", "/b", "/c"):
        base, head = draw(rng), draw(rng)
        head[:, 3] *= 1.0 if page == "/c" else 2.0
        pages[page] = (base, head)
    (incident,) = judge_pages(pages).incidents
    assert set(incident.pages) == {"/a", "/b"}


def test_what_is_too_small_to_tell_is_not_asked_about() -> None:
    rng = np.random.default_rng(4)
    base, head = draw(rng), draw(rng)
    base[:, 5] = 0.1
    head[:, 5] = LEAST_MS - 0.2
    judgement = judge_pages({"/a": (base, head)})
    assert judgement.function_count == FUNCS - 1
    assert judgement.incidents == ()


def test_time_that_moved_to_a_new_function_is_no_slowdown() -> None:
    rng = np.random.default_rng(5)
    base, head = draw(rng), draw(rng)
    base[:, 7] = 0.0
    head[:, 7], head[:, 3] = head[:, 3] * 0.9, head[:, 3] * 0.1
    judgement = judge_pages({"/a": (base, head)})
    assert judgement.incidents == ()
    (moved,) = judgement.leading.functions.moved
    assert (moved.func_id, moved.fell[0][0]) == (7, 3)
    assert moved.fell[0][1] < 0


def test_hidden_time_that_moved_is_no_slowdown() -> None:
    rng = np.random.default_rng(11)
    base, head = draw(rng), draw(rng)
    base[:, 7] = 0.0
    head[:, 7] = head[:, 3] * 0.5
    head[:, 3] -= head[:, 7]
    judgement = judge_pages({"/a": (base, head)}, hidden=0.6)
    assert judgement.incidents == ()
    assert [moved.func_id for moved in judgement.leading.functions.moved] == [7]
    head[:, 3] *= 2.0
    (incident,) = judge_pages({"/a": (base, head)}, hidden=0.6).incidents
    assert (incident.func_id, incident.is_certain) == (7, True)


def test_what_is_seen_of_a_function_that_hid_in_another_is_a_suspicion() -> None:
    rng = np.random.default_rng(18)
    base, head = draw(rng), draw(rng)
    head[:, 7] += head[:, 3] * 0.6
    head[:, 3] *= 0.4
    hidden = np.zeros(FUNCS)
    hidden[3] = 1.0  # the caller, whose callee was never seen before
    (incident,) = judge_pages({"/a": (base, head)}, hidden=hidden).incidents
    assert incident.fell
    assert (incident.func_id, incident.may_have_moved, incident.is_certain) == (7, True, False)


def test_a_new_function_in_a_file_where_others_may_have_fallen_is_no_message_yet() -> None:
    rng = np.random.default_rng(12)
    base, head = draw(rng), draw(rng, 25)
    base[:, 7] = 0.0
    base[:, 3] *= rng.lognormal(0.0, 1.5, VIEWS)
    head[:, 3] = base[:25, 3] * 0.6
    for same_file, is_certain in ((True, False), (False, True)):
        code = Code(find_file={7: "a.ts", 3: "a.ts" if same_file else "b.ts"}.get)
        (incident,) = judge_pages({"/a": (base, head)}, code).incidents
        assert (incident.func_id, incident.fell, incident.is_certain) == (7, (), is_certain)


def test_a_chain_of_callers_is_one_incident() -> None:
    rng = np.random.default_rng(6)
    base, head = draw(rng), draw(rng)
    head[:, 3] *= 2.0
    head[:, 4] *= 1.8
    code = Code(read_callers=lambda _pages: lambda hidden, seen: [4] if 4 in hidden and 3 in seen else [])
    (incident,) = judge_pages({"/a": (base, head)}, code).incidents
    assert (incident.func_id, incident.chain) == (3, (4,))


def test_a_new_function_that_may_only_have_moved_is_none() -> None:
    rng = np.random.default_rng(7)
    base, head = draw(rng), draw(rng)
    base[:, 7] = 0.0
    assert len(judge_pages({"/a": (base, head)}).incidents) == 1
    assert judge_pages({"/a": (base, head)}, Code(find_moved=list)).incidents == ()


def test_all_functions_alike_are_said_and_no_message() -> None:
    rng = np.random.default_rng(8)
    base, head = draw(rng, 600), draw(rng, 600) * 1.25
    judgement = judge_pages({"/a": (base, head)})
    assert judgement.leading.state == "slower"
    assert judgement.leading.alike == pytest.approx(0.25, abs=0.1)
    assert not any(incident.is_certain for incident in judgement.incidents)


def test_what_grew_with_the_rest_of_its_page_does_not_lead() -> None:
    rng = np.random.default_rng(16)
    base, head = draw(rng, 600), draw(rng, 600) * 1.5
    base[:, 5] *= 4.0
    head[:, 5] *= 4.0  # by 80 ms, as much as all the others
    head[:, 3] *= 1.6
    incidents = judge_pages({"/a": (base, head)}).incidents
    grown = {incident.func_id: incident.difference.delta_ms for incident in incidents}
    assert incidents[0].func_id == 3
    assert grown[3] < grown[5]


def test_what_is_certain_leads() -> None:
    rng = np.random.default_rng(17)
    few, many = (draw(rng, 24), draw(rng, 24)), (draw(rng), draw(rng))
    few[1][:] *= 1.8
    many[1][:, 3] *= 1.5
    judgement = judge_pages({"/many": many, "/few": few})
    assert [(page.page, page.state) for page in judgement.pages] == [("/many", "no_clear_change"), ("/few", "slower")]
    assert judgement.leading_function is judgement.incidents[0]
    assert (judgement.incidents[0].page, judgement.incidents[0].is_certain) == ("/many", True)


def test_what_only_the_fastest_devices_have_is_no_message() -> None:
    rng = np.random.default_rng(13)
    device = [1, 2] * 600
    base, head = draw(rng, 1_200), draw(rng, 1_200)
    base[1::2], head[1::2] = 2 * base[1::2], 2 * head[1::2]
    base[::4] *= 0.3  # a monitor, which stops
    judgement = judge_pages({"/a": (base, head)}, device=device)
    assert (judgement.leading.state, judgement.is_confirmed) == ("slower", False)
    head[1::2] *= 1.3
    assert judge_pages({"/a": (base, head)}, device=device).is_confirmed


def test_the_fastest_devices_are_those_of_whole_views() -> None:
    rng = np.random.default_rng(19)
    base, head = draw(rng, 1_200), draw(rng, 1_200)
    for side in (base, head):
        side[1::2] *= 2.0
        side[1::2, 3] *= 0.2  # this function takes longer on fast devices
    base[::4] *= 0.3  # a monitor, which stops
    judgement = judge_pages({"/a": (base, head)}, device=[1, 2] * 600)
    assert 3 in [incident.func_id for incident in judgement.incidents]
    assert not judgement.is_confirmed


def test_a_new_function_on_all_devices_is_a_message() -> None:
    rng = np.random.default_rng(15)
    base, head = draw(rng), draw(rng)
    base[:, 7] = 0.0
    assert judge_pages({"/a": (base, head)}, device=[1, 2] * (VIEWS // 2)).incidents[0].is_certain


def test_a_slowdown_is_confirmed_where_hardly_anyone_has_other_devices() -> None:
    rng = np.random.default_rng(14)
    base, head = draw(rng, 600), draw(rng, 600) * 1.3
    for device in ([1] * 600, [1] * 560 + [2] * 40):
        assert judge_pages({"/a": (base, head)}, device=device).leading.is_certain


def test_a_message_needs_an_eighth_of_the_bound() -> None:
    rng = np.random.default_rng(9)
    base, head = draw(rng), draw(rng)
    head[:, 3] *= 1.6
    q = judge_pages({"/a": (base, head)}).incidents[0].difference.q
    assert not judge_pages({"/a": (base, head)}, bound=q * 7).incidents[0].is_certain
    assert judge_pages({"/a": (base, head)}, bound=0.05).incidents[0].is_certain


def test_a_change_that_was_seen_by_luck_may_be_smaller() -> None:
    rng = np.random.default_rng(10)
    base, head = draw(rng), draw(rng)
    head[:, 3] *= 1.8
    q = judge_pages({"/a": (base, head)}).incidents[0].difference.q
    assert not judge_pages({"/a": (base, head)}).may_be_smaller
    assert judge_pages({"/a": (base, head)}, bound=q * 1.01).may_be_smaller
