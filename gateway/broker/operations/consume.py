"""Pulls: messages of a queue from an offset on."""

from __future__ import annotations

from dataclasses import dataclass

from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.pull_request import FLAG_SUBSCRIPTION, FLAG_SUSPEND, PullOutcome
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Use
from mqgateway.gateway.broker.static_topics.operations import OF_ANY_TOPIC


@dataclass(frozen=True, slots=True)
class Fetch:
    """A request for messages of a queue from an offset on. `max_wait` is in ms."""

    group: str
    topic: str
    queue_id: int
    offset: int
    max_messages: int
    max_wait: int
    expression: str | None
    expression_type: str | None


@dataclass(slots=True)
class _Request:
    """A `PullRequest`."""

    consumer_group: str
    topic: str
    queue_id: int
    queue_offset: int
    max_msg_nums: int
    suspend_timeout_millis: int
    subscription: str | None
    expression_type: str | None
    sys_flag: int = FLAG_SUSPEND | FLAG_SUBSCRIPTION
    lite_topic: str | None = None
    commit_offset: int = 0
    sub_version: int = 0
    max_msg_bytes: int | None = None
    request_source: int | None = None
    proxy_froward_client_id: str | None = None


class Consume:
    """Pulls from one broker, from queues that are its own or are mapped (static topics)."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def pull(self, permit: Permit, fetch: Fetch) -> PullOutcome | Deferred[PullOutcome]:
        """Return messages, or wait for them; cancel the Deferred to end the wait. Raises `OperationError`."""
        self._gate.enter(permit, Use.PULL)
        request = _Request(
            fetch.group,
            fetch.topic,
            fetch.queue_id,
            fetch.offset,
            fetch.max_messages,
            fetch.max_wait,
            fetch.expression,
            fetch.expression_type,
        )
        return OF_ANY_TOPIC.pull(self._broker, request, permit.connection, is_lite=True)
