"""Mozilla's own reader opens a profile with originals and texts, and shows functions by their original names."""

from pathlib import Path
from typing import Any

import pytest

from aggregate.selectors.slice.slices import SliceQuery
from projects.models import Project
from tests.aggregate.selectors.exports.labelled_shop import make_shop, write
from tests.profile_reader import read_functions

pytestmark = [pytest.mark.django_db, pytest.mark.slow(5)]
QUERIES: dict[str, dict[str, Any]] = {  # Any: fields of an export's query
    "slice": {},
    "segments": {"segment": "release"},
    "difference": {"base": SliceQuery(release=["1.0.0"]), "head": SliceQuery(release=["2.0.0"])},
}


@pytest.fixture
def shop() -> Project:
    return make_shop()


@pytest.mark.parametrize("kind", QUERIES)
def test_the_reader_has_functions_by_their_originals(shop: Project, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(write(shop, "firefox", sources="content", **QUERIES[kind]))
    functions = read_functions(path)
    assert sorted(func.name for func in functions) == ["render", "total"]
