"""Commands that the broker sends to gRPC clients by the streams of their Telemetry.

RocketMQ: `GrpcClientChannel`, `ClientActivity.reportThreadStackTrace`, `reportVerifyMessageResult`.
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
from mqgateway.gateway.grpc.service.sessions import Answered, ClientSession
from mqgateway.gateway.grpc.service.status import Code

log = logging.getLogger(__name__)

_RESULTS: dict[int, CMResult] = {
    Code.OK: "CR_SUCCESS",
    Code.FAILED_TO_CONSUME_MESSAGE: "CR_LATER",
    Code.MESSAGE_CORRUPTED: "CR_RETURN_NULL",
}


class GrpcOutgoing:
    """The way to one client. `on_check` is called with each transaction check that the client gets."""

    def __init__(
        self, operations: Operations, session: ClientSession, on_check: Callable[[CheckBack], None]
    ) -> None:
        self._operations = operations
        self._session = session
        self._on_check = on_check

    @property
    def is_open(self) -> bool:
        """True if a command can reach the client."""
        return self._session.has_stream

    def members_changed(self, group: str) -> None:
        """Do nothing: consumers that pop do not share queues."""

    def reset_offsets(self, reset: OffsetReset) -> None:
        """Do nothing: consumers that pop continue from the broker's offset."""

    def offsets(self, group: str, topic: str) -> Deferred[dict[MessageQueue, int]]:
        """Fail: consumers that pop have no queues."""
        return fail(NotAnswered("a gRPC client has no offsets"))

    def push_reply(self, reply: PushedReply) -> Deferred[None]:
        """Fail: gRPC clients send no requests with replies."""
        return fail(NotAnswered("a gRPC client takes no replies"))

    def running_info(
        self, group: str, client_id: str, jstack: bool, fields: Mapping[str, str]
    ) -> Deferred[ClientAnswer]:
        """Return the stacks of the client's threads, if requested; clients report nothing else. The
        subscriptions are known here.
        """
        session = self._session
        if not jstack:
            ready: Deferred[ClientAnswer] = Deferred()
            ready.callback(_running_info(session, None))
            return ready
        nonce = session.next_nonce()
        command = v2.PrintThreadStackTraceCommand(nonce=nonce)
        asked = session.ask(nonce, v2.TelemetryCommand(print_thread_stack_trace_command=command), self._now())
        return asked.addCallback(lambda answer: _stacks(session, answer))

    def consume(self, message: DirectConsumption) -> Deferred[ClientAnswer]:
        """Have the client consume a message now."""
        session, nonce = self._session, self._session.next_nonce()
        stored = decode(message.record)
        command = v2.VerifyMessageCommand(nonce=nonce, message=self._message(message.record, stored.topic))
        asked = session.ask(nonce, v2.TelemetryCommand(verify_message_command=command), self._now())
        return asked.addCallback(_consumed)

    def check_transaction(self, check: CheckBack, broker_name: str) -> None:
        """Check a transaction with the client."""
        topic = decode(check.record).topic
        command = v2.RecoverOrphanedTransactionCommand(
            message=self._message(check.record, topic), transaction_id=check.unique_key or ""
        )
        if self._session.send(v2.TelemetryCommand(recover_orphaned_transaction_command=command)):
            self._on_check(check)
        else:
            log.info("%s cannot be queried about transaction %s", self._session, check.unique_key)

    def unsubscribed(self, subscriber: Subscriber, lite_topic: str) -> None:
        """Notify the client that another client of the group now has a lite topic."""
        command = v2.NotifyUnsubscribeLiteCommand(lite_topic=lite_topic)
        self._session.send(v2.TelemetryCommand(notify_unsubscribe_lite_command=command))

    def _message(self, record: bytes, topic: str) -> v2.Message:
        return received_message(
            decode(record),
            self._operations.clock.millis(),
            self._operations.options.max_inflated_body,
            topic=topic,
        )

    def _now(self) -> int:
        return elapsed_millis(self._operations.clock)


def reconnect(session: ClientSession) -> None:
    """Request a client to reconnect: this server is about to stop."""
    command = v2.ReconnectEndpointsCommand(nonce=session.next_nonce())
    session.send(v2.TelemetryCommand(reconnect_endpoints_command=command))


def _running_info(session: ClientSession, stacks: str | None) -> ClientAnswer:
    info = ConsumerRunningInfo(
        properties={"PROP_CLIENT_VERSION": session.version},
        subscription_set=session.subscriptions,
        jstack=stacks,
    )
    return ClientAnswer(ResponseCode.SUCCESS, info.encode(), None, {})


def _stacks(session: ClientSession, answer: Answered) -> ClientAnswer:
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
