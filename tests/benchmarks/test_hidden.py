"""`benchmarks hidden`: the shares it tells add up, and no page is left out."""

from benchmarks.ingest.hidden import describe, measure_hidden
from tests.corpus import expected


def test_the_shares_of_hidden_time_add_up_to_what_the_reference_found() -> None:
    pages = measure_hidden()
    hidden: dict[tuple[str, str], int] = {}
    for group in expected():
        page = group["app"], group["page"]
        hidden[page] = hidden.get(page, 0) + group["time_us"]["hidden"]
    assert {page: shares.hidden_us for page, shares in pages.items()} == hidden
    for shares in pages.values():
        assert shares.both_us + shares.one_us + shares.nobodys_us == shares.hidden_us
        assert min(shares.both_us, shares.one_us, shares.nobodys_us) >= 0
    assert "graphlab /force" in describe(pages)
