"""Questions to brokers about connected clients."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client.errors import BrokerError
from mqgateway.gateway.client.message import Message
from tests.gateway.client.test_push import Inbox, begin
from tests.support.gateway.client.administering import office
from tests.support.gateway.client.cluster import queue_of


def test_reads_connections_and_state_of_consumer() -> None:
    with office() as here:
        results = here.send(4)
        inbox = Inbox()
        consumer = begin(here.cluster, inbox)
        here.cluster.wait_for(lambda: len(inbox.got) == 4)
        client_id = consumer.client.client_id
        assert here.ask(consumers.members("G")) == [client_id]
        connected = here.ask(consumers.connections("G"))
        assert [one.client_id for one in connected.connection_set] == [client_id]
        assert connected.subscription_table["T"].sub_string == "*"
        info = here.ask(consumers.running_info("G", client_id, with_stacks=True))
        assert queue_of("T") in info.mq_table and info.jstack
        assert client_id in here.ask(consumers.status("G", "T"))
        found = here.ask(consumers.consume_directly("G", client_id, results[0].offset_message_id, topic="T"))
        assert found.consume_result == "CR_SUCCESS" and len(inbox.got) == 5
        assert here.ask(consumers.waiting_pops("G", "T")) == 0


def test_reads_connections_of_producers() -> None:
    with office() as here:
        producer = here.cluster.producer("Senders")
        here.cluster.run(producer.send(Message("T", "x")))
        here.cluster.settle(2.0)
        found = here.ask(consumers.producers())["Senders"]
        assert [one.client_id for one in found] == [producer.client.client_id]
        connected = here.ask(consumers.producer_connections("Senders")).connection_set
        assert [(one.client_id, one.language) for one in connected] == [(producer.client.client_id, "PYTHON")]


def test_unknown_group_is_refused() -> None:
    with office() as here, pytest.raises(BrokerError):
        here.ask(consumers.connections("Unknown"))
