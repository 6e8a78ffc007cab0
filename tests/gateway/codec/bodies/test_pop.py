"""The bit sets of batch acknowledgements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.codec.bodies import BatchAck, BatchAckMessageRequestBody, bit_set


def ack(bits: str, start: int = 0) -> BatchAck:
    return BatchAck("G", "T", "0", start, 1, 2, 3, 4, bits)


def test_an_ack_as_java_writes_it() -> None:
    body = BatchAckMessageRequestBody.decode(
        b'{"acks":[{"b":"BQ==","c":"G","it":60000,"pt":1700000000000,"q":1,"r":"0","rq":2,"so":100,"t":"T"}],'
        b'"brokerName":"b"}'
    )
    (one,) = body.acks
    assert one == BatchAck("G", "T", "0", 100, 1, 2, 1700000000000, 60000, "BQ==")
    assert one.offsets == [100, 102]


@given(st.sets(st.integers(0, 200)), st.integers(0, 2**40))
def test_bits_come_back(numbers: set[int], start: int) -> None:
    assert ack(bit_set(sorted(numbers)), start).offsets == [start + number for number in sorted(numbers)]


def test_bits_that_are_no_base64() -> None:
    with pytest.raises(ValueError):
        _ = ack("*").offsets
