"""Ids: each one in range, 0 like any other, parents before their children."""

from typing import Any

import pytest

from profcore.errors import Reason
from profcore.trace.wire import Limits
from tests.profcore.trace.wire.refusals import accepted, changed, refusal

TABLES = {
    "$.trace.frames[1].resourceId": 1,
    "$.trace.stacks[1].frameId": 2,
    "$.trace.samples[1].stackId": 2,
}


def stacks_of(*parents: int | None) -> list[dict[str, Any]]:  # Any: the wire's JSON
    """Returns wire stacks of frame 0 with these parents."""
    return [{"frameId": 0} if parent is None else {"frameId": 0, "parentId": parent} for parent in parents]


@pytest.mark.parametrize(("path", "count"), TABLES.items())
def test_the_last_entry_of_a_table_may_be_named(path: str, count: int) -> None:
    accepted(changed(path, count - 1))


@pytest.mark.parametrize(("path", "count"), TABLES.items())
def test_an_id_beyond_its_table_dangles(path: str, count: int) -> None:
    assert refusal(changed(path, count)) == (Reason.DANGLING_ID, path)


@pytest.mark.parametrize("path", [*TABLES, "$.trace.stacks[1].parentId"])
@pytest.mark.parametrize("value", [-1, -2_147_483_649])
def test_a_negative_id_dangles_and_never_counts_from_the_end(path: str, value: int) -> None:
    assert refusal(changed(path, value)) == (Reason.DANGLING_ID, path)


def test_a_parent_beyond_all_stacks_dangles() -> None:
    assert refusal(changed("$.trace.stacks[1].parentId", 2)) == (Reason.DANGLING_ID, "$.trace.stacks[1].parentId")


def test_ids_into_empty_tables_dangle() -> None:
    assert refusal(changed("$.trace.resources", [])) == (Reason.DANGLING_ID, "$.trace.frames[0].resourceId")
    assert refusal(changed("$.trace.frames", [])) == (Reason.DANGLING_ID, "$.trace.stacks[0].frameId")
    assert refusal(changed("$.trace.stacks", [])) == (Reason.DANGLING_ID, "$.trace.samples[0].stackId")


def test_a_stack_is_not_its_own_parent() -> None:
    assert refusal(changed("$.trace.stacks", stacks_of(None, 1))) == (
        Reason.PARENT_ORDER,
        "$.trace.stacks[1].parentId",
    )


def test_the_first_stack_has_no_parent_to_name() -> None:
    assert refusal(changed("$.trace.stacks", stacks_of(0, None))) == (
        Reason.PARENT_ORDER,
        "$.trace.stacks[0].parentId",
    )


def test_parents_come_before_their_children() -> None:
    assert refusal(changed("$.trace.stacks", stacks_of(1, None))) == (
        Reason.PARENT_ORDER,
        "$.trace.stacks[0].parentId",
    )


def test_a_cycle_is_refused_at_its_first_step_forward() -> None:
    assert refusal(changed("$.trace.stacks", stacks_of(None, 3, 1, 2))) == (
        Reason.PARENT_ORDER,
        "$.trace.stacks[1].parentId",
    )


def test_id_zero_is_an_id_in_every_column() -> None:
    trace = accepted(changed("$.trace.samples[2].stackId", 0)).trace
    assert trace.frames[0].resourceId == 0
    assert trace.stacks[0].frameId == 0
    assert trace.stacks[1].parentId == 0
    assert trace.samples[2].stackId == 0


def test_a_stack_as_deep_as_the_limit_is_taken_and_one_deeper_is_not() -> None:
    limits = Limits()
    chain = stacks_of(None, *range(limits.depth - 1))
    assert len(accepted(changed("$.trace.stacks", chain)).trace.stacks) == 10_000
    deeper = changed("$.trace.stacks", [*chain, {"frameId": 0, "parentId": limits.depth - 1}])
    assert refusal(deeper) == (Reason.TOO_DEEP, "$.trace.stacks[10000]")


def test_the_first_fault_is_the_one_reported() -> None:
    envelope = changed("$.trace.samples[1].stackId", 99)
    envelope["trace"]["stacks"][1]["frameId"] = 99
    assert refusal(envelope) == (Reason.DANGLING_ID, "$.trace.stacks[1].frameId")
