"""Two clients that put the same alert or channel at the same time make one."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from alerts.models import AlertRule, Channel
from tests.builders import make_project
from tests.dashboard.api.alerts.asking import BUDGET, WEBHOOK, Asker, ask_with

pytestmark = pytest.mark.django_db(transaction=True)
AT_ONCE = 4


@pytest.mark.parametrize(("address", "body"), [("alerts/cart", BUDGET), ("channels/team", WEBHOOK)])
def test_of_puts_at_the_same_time_one_creates(address: str, body: dict[str, Any]) -> None:
    askers = [ask_with(make_project("shop"), "alerts")]
    askers += [Asker(type(askers[0].client)(), askers[0].headers) for _ in range(AT_ONCE - 1)]
    together = Barrier(AT_ONCE)

    def put(asker: Asker) -> int:
        together.wait()
        try:
            return int(asker.ask("PUT", address, body).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        statuses = sorted(pool.map(put, askers))
    assert statuses == [200, 200, 200, 201]
    assert AlertRule.objects.count() + Channel.objects.count() == 1
