"""CRC-32C by the published check value, and against `crcmod`."""

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.record_batches.crc32c import crc32c, crc32c_of_crcmod


def test_checksum_has_the_published_check_value() -> None:
    assert crc32c(b"123456789") == crc32c_of_crcmod()(b"123456789") == 0xE3069283


@given(st.binary(max_size=300))
def test_checksums_are_those_of_crcmod(data: bytes) -> None:
    assert crc32c(memoryview(data)) == crc32c_of_crcmod()(data)
