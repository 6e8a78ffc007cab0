"""Mapping items of static topics: offsets converted both ways, and valid successions of items."""

from dataclasses import replace

import pytest

from mqgateway.engine.static_topics.pieces import (
    MappingRefused,
    Piece,
    check,
    check_follows,
    piece_after,
    piece_at,
)

FIRST = Piece(0, 2, "a", 0, 0, 100)
SECOND = Piece(1, 5, "b", 1000, 0)
PIECES = [FIRST, SECOND]


def test_offsets_are_turned_there_and_back() -> None:
    piece = Piece(1, 0, "a", 1000, 20, 50)
    assert [piece.logical(offset) for offset in (0, 20, 21)] == [1000, 1000, 1001]
    assert piece.physical(1001) == 21
    assert [piece.logical_inside(offset) for offset in (49, 50, 99)] == [1029, 1030, 1030]
    assert (piece.has_end, piece.logical_end) == (True, 1030)
    assert replace(piece, logic_offset=-1).logical_inside(30) == -1
    assert (SECOND.has_end, SECOND.logical_end) == (False, 1000)


def test_offsets_stay_numbers_of_java() -> None:
    most = 2**63 - 1
    piece = Piece(0, 0, "a", most, 9, most)
    assert (piece.logical(most), piece.logical_end) == (most, most)
    assert (piece.physical(-most - 1), replace(piece, logic_offset=0).physical(most)) == (-most, most)


def test_an_offset_is_in_the_last_piece_that_begins_before_it() -> None:
    assert [piece_at(PIECES, offset) for offset in (-5, 0, 999, 1000)] == [FIRST, FIRST, FIRST, SECOND]
    unknown = [FIRST, replace(SECOND, logic_offset=-1)]
    assert piece_at(unknown, 5000) is FIRST
    assert piece_at([], 0) is None
    assert piece_after(PIECES, FIRST) is SECOND
    assert (piece_after(PIECES, SECOND), piece_after(unknown, FIRST)) == (None, None)


@pytest.mark.parametrize(
    ("pieces", "why"),
    [
        ([replace(FIRST, queue_id=-1)], "should not be negative"),
        ([replace(FIRST, logic_offset=-1), SECOND], "negative logic offset"),
        ([FIRST, replace(SECOND, gen=0)], "gen does not increase"),
        ([replace(FIRST, start_offset=101)], "smaller than the start"),
        ([FIRST, replace(SECOND, logic_offset=0)], "base logic offset"),
        ([FIRST, replace(SECOND, logic_offset=50)], "max logic offset"),
        ([FIRST, replace(SECOND, logic_offset=100)], "max logic offset"),
    ],
)
def test_pieces_that_do_not_follow_one_another(pieces: list[Piece], why: str) -> None:
    with pytest.raises(MappingRefused, match=why):
        check(pieces)


def test_pieces_that_do() -> None:
    for pieces in (
        PIECES,
        [FIRST, replace(SECOND, logic_offset=-1)],
        [],
        [FIRST, replace(SECOND, logic_offset=101)],
    ):
        check(pieces)


def test_earlier_pieces_may_not_change() -> None:
    check_follows(PIECES, [*PIECES, Piece(2, 0, "c", -1)], False)
    check_follows([], PIECES, True)
    check_follows([replace(SECOND, logic_offset=-1)], [SECOND], True)
    for after in ([replace(FIRST, broker_name="c"), SECOND], [FIRST, replace(SECOND, logic_offset=7)], []):
        with pytest.raises(MappingRefused):
            check_follows(PIECES, after, False)
    with pytest.raises(MappingRefused, match="epoch equal"):
        check_follows(PIECES, [*PIECES, Piece(2, 0, "c", -1)], True)


def test_a_piece_is_written_and_read() -> None:
    shape = FIRST.to_json()
    assert shape["bname"] == "a" and shape["endOffset"] == 100
    assert Piece.from_json(shape) == FIRST
