"""A series is encoded as the list of its structs."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from mqgateway.gateway.kafka.codec.plans import encode
from mqgateway.gateway.kafka.codec.series import Pattern, Series

METADATA = APIS[3]
PATTERN = Pattern(lambda number: MetadataResponsePartition(0, number, 70_000, 0, (70_000,), (70_000,)))


@pytest.mark.parametrize("version", range(METADATA.oldest, METADATA.latest + 1))
@pytest.mark.parametrize("numbers", [range(0), range(1), range(300), range(1000, 1003)])
def test_series_is_encoded_as_the_list_of_its_structs(version: int, numbers: range) -> None:
    def encoded(partitions: object) -> bytes:
        topic = MetadataResponseTopic(0, "orders", partitions=partitions)  # type: ignore[arg-type]
        return bytes(encode(MetadataResponse(topics=[topic]), version))

    series = Series(PATTERN, numbers)
    assert encoded(series) == encoded([PATTERN.make(number) for number in numbers])
    assert list(series) == series[:] and len(series) == len(numbers)


def test_elements_of_a_series_are_made_by_index() -> None:
    series = Series(PATTERN, range(5, 9))
    assert (series[0], series[-1]) == (PATTERN.make(5), PATTERN.make(8))
    with pytest.raises(IndexError):
        series[4]
