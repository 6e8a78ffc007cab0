"""States by number and name, and what a status says."""

import pytest

from mqgateway.gateway.kafka.transactions.status import EPOCH_LAST, STATES, TxnState, TxnStatus


def test_numbers_and_names_are_those_of_apache_kafka() -> None:
    assert [(state.value, state.label) for state in TxnState] == [
        (0, "Empty"),
        (1, "Ongoing"),
        (2, "PrepareCommit"),
        (3, "PrepareAbort"),
        (4, "CompleteCommit"),
        (5, "CompleteAbort"),
        (6, "Dead"),
        (7, "PrepareEpochFence"),
    ]
    assert {label: state.label for label, state in STATES.items()} == {label: label for label in STATES}


@pytest.mark.parametrize("state", TxnState)
def test_prepared_states_have_an_outcome(state: TxnState) -> None:
    status = TxnStatus(7, 0, 1000, state, 5)
    assert state.is_prepared == state.label.startswith("Prepare") or state is TxnState.PREPARE_EPOCH_FENCE
    assert status.is_commit == state.label.endswith("Commit")


def test_epochs_are_used_up_before_the_last_one_of_a_marker() -> None:
    assert not TxnStatus(7, EPOCH_LAST - 1, 1000, TxnState.EMPTY, 5).is_exhausted
    assert TxnStatus(7, EPOCH_LAST, 1000, TxnState.EMPTY, 5).is_exhausted
