"""The recorded corpus as ingest envelopes, and what an independent, slow reference found in it.

Five hundred and sixty traces of four small apps, recorded in a real browser. Each was one page view: ids derive from
the recorded ones, so that they are the same in every run.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from bench.corpus import read_corpus
from bench.hosts.oracle import read_expected

DATA: Final = Path(__file__).parent / "data"
# JSON as recorded: its values are whatever the recorder wrote.
Json = dict[str, Any]


def corpus_envelopes() -> Iterator[tuple[str, Json]]:
    """Yields (app, envelope) for each recorded trace. An app is a project; its name is not in the envelope."""
    return read_corpus(DATA / "corpus.jsonl.gz")


@cache
def expected() -> list[Json]:
    """Returns the reference's result for each app, release and page: exact integers, samples and µs."""
    return read_expected(DATA / "corpus.jsonl.gz")
