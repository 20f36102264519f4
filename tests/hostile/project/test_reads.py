"""Every page, part, export and endpoint, of a project in which every text has its worst form."""

from functools import partial

import pytest
from django.urls import URLPattern

from tests.hostile.project.addresses import list_addresses, list_patterns
from tests.hostile.project.checking import BrokenAnswer, read_within_bounds
from tests.hostile.project.costs import MOST_CPU_S, WHOLE_CPU_S, TooDear
from tests.hostile.project.making import HostileProject

pytestmark = [pytest.mark.nightly, pytest.mark.slow(90)]


@pytest.mark.parametrize("pattern", list_patterns(), ids=lambda pattern: pattern.name)
def test_an_address_answers_hostile_texts_as_texts_and_at_a_bounded_cost(
    hostile: HostileProject, pattern: URLPattern
) -> None:
    faults: list[str] = []
    statuses: set[int] = set()
    for address in list_addresses(hostile, pattern):
        try:
            answer = read_within_bounds(
                partial(hostile.client.get, address),
                address[:300],
                most_cpu_s=WHOLE_CPU_S if "plain=1" in address else MOST_CPU_S,
            )
            statuses.add(answer.response.status_code)
        except (BrokenAnswer, TooDear) as error:
            faults.append(str(error))
    assert not faults, "\n".join(faults[:20])
    assert statuses & {200, 302, 403, 405}, f"it answered {statuses} only"
