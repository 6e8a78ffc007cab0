"""The operations about one queue, by name."""

from mqgateway.gateway.broker.consume import offsets, pull, query
from mqgateway.gateway.broker.consume.operations import OF_THIS_BROKER


def test_each_operation_stands_under_its_own_name() -> None:
    assert OF_THIS_BROKER.pull is pull.pull
    for name in ("query_offset", "update_offset"):
        assert getattr(OF_THIS_BROKER, name) is getattr(offsets, name)
    for name in ("search_offset", "max_offset", "min_offset", "earliest_store_time"):
        assert getattr(OF_THIS_BROKER, name) is getattr(query, name)
