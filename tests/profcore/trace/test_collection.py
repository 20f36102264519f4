"""What a project may tell the snippet to record: each wrong field has a sentence, and nothing else passes."""

from typing import Any

import pytest

from profcore.trace.collection import Collection, CollectionError, encode_for_snippet, read_collection

WRONG: list[tuple[dict[str, Any], str, str]] = [  # Any: JSON
    ({"rat": 1}, "rat", "not a field"),
    ({"off": 1}, "off", "true or false"),
    ({"interactions": "yes"}, "interactions", "true or false"),
    ({"rate": 1.1}, "rate", "from 0.0001 to 1"),
    ({"rate": -1}, "rate", "from 0.0001 to 1"),
    ({"rate": 0.00001}, "rate", "from 0.0001 to 1"),
    ({"rate": True}, "rate", "a number"),
    ({"rate": float("nan")}, "rate", "a number"),
    ({"absent_rate": 0.0001}, "absent_rate", "from 0.001 to 1"),
    ({"duration_ms": 999}, "duration_ms", "from 1000 to"),
    ({"duration_ms": 1e4}, "duration_ms", "whole number"),
    ({"duration_ms": 10**9}, "duration_ms", "whole number"),
    ({"pages": {}}, "pages", "list of pairs"),
    ({"pages": [["/a"]]}, "pages", "Pattern 1: it must be a pair"),
    ({"pages": [["/a", 1], ["/b", 2]]}, "pages", "Pattern 2: it must be a number"),
    ({"pages": [["shop.example/a", 1]]}, "pages", "must begin with / or *"),
    ({"pages": [["/a?b", 1]]}, "pages", "a ? or #"),
    ({"pages": [["/*/*/*/*", 1]]}, "pages", "more than 3 stars"),
    ({"pages": [["/a", 1], ["/a", 0]]}, "pages", "Pattern 2: it is the same as an earlier one"),
    ({"pages": [["/" + "a" * 200, 1]]}, "pages", "more than 200 characters"),
    ({"pages": [["/a\n", 1]]}, "pages", "control character"),
    ({"only_slow": 1}, "only_slow", "true or false"),
    ({"whole_rate": 0.001}, "whole_rate", "from 0.01 to 1"),
    ({"whole_rate": 0}, "whole_rate", "above 0"),
    ({"experiment_rate": 2}, "experiment_rate", "from 0.001 to 1"),
    ({"pages": [[f"/{n}", 1] for n in range(51)]}, "pages", "At most 50 patterns"),
]


@pytest.mark.parametrize(("values", "field", "sentence"), WRONG)
def test_a_wrong_field_is_named_with_a_sentence(values: dict[str, Any], field: str, sentence: str) -> None:
    with pytest.raises(CollectionError) as caught:
        read_collection(values)
    assert list(caught.value.problems) == [field]
    assert sentence in caught.value.problems[field][0]


def test_what_is_right_is_read() -> None:
    values = {"off": False, "rate": 0, "pages": [["*", 0.0001], ["/a b/:x", 1]], "duration_ms": 1_000}
    expected = Collection(rate=0, pages=(("*", 0.0001), ("/a b/:x", 1.0)), duration_ms=1_000)
    assert read_collection(values) == expected


def test_fifty_patterns_are_accepted() -> None:
    assert len(read_collection({"pages": [[f"/{n}", 1] for n in range(50)]}).pages) == 50


def test_the_projects_own_share_of_absences_comes_first() -> None:
    assert encode_for_snippet(Collection(), absent_rate=1) == {"absent": 1}
    assert encode_for_snippet(Collection(absent_rate=0), absent_rate=1) == {"absent": 0}
    assert encode_for_snippet(Collection()) == {}


def test_only_look_back_and_the_experiment_need_the_full_core() -> None:
    assert not Collection(rate=0.1, whole_rate=0.2, experiment_rate=0).needs_full
    slow, experiment = Collection(only_slow=True, whole_rate=0.2), Collection(experiment_rate=0.1)
    assert slow.needs_full
    assert encode_for_snippet(slow) == {"keep": "slow", "whole": 0.2}
    assert experiment.needs_full
    assert encode_for_snippet(experiment) == {"experiment": 0.1}
