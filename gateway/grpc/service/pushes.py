"""What the broker says to gRPC clients of its own accord, by the streams of their Telemetry.

Standard: `GrpcClientChannel`, `ClientActivity.reportThreadStackTrace`, `reportVerifyMessageResult`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from twisted.internet.defer import Deferred, fail

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.lite.subscriptions import Subscriber
from mqgateway.engine.store.record import decode
from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.operations import (
    ClientAnswer,
    DirectConsumption,
    NotAnswered,
    OffsetReset,
    Operations,
    PushedReply,
)
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.bodies.consuming import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from mqgateway.gateway.codec.bodies.enums import CMResult
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.properties import received_message
from mqgateway.gateway.grpc.service.sessions import Answered, Session
from mqgateway.gateway.grpc.service.status import Code

log = logging.getLogger(__name__)

_RESULTS: dict[int, CMResult] = {
    Code.OK: "CR_SUCCESS",
    Code.FAILED_TO_CONSUME_MESSAGE: "CR_LATER",
    Code.MESSAGE_CORRUPTED: "CR_RETURN_NULL",
}


class GrpcOutgoing:
    """The way to one client. `on_check` is told of each transaction that the client is asked about."""

    def __init__(
        self, operations: Operations, session: Session, on_check: Callable[[CheckBack], None]
    ) -> None:
        self._operations = operations
        self._session = session
        self._on_check = on_check

    @property
    def is_open(self) -> bool:
        """Whether what is said reaches the client."""
        return self._session.has_stream

    def members_changed(self, group: str) -> None:
        """Who pops shares no queues."""

    def reset_offsets(self, reset: OffsetReset) -> None:
        """Who pops goes on where the broker says."""

    def offsets(self, group: str, topic: str) -> Deferred[dict[MessageQueue, int]]:
        """Who pops has no queues."""
        return fail(NotAnswered("a gRPC client has no offsets"))

    def push_reply(self, reply: PushedReply) -> Deferred[None]:
        """gRPC clients send no requests that are replied to."""
        return fail(NotAnswered("a gRPC client takes no replies"))

    def running_info(
        self, group: str, client_id: str, jstack: bool, fields: Mapping[str, str]
    ) -> Deferred[ClientAnswer]:
        """The stacks of its threads, if they are wished for: it tells nothing else. What it subscribes to is
        known here."""
        session = self._session
        if not jstack:
            told: Deferred[ClientAnswer] = Deferred()
            told.callback(_running_info(session, None))
            return told
        nonce = session.next_nonce()
        command = v2.PrintThreadStackTraceCommand(nonce=nonce)
        asked = session.ask(nonce, v2.TelemetryCommand(print_thread_stack_trace_command=command), self._now())
        return asked.addCallback(lambda answer: _stacks(session, answer))

    def consume(self, message: DirectConsumption) -> Deferred[ClientAnswer]:
        """Have it consume a message now."""
        session, nonce = self._session, self._session.next_nonce()
        stored = decode(message.record)
        command = v2.VerifyMessageCommand(nonce=nonce, message=self._message(message.record, stored.topic))
        asked = session.ask(nonce, v2.TelemetryCommand(verify_message_command=command), self._now())
        return asked.addCallback(_consumed)

    def check_transaction(self, check: CheckBack, broker_name: str) -> None:
        """Ask what became of a transaction."""
        topic = decode(check.record).topic
        command = v2.RecoverOrphanedTransactionCommand(
            message=self._message(check.record, topic), transaction_id=check.unique_key or ""
        )
        if self._session.tell(v2.TelemetryCommand(recover_orphaned_transaction_command=command)):
            self._on_check(check)
        else:
            log.info("%s cannot be queried about transaction %s", self._session, check.unique_key)

    def unsubscribed(self, subscriber: Subscriber, lite_topic: str) -> None:
        """Tell it that another client of the group has a lite topic now."""
        command = v2.NotifyUnsubscribeLiteCommand(lite_topic=lite_topic)
        self._session.tell(v2.TelemetryCommand(notify_unsubscribe_lite_command=command))

    def _message(self, record: bytes, topic: str) -> v2.Message:
        return received_message(
            decode(record),
            self._operations.clock.millis(),
            self._operations.options.max_inflated_body,
            topic=topic,
        )

    def _now(self) -> int:
        return elapsed_millis(self._operations.clock)


def reconnect(session: Session) -> None:
    """Tell a client to connect anew: this server is about to stop."""
    command = v2.ReconnectEndpointsCommand(nonce=session.next_nonce())
    session.tell(v2.TelemetryCommand(reconnect_endpoints_command=command))


def _running_info(session: Session, stacks: str | None) -> ClientAnswer:
    info = ConsumerRunningInfo(
        properties={"PROP_CLIENT_VERSION": session.version},
        subscription_set=session.subscriptions,
        jstack=stacks,
    )
    return ClientAnswer(ResponseCode.SUCCESS, info.encode(), None, {})


def _stacks(session: Session, answer: Answered) -> ClientAnswer:
    status, text = answer
    if status.code == Code.OK:
        return _running_info(session, text)
    if status.code == Code.VERIFY_FIFO_MESSAGE_UNSUPPORTED:
        return ClientAnswer(ResponseCode.NO_PERMISSION, b"", "forbidden to verify message", {})
    return ClientAnswer(ResponseCode.SYSTEM_ERROR, b"", "verify message failed", {})


def _consumed(answer: Answered) -> ClientAnswer:
    result = ConsumeMessageDirectlyResult(
        consume_result=_RESULTS.get(answer[0].code), remark="from gRPC client"
    )
    return ClientAnswer(ResponseCode.SUCCESS, result.encode(), None, {})
