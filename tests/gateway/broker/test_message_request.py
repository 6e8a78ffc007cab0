"""What sends read of a message: a request's header has it as it stands, and so may any other object."""

import pytest

from mqgateway.gateway.broker.message_request import MessageRequest
from mqgateway.gateway.broker.produce.send import send
from tests.support.gateway.broker.helpers import MemoryBroker, send_header
from tests.support.gateway.broker.producing import TypedMessage, outcome_of


@pytest.mark.parametrize(
    "request_", [send_header("T", {"UNIQ_KEY": "K1"}), TypedMessage()], ids=["header", "typed"]
)
def test_a_header_and_an_object_are_stored_alike(request_: MessageRequest) -> None:
    memory = MemoryBroker()
    memory.add_topic("T")
    outcome_of(send(memory.broker, request_, b"x", memory.producer, memory.clock.millis()))
    memory.broker.store.dispatch()
    (stored,) = memory.stored("T")
    assert (stored.body, stored.properties["UNIQ_KEY"], stored.born_timestamp) == (
        b"x",
        "K1",
        1_699_999_999_000,
    )
