"""The bytes of a pack."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.storage.packs.format import PackedBody, PackError, read_pack, write_pack
from ingest.storage.packs.placing import make_pack_id, name_of, read_name

NOW = datetime(2026, 11, 23, 23, 59, 59, 999_999, UTC)


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_a_pack_gives_back_its_bodies_and_where_they_are(bodies: list[bytes]) -> None:
    packed = [PackedBody(view_id=uuid4(), seq=number, received_at=NOW, body=body) for number, body in enumerate(bodies)]
    content, offsets = write_pack(packed)
    assert [content[at : at + len(body)] for at, body in zip(offsets, bodies, strict=True)] == bodies
    entries = read_pack(content)
    assert [(entry.view_id, entry.seq, entry.received_at, entry.body) for entry in entries] == [
        (entry.view_id, entry.seq, entry.received_at, entry.body) for entry in packed
    ]
    assert [entry.offset for entry in entries] == offsets


@given(st.binary(max_size=100), st.booleans())
def test_other_bytes_are_no_pack(content: bytes, has_magic: bool) -> None:
    if has_magic:
        content = b"FFPACK1\n" + content
    try:
        entries = read_pack(content)
    except PackError:
        return
    assert has_magic
    assert all(entry.offset + len(entry.body) <= len(content) for entry in entries)


def test_a_pack_that_is_cut_off_is_refused() -> None:
    content, _ = write_pack([PackedBody(view_id=uuid4(), seq=0, received_at=NOW, body=b"body")])
    with pytest.raises(PackError):
        read_pack(content[:-1])


def test_the_name_of_an_object_says_which_pack_it_is() -> None:
    pack_id = make_pack_id()
    assert read_name(name_of(7, NOW.date(), pack_id)) == (7, NOW.date(), pack_id)
    for other in ("fieldflame-bodies.json", "20261123/7", "20261123/x/y", "20261123/7/y"):
        assert read_name(other) is None


def test_ids_grow_with_time() -> None:
    first, second = make_pack_id(), make_pack_id()
    assert first.version == 7
    assert first.int >> 80 <= second.int >> 80
