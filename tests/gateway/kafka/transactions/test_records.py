"""The status of a transactional id as bytes, and back."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.kafka.transactions.records import read_id, read_status, txn_key, txn_value
from mqgateway.gateway.kafka.transactions.status import TopicPartition, TxnState, TxnStatus

places = st.builds(TopicPartition, st.sampled_from(("a", "b.c")), st.integers(0, 9))


def statuses() -> st.SearchStrategy[TxnStatus]:
    """Return statuses that a record can have."""
    ids, times = st.integers(-1, 2**62), st.integers(-1, 2**40)
    return st.builds(
        TxnStatus,
        ids,
        st.integers(0, 32767),
        st.integers(1, 900_000),
        st.sampled_from([state for state in TxnState if state is not TxnState.EMPTY]),
        times,
        started=times,
        partitions=st.frozensets(places),
        previous_producer_id=ids,
        next_producer_id=ids,
        version=st.sampled_from((0, 2)),
    )


@given(statuses())
def test_status_survives_its_record(status: TxnStatus) -> None:
    assert read_status(txn_value(status)) == status


def test_record_of_an_id_without_a_transaction_has_no_partitions() -> None:
    status = TxnStatus(7, 3, 60_000, TxnState.EMPTY, 1000)
    value = txn_value(status)
    assert value == struct.pack(">hqhib", 1, 7, 3, 60_000, 0) + b"\0" + struct.pack(">qq", 1000, -1) + b"\0"
    assert read_status(value) == status


def test_record_of_version_0_is_read() -> None:
    value = struct.pack(">hqhib", 0, 7, 3, 60_000, 1)
    value += struct.pack(">ih1sii", 1, 1, b"a", 1, 5) + struct.pack(">qq", 1000, 900)
    expected = TxnStatus(
        7,
        3,
        60_000,
        TxnState.ONGOING,
        1000,
        started=900,
        partitions=frozenset((TopicPartition("a", 5),)),
    )
    assert read_status(value) == expected


def test_key_has_the_id() -> None:
    assert txn_key("shop") == b"\0\0\0\4shop"
    assert read_id(b"\0\0\0\4shop") == "shop"
    assert read_id(b"\0\1\0\4shop") is None


@pytest.mark.parametrize("value", [b"", b"\0\1\0", struct.pack(">hqhibbqqb", 1, 7, 3, 60_000, 9, 1, 0, 0, 0)])
def test_malformed_value_is_refused(value: bytes) -> None:
    with pytest.raises(CodecError):
        read_status(value)
