"""Paths in source maps, as they are in the repository."""

import pytest
from fieldflame.paths import clean_path

from tests.urls import LOCAL_FILE


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("webpack://shop/./src/a.ts", "src/a.ts"),
        ("webpack:///./src/a.ts?1f2e", "src/a.ts"),
        ("../../src/a.ts", "src/a.ts"),
        (f"{LOCAL_FILE}/src/a.ts", "src/a.ts"),
        ("/src/a.ts", "src/a.ts"),
        ("src/../../../etc/passwd", ""),
        ("src/a\nb.ts", ""),
        ("", ""),
    ],
)
def test_paths_of_sources_are_those_of_the_repository(source: str, path: str) -> None:
    assert clean_path(source) == path
