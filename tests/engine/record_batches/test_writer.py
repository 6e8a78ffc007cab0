"""Variable-length numbers as the protocol guide shows them."""

import pytest

from mqgateway.engine.record_batches.writer import write_unsigned_varint, write_varint


@pytest.mark.parametrize(("value", "data"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02")])
def test_unsigned_varint_has_its_low_bits_first(value: int, data: str) -> None:
    out = bytearray()
    write_unsigned_varint(out, value)
    assert out.hex() == data


@pytest.mark.parametrize(("value", "data"), [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001")])
def test_varint_alternates_signs(value: int, data: str) -> None:
    out = bytearray()
    write_varint(out, value)
    assert out.hex() == data
