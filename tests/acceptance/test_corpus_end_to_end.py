"""The proof on real traces: the corpus through HTTP, Celery and Postgres equals the independent oracle."""

import urllib.request
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

import pytest

from ops.supervisor.running import RunningStack
from tests.acceptance.corpus_stack import compare_with_oracle, corpus, database, post_until_accepted
from tests.corpus import expected
from tests.profile_reader import read_functions

pytestmark = [pytest.mark.always, pytest.mark.stack, pytest.mark.slow(90)]


def test_every_func_and_every_part_of_time_equals_the_oracle(folded: tuple[RunningStack, dict[str, str]]) -> None:
    stack, _ = folded
    assert compare_with_oracle(stack) == []


def test_the_read_api_tells_the_same_numbers(folded: tuple[RunningStack, dict[str, str]]) -> None:
    stack, tokens = folded
    for group in expected():
        answer = stack.read(
            group["app"], tokens[group["app"]], f"functions?release={group['release']}&page={group['page']}&limit=10000"
        )
        assert answer["traces"] == group["traces"]
        assert answer["samples"] == group["samples"]
        known = {part: us / 1000 for part, us in group["time_us"].items()}
        assert answer["time_ms"] == {**known, "engine": 0}  # the corpus has no long animation frames
        rows = {
            (f["uri"], f["line"], f["column"], f["name"]): (
                f["self_samples"],
                f["total_samples"],
                f["self_ms"],
                f["total_ms"],
                f["views"],
            )
            for f in answer["functions"]
        }
        assert rows == {
            (f["uri"], f["line"], f["column"], f["name"]): (
                f["self_samples"],
                f["total_samples"],
                f["self_us"] / 1000,
                f["total_us"] / 1000,
                f["views"],
            )
            for f in group["functions"]
            if f["total_us"]  # a func seen only in samples of no weight has no time to list
        }


def test_nothing_was_lost_refused_or_rejected(folded: tuple[RunningStack, dict[str, str]]) -> None:
    stack, tokens = folded
    for app, token in tokens.items():
        status = stack.read(app, token, "status")
        traces = sum(group["traces"] for group in expected() if group["app"] == app)
        assert status == {
            "received": traces,
            "pending": 0,
            "folded": traces,
            "rejected": 0,
            "refused": 0,
            "dropped": 0,
            "refused_by_reason": {},
            "oldest_pending_s": None,
        }


def test_posting_everything_again_changes_nothing(folded: tuple[RunningStack, dict[str, str]]) -> None:
    stack, tokens = folded
    for app, body in corpus():
        post_until_accepted(stack.port, app, body)
    stack.wait_until_folded(tokens)
    assert compare_with_oracle(stack) == []


def test_no_query_string_reached_a_table_of_funcs(folded: tuple[RunningStack, dict[str, str]]) -> None:
    stack, _ = folded
    with database(stack) as connection:
        uris = [uri for (uri,) in connection.execute("SELECT uri FROM aggregate_func WHERE uri IS NOT NULL")]
    assert uris
    assert [uri for uri in uris if "?" in uri or "#" in uri] == []


def test_mozillas_reader_counts_in_the_downloads_what_the_api_tells(
    folded: tuple[RunningStack, dict[str, str]], tmp_path: Path
) -> None:
    stack, tokens = folded
    for group in expected():
        slice_query = urlencode({"release": group["release"], "page": group["page"]})
        answer = stack.read(group["app"], tokens[group["app"]], f"functions?{slice_query}&limit=10000")
        profile = tmp_path / "profile.json.gz"
        profile.write_bytes(download(stack, group["app"], tokens[group["app"]], slice_query))
        counted = Counter(
            (func.name, round(func.self_ms * 1000), round(func.total_ms * 1000)) for func in read_functions(profile)
        )
        hidden_us = round(answer["time_ms"]["hidden"] * 1000)
        wanted = Counter(
            (f["label"], round(f["self_ms"] * 1000), round(f["total_ms"] * 1000)) for f in answer["functions"]
        )
        assert counted == wanted + Counter({("(hidden)", hidden_us, hidden_us): 1})


def download(stack: RunningStack, slug: str, token: str, slice_query: str) -> bytes:
    """Returns the Firefox profile of a slice, as the read API streams it."""
    request = urllib.request.Request(f"{stack.url}/api/v1/projects/{slug}/profile?format=firefox&{slice_query}")
    request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=60) as answer:
        body: bytes = answer.read()
    return body
