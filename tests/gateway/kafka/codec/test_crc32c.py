"""CRC-32C by the published check value, and the table in Python against the C function."""

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.kafka.codec.crc32c import crc32c, crc32c_plain


def test_checksum_has_the_published_check_value() -> None:
    assert crc32c(b"123456789") == crc32c_plain(b"123456789") == 0xE3069283


@given(st.binary(max_size=300), st.binary(max_size=50))
def test_checksums_are_equal_and_can_be_continued(data: bytes, more: bytes) -> None:
    assert crc32c(memoryview(data)) == crc32c_plain(data)
    assert crc32c_plain(more, crc32c_plain(data)) == crc32c(data + more)
