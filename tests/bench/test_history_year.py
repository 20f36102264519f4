"""`bench history` in small: PostgreSQL and DuckDB answer every question alike."""

import json
from pathlib import Path

import pytest

from bench.history import asking
from tests.corpus import DATA


@pytest.mark.slow(20)
@pytest.mark.django_db(transaction=True)
def test_both_sides_answer_the_same(tmp_path: Path) -> None:
    place = str(tmp_path)
    asking.fill(place, corpus=str(DATA / "corpus.jsonl.gz"), views=1_000, days=5)
    asking.export(place)
    asking.roll_up(place)
    for number in range(len(asking.QUESTIONS)):
        asking.ask(place, number=number)  # fails if an answer differs
        asked = json.loads((tmp_path / "asked.json").read_text())
        assert {"PostgreSQL", "DuckDB"} <= asked.keys()
        assert all(len(times) == 3 for times in asked.values())
    assert json.loads((tmp_path / "exported.json").read_text())["bytes"].keys() == {
        *("cells", "hotspots", "call_nodes", "functions")
    }
