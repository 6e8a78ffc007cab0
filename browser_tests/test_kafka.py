"""Topics, groups and transactions of Kafka clients in the pages that show RocketMQ's."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Route

from browser_tests.conftest import Server, Visitor
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.headers import RequestHeader, read_response_header, write_request_header
from mqgateway.gateway.kafka.codec.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from mqgateway.gateway.kafka.codec.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.plans import encode_into, read
from mqgateway.gateway.kafka.codec.schema import Message

SIZE = struct.Struct(">i")
ANSWER_SECONDS = 60
"""Limit of an answer: the first connection loads the modules of the protocol."""


class KafkaConnection:
    """A connection of the Kafka client `app`."""

    def __init__(self, server: Server) -> None:
        host, port = server.summary["kafka"].rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), ANSWER_SECONDS)
        self._file = self._socket.makefile("rb")

    def ask(self, request: Message, version: int | None = None) -> Any:
        """Send a request and return its answer."""
        api = APIS[request.KEY]
        version = api.latest if version is None else version
        out = bytearray()
        write_request_header(out, RequestHeader(api.key, version, 1, "app"))
        encode_into(out, request, version)
        self._socket.sendall(SIZE.pack(len(out)) + out)
        [size] = SIZE.unpack(self._file.read(SIZE.size))
        reader = Reader(self._file.read(size))
        read_response_header(reader, api.key, version)
        return read(api.response, reader, version)

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self._socket.close()


def test_kafka_topics_groups_and_transactions_are_shown(
    serve: Callable[..., Server], visit: Callable[..., Visitor]
) -> None:
    server, visitor = serve(), visit()
    visitor.open(server.url)
    kafka = KafkaConnection(server)
    kafka.ask(CreateTopicsRequest([CreatableTopic("payments", 2, -1)]))
    joined = ConsumerGroupHeartbeatRequest("billing", "m-1", 0)
    joined.rebalance_timeout_ms, joined.topic_partitions = 30_000, ()
    joined.subscribed_topic_names = ("payments",)
    assert kafka.ask(joined).error_code == 0
    producer = kafka.ask(InitProducerIdRequest("shop", 60_000, -1, -1))
    added = [AddPartitionsToTxnTopic("payments", (1,))]
    kafka.ask(AddPartitionsToTxnRequest((), "shop", producer.producer_id, producer.producer_epoch, added), 3)
    visitor.visit("topics")
    visitor.page.locator("tr", has_text="payments").get_by_text("Kafka").wait_for()
    visitor.visit("groups")
    row = visitor.page.locator("tr", has_text="billing")
    assert "Kafka consumer" in row.inner_text() and "Stable" in row.inner_text()
    visitor.visit("groups/billing")
    visitor.page.get_by_role("cell", name="payments: 0, 1").wait_for()
    assert not visitor.barriers()
    visitor.press("Why is it stuck?")
    visitor.sees("No problems found")
    visitor.page.keyboard.press("Escape")
    visitor.visit("transactions")
    visitor.page.get_by_role("cell", name="payments: 1").wait_for()
    assert "Ongoing" in visitor.page.locator("tr", has_text="shop").inner_text()
    kafka.close()


def test_transactions_that_do_not_end_are_shown_with_their_commands(
    serve: Callable[..., Server], visit: Callable[..., Visitor]
) -> None:
    server, visitor = serve(), visit()
    late = {
        "id": "shop",
        "state": "Ongoing",
        "producer_id": 7,
        "epoch": 0,
        "started": 1000,
        "timeout": 60_000,
    }
    late |= {"partitions": ["payments: 1"], "is_late": True, "remedy": "abort shop"}
    unwritten = late | {"id": "other", "state": "PrepareCommit", "remedy": ""}
    hanging: dict[str, Any] = {
        "topic": "payments",
        "partition": 0,
        "producer_id": 8,
        "epoch": 0,
        "first_offset": 4,
    }
    hanging |= {"first_offset": 4, "stored": 1000, "remedy": "abort payments"}

    def with_transactions(route: Route) -> None:
        answer = route.fetch().json() | {"kafka": [late, unwritten], "hanging": [hanging]}
        route.fulfill(json=answer)

    visitor.page.route("**/api/v1/transactions", with_transactions)
    visitor.open(server.url)
    visitor.visit("transactions")
    assert "abort it: abort shop" in visitor.page.locator("tr", has_text="shop").inner_text()
    assert "markers are missing" in visitor.page.locator("tr", has_text="PrepareCommit").inner_text()
    visitor.sees("Hanging transactions")
    visitor.page.get_by_role("cell", name="abort payments").wait_for()
    assert not visitor.barriers()
