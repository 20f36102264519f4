"""The recorded corpus, folded, merged, refolded and partly erased: always the rows of a plain fold."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from aggregate.maintenance.erasing import erase_view
from aggregate.maintenance.merging import merge_old_hours
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import everything, fold_all, post
from tests.aggregate.stored_state import assert_rollup_is_exact, by_day, summed
from tests.corpus import corpus_envelopes

pytestmark = [pytest.mark.django_db, pytest.mark.slow(6)]
NOW = datetime.now(UTC)


def recorded() -> list[dict[str, Any]]:
    """Returns every fourth trace of all apps, in views of up to three traces over some hours of one old day."""
    envelopes = [envelope for _, envelope in corpus_envelopes()][::4]
    day = (NOW - timedelta(days=4)).replace(hour=2)
    place: dict[tuple[str, str], tuple[str, int]] = {}
    for number, envelope in enumerate(envelopes):
        key = (envelope["release"], envelope["page"])
        view, seq = place.get(key, (envelope["viewId"], 0))
        place[key] = (view, seq + 1)
        if seq == 2:
            del place[key]
        start = day + timedelta(hours=UUID(view).int % 7)
        envelope |= {"viewId": view, "seq": seq, "viewStart": start.timestamp() * 1000, "traceId": None}
        envelope["timeOrigin"] += number / 1000
    return envelopes


def in_batches(envelopes: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(envelopes), 20):
        yield envelopes[start : start + 20]


def test_the_corpus_survives_a_merge_a_refold_and_erasures() -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    create_project(slug="other", key="other-key", origins=["*"])
    envelopes = recorded()
    for batch in in_batches(envelopes):
        post("shop-key", *batch)
    fold_all()
    before = by_day()
    merge_old_hours(NOW)
    assert by_day() == before
    exact = everything()
    call_command("refold", "--project", "shop")
    assert everything() == exact
    erased = set(sorted({envelope["viewId"] for envelope in envelopes})[::5])
    project_id = Project.objects.get(slug="shop").pk
    for view_id in erased:
        assert erase_view(project_id, UUID(view_id)).kept_trees == 0
    for batch in in_batches([envelope for envelope in envelopes if envelope["viewId"] not in erased]):
        post("other-key", *batch)
    fold_all()
    state = by_day()
    assert summed(state, 1) == summed(state, 2)
    assert_rollup_is_exact()
