"""What is done with and how far: bookkeeping against sets."""

from hypothesis import given
from hypothesis import strategies as st

from engine.transactions.settled import EARLIER_MAX, Copies, Settled


@given(st.permutations(range(12)), st.integers(1, 12))
def test_the_progress_is_the_first_gap(order: list[int], count: int) -> None:
    settled = Settled(0, 0)
    passed: list[int] = []
    for offset in order[:count]:
        settled.add(offset)
        passed += settled.advance()
    done = set(order[:count])
    gap = next(offset for offset in range(13) if offset not in done)
    assert settled.progress == gap
    assert passed == list(range(gap))
    assert len(settled) == len([offset for offset in done if offset > gap])
    assert all((offset in settled) == (offset in done) for offset in range(12))


def test_what_was_passed_is_not_kept() -> None:
    settled = Settled(5, 0)
    settled.add(3, answered=True)
    assert len(settled) == 0
    assert 3 in settled
    assert not settled.is_answered(3)


def test_an_answer_stays_an_answer() -> None:
    settled = Settled(0, 0)
    settled.add(2, answered=True)
    settled.add(2)
    settled.add(4)
    assert settled.is_answered(2)
    assert not settled.is_answered(4)


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


def test_a_copy_stands_for_all_before_it() -> None:
    copies = Copies(10)
    copies.replace(1, 4)
    copies.replace(4, 9)
    assert [copies.newest(offset) for offset in (1, 4, 9, 5)] == [9, 9, 9, 5]
    copies.forget(9)
    assert [copies.newest(offset) for offset in (1, 4)] == [1, 4]
    assert len(copies) == 0


def test_of_a_long_chain_the_first_and_the_last_are_kept() -> None:
    copies = Copies(10)
    for offset in range(20):
        copies.replace(offset, offset + 1)
    assert copies.newest(0) == 20
    assert copies.newest(19) == 20
    assert copies.newest(10) == 10
    assert len(copies) == EARLIER_MAX


def test_chains_are_bounded() -> None:
    copies = Copies(2)
    for offset in range(5):
        copies.replace(offset, offset + 100)
    assert len(copies) == 2
    copies.replace(100, 200)
    assert copies.newest(0) == 200, "a chain that is kept goes on"
