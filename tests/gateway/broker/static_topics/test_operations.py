"""The operations that serve static topics, too, by name."""

from mqgateway.gateway.broker.consume.operations import OF_THIS_BROKER
from mqgateway.gateway.broker.static_topics.operations import OF_ANY_TOPIC


def test_operations_match_those_of_own_queues() -> None:
    for field, theirs, ours in zip(OF_ANY_TOPIC._fields, OF_ANY_TOPIC, OF_THIS_BROKER, strict=True):
        assert (theirs.__name__, ours.__name__) == (field, field)
        assert theirs is not ours
