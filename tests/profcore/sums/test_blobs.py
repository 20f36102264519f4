"""Blobs: they are read back as written, and damaged ones raise an error."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.sums.blobs import (
    KIND_CALL_TREE,
    KIND_CONTRIBUTION,
    MAX_ROWS,
    VERSIONS,
    BlobError,
    Contribution,
    count_funcs,
    decode_call_tree,
    decode_contribution,
    decode_contribution_list,
    decode_contributions,
    encode_call_tree,
    encode_contribution,
)
from profcore.sums.calltree import CallTree
from tests.profcore.strategies import PROPERTY, call_trees, contributions

CONTRIBUTION = Contribution(
    func=[0, 3, 700],
    self_us=[100, 0, 2_500],
    total_us=[2_600, 2_600, 2_500],
    hidden_us=[0, 0, 5],
    self_samples=[1, 0, 25],
    total_samples=[26, 26, 25],
    hidden_total_us=[9, 0, 5],
    uncertain_us=[0, 40, 0],
)
TREE = CallTree([-1, 0, 1, -1], [0, 9, 0, 300], [0, 100, 2_500, 7], [0, 1, 25, 1], [0, 0, 4, 0])
LARGEST = 2**63 - 1


@PROPERTY
@given(contributions())
def test_a_contribution_comes_back(contribution: Contribution) -> None:
    assert decode_contribution(encode_contribution(contribution)) == contribution
    assert count_funcs(encode_contribution(contribution)) == len(contribution.func)


@PROPERTY
@given(call_trees())
def test_a_call_tree_comes_back(tree: CallTree) -> None:
    assert decode_call_tree(encode_call_tree(tree)) == tree


def test_nothing_comes_back_as_nothing() -> None:
    assert decode_contribution(encode_contribution(Contribution())) == Contribution()
    assert decode_call_tree(encode_call_tree(CallTree())) == CallTree()


def test_id_zero_comes_back() -> None:
    assert decode_contribution(encode_contribution(CONTRIBUTION)).func[0] == 0
    assert decode_call_tree(encode_call_tree(TREE)).func[0] == 0


@pytest.mark.parametrize("top", [0, 1, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, LARGEST])
def test_numbers_of_every_width_come_back(top: int) -> None:
    tree = CallTree([-1, -1], [0, 1], [top, 1], [1, top], [top, 0])
    assert decode_call_tree(encode_call_tree(tree)) == tree


@pytest.mark.parametrize("unit", [1, 5, 100, 2**32 - 1, 2**32])
def test_numbers_of_a_common_unit_come_back(unit: int) -> None:
    tree = CallTree([-1, -1], [0, 1], [3 * unit, 7 * unit], [1, 1], [0, unit])
    assert decode_call_tree(encode_call_tree(tree)) == tree


def test_a_common_unit_saves_bytes() -> None:
    times = [100 * (number % 200) for number in range(500)]
    odd = [time + 1 for time in times]
    sizes = [len(encode_call_tree(CallTree([-1] * 500, list(range(500)), t, t, t))) for t in (times, odd)]
    assert sizes[0] < sizes[1]


def test_a_very_deep_tree_comes_back() -> None:
    deep = 10_000
    tree = CallTree(list(range(-1, deep - 1)), list(range(deep)), [1] * deep, [1] * deep, [0] * deep)
    assert decode_call_tree(encode_call_tree(tree)) == tree


@pytest.mark.parametrize("func", [[1, 1], [2, 1]])
def test_func_ids_that_do_not_ascend_are_not_written(func: list[int]) -> None:
    with pytest.raises(ValueError, match="ascend"):
        encode_contribution(
            Contribution(
                func=func,
                self_us=[0, 0],
                total_us=[0, 0],
                hidden_us=[0, 0],
                self_samples=[0, 0],
                total_samples=[0, 0],
                hidden_total_us=[0, 0],
                uncertain_us=[0, 0],
            )
        )


def test_negative_numbers_are_not_written() -> None:
    with pytest.raises(ValueError, match="negative"):
        encode_contribution(
            Contribution(
                func=[1],
                self_us=[-1],
                total_us=[5],
                hidden_us=[0],
                self_samples=[0],
                total_samples=[0],
                hidden_total_us=[0],
                uncertain_us=[0],
            )
        )
    with pytest.raises(ValueError, match="negative"):
        encode_contribution(
            Contribution(
                func=[1],
                self_us=[5],
                total_us=[4],
                hidden_us=[0],
                self_samples=[0],
                total_samples=[0],
                hidden_total_us=[0],
                uncertain_us=[0],
            )
        )
    with pytest.raises(ValueError, match="negative"):
        encode_call_tree(CallTree([-1], [-1], [0], [0], [0]))


def test_columns_of_different_lengths_are_not_written() -> None:
    with pytest.raises(ValueError, match="one length"):
        encode_call_tree(CallTree([-1, 0], [0, 1], [0], [0, 0], [0, 0]))


@pytest.mark.parametrize("prefix", [[0], [1, -1], [-1, 1], [-1, 2, -1]])
def test_a_tree_whose_parents_do_not_come_first_is_not_written(prefix: list[int]) -> None:
    zeros = [0] * len(prefix)
    with pytest.raises(ValueError, match="parents"):
        encode_call_tree(CallTree(prefix, zeros, zeros, zeros, zeros))


def test_a_blob_of_the_other_kind_is_not_read() -> None:
    with pytest.raises(BlobError, match="kind"):
        decode_call_tree(encode_contribution(CONTRIBUTION))
    with pytest.raises(BlobError, match="kind"):
        decode_contribution(encode_call_tree(TREE))


@pytest.mark.parametrize("version", [0, 2, 3, 4, 255])
def test_another_version_is_refused_by_its_number(version: int) -> None:
    tree, contribution = (bytearray(blob) for blob in (encode_call_tree(TREE), encode_contribution(CONTRIBUTION)))
    tree[3] = contribution[3] = version
    with pytest.raises(BlobError, match=f"version {version} "):
        decode_call_tree(bytes(tree))
    with pytest.raises(BlobError, match=f"version {version} "):
        decode_contribution(bytes(contribution))


def test_the_first_columns_are_read_alone() -> None:
    blobs = [encode_contribution(CONTRIBUTION), encode_contribution(Contribution()), encode_contribution(CONTRIBUTION)]
    lengths, columns = decode_contributions(blobs, column_count=2)
    assert lengths.tolist() == [3, 0, 3]
    assert [column.tolist() for column in columns] == [CONTRIBUTION.func * 2, CONTRIBUTION.self_us * 2]


@PROPERTY
@given(st.lists(contributions(), max_size=5))
def test_contributions_read_at_once_are_those_read_one_by_one(given_: list[Contribution]) -> None:
    blobs = [encode_contribution(contribution) for contribution in given_]
    assert decode_contribution_list(blobs) == given_


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_damaged_contribution_is_noticed_among_others(at: int) -> None:
    blobs = [encode_contribution(CONTRIBUTION) for _ in range(3)]
    blobs[at] = crafted(KIND_CONTRIBUTION, zlib.decompress(blobs[at][4:])[:-1])
    with pytest.raises(BlobError, match=r"numbers|cut short"):
        decode_contribution_list(blobs)


@pytest.mark.parametrize("bit", range(8))
def test_no_flipped_bit_changes_what_is_read(bit: int) -> None:
    contribution, tree = encode_contribution(CONTRIBUTION), encode_call_tree(TREE)
    for at in range(len(contribution)):
        assert read_contribution_or_none(flipped(contribution, at, bit)) in (None, CONTRIBUTION)
    for at in range(len(tree)):
        assert read_tree_or_none(flipped(tree, at, bit)) in (None, TREE)


def test_a_flipped_byte_is_noticed_all_through_the_payload() -> None:
    blob = encode_call_tree(TREE)
    noticed = [at for at in range(len(blob)) if read_tree_or_none(flipped(blob, at, 4)) is None]
    # one byte or two may carry nothing: compression's level hint, and the padding before the checksum
    assert len(noticed) >= len(blob) - 2


def flipped(blob: bytes, at: int, bit: int) -> bytes:
    """Returns a blob with one bit turned over."""
    damaged = bytearray(blob)
    damaged[at] ^= 1 << bit
    return bytes(damaged)


def read_contribution_or_none(blob: bytes) -> Contribution | None:
    """Returns the decoded value, None if the blob is refused."""
    try:
        return decode_contribution(blob)
    except BlobError:
        return None


def read_tree_or_none(blob: bytes) -> CallTree | None:
    """Returns the decoded value, None if the blob is refused."""
    try:
        return decode_call_tree(blob)
    except BlobError:
        return None


def test_a_blob_cut_short_is_noticed_wherever_it_ends() -> None:
    blob = encode_call_tree(TREE)
    assert [length for length in range(len(blob)) if read_tree_or_none(blob[:length]) is not None] == []


@pytest.mark.parametrize("more", [b"\0", b"x", encode_call_tree(TREE)])
def test_bytes_after_a_blob_are_noticed(more: bytes) -> None:
    with pytest.raises(BlobError):
        decode_call_tree(encode_call_tree(TREE) + more)


def test_any_buffer_can_be_read() -> None:
    assert decode_call_tree(memoryview(encode_call_tree(TREE))) == TREE  # type: ignore[arg-type]  # as a driver gives it


def crafted(kind: int, body: bytes) -> bytes:
    """Returns a blob with a correct checksum and any body."""
    return bytes((0x46, 0x46, kind, VERSIONS[kind])) + zlib.compress(body)


COLUMN = struct.pack("<IB", 1, 1)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\1",
        struct.pack("<I", 1) + COLUMN,
        struct.pack("<I", 1) + (COLUMN + b"\0") * 4,
        struct.pack("<I", 1) + (COLUMN + b"\0") * 5 + b"\0",
        struct.pack("<I", 1) + (struct.pack("<IB", 1, 3) + b"\0\0\0") * 5,
        struct.pack("<I", 1) + COLUMN + b"\1" + (COLUMN + b"\0") * 4,
        struct.pack("<I", 1) + struct.pack("<IB", 1, 8) + b"\xff" * 8 + (COLUMN + b"\0") * 4,
    ],
    ids=[
        "empty",
        "half a row count",
        "a column without values",
        "a column missing",
        "trailing bytes",
        "no such width",
        "a parent before the first node",
        "a parent after its child",
    ],
)
def test_a_wrong_body_is_noticed_though_its_checksum_is_right(body: bytes) -> None:
    with pytest.raises(BlobError):
        decode_call_tree(crafted(KIND_CALL_TREE, body))


def test_a_row_count_beyond_reason_is_named_as_the_fault() -> None:
    with pytest.raises(BlobError, match="too many rows"):
        decode_call_tree(crafted(KIND_CALL_TREE, struct.pack("<I", MAX_ROWS + 1)))


@PROPERTY
@given(st.binary(max_size=80), st.integers(0, 3))
def test_any_body_is_read_or_refused(body: bytes, rows: int) -> None:
    for start in (b"", struct.pack("<I", rows)):
        read_contribution_or_none(crafted(KIND_CONTRIBUTION, start + body))
        tree = read_tree_or_none(crafted(KIND_CALL_TREE, start + body))
        assert tree is None or all(-1 <= prefix < node for node, prefix in enumerate(tree.prefix))


@PROPERTY
@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(blob: bytes) -> None:
    assert read_contribution_or_none(blob) is None
    assert read_tree_or_none(blob) is None
