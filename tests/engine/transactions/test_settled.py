"""Settled offsets and progress, compared with sets."""

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.transactions.settled import Recent, Settled


@given(st.permutations(range(12)), st.integers(1, 12))
def test_the_progress_is_the_first_gap(order: list[int], count: int) -> None:
    settled = Settled(0, 0)
    for offset in order[:count]:
        settled.add(offset)
        settled.advance()
    done = set(order[:count])
    gap = next(offset for offset in range(13) if offset not in done)
    assert settled.progress == gap
    assert len(settled) == len([offset for offset in done if offset > gap])
    assert all((offset in settled) == (offset in done) for offset in range(12))


def test_offsets_before_progress_are_not_kept() -> None:
    settled = Settled(5, 0)
    settled.add(3)
    assert len(settled) == 0
    assert 3 in settled


def test_op_messages_are_passed_when_all_they_list_is() -> None:
    settled = Settled(0, 10)
    assert settled.op_progress == 10
    settled.listed(10, [])
    settled.listed(11, [1, 2])
    settled.listed(12, [0])
    settled.add(1)
    settled.add(2)
    settled.advance()
    assert settled.op_progress == 11
    settled.add(0)
    settled.advance()
    assert settled.op_progress == 13


def test_a_skip_forgets_what_lies_before() -> None:
    settled = Settled(0, 0)
    settled.add(2)
    settled.add(6)
    settled.skip_to(5)
    assert (settled.progress, len(settled)) == (5, 1)


def test_the_oldest_is_forgotten() -> None:
    recent = Recent(2)
    for number in (1, 2, 2, 3):
        recent.add(number)
    assert [number in recent for number in (1, 2, 3)] == [False, True, True]
    assert len(recent) == 2
