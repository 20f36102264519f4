"""`bench symbolicate` labels every function of the build that it makes, or says so."""

import pytest

from bench import symbolicate
from bench.source_maps import make_build
from bench.symbolicate import bench_symbolicate

pytestmark = pytest.mark.django_db


def test_every_function_of_the_made_build_gets_its_name() -> None:
    result = bench_symbolicate(2, 120)
    assert (result.maps, result.funcs) == (2, 120)
    assert result.map_bytes > 1_000


def test_a_function_without_its_name_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    files, places = make_build(1, 10)
    wrong = [(path, column + 8) for path, column in places]
    monkeypatch.setattr(symbolicate, "make_build", lambda maps, funcs: (files, wrong))
    with pytest.raises(RuntimeError, match="0 of 10 functions were named"):
        bench_symbolicate(1, 10)
