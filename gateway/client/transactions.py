"""Transactional messages: half messages, their commit or rollback, and transaction checks.

The message is stored where no consumer sees it. Then the listener executes the local transaction, and its
outcome is sent to the broker. If the outcome does not arrive or is UNKNOWN, the broker checks again, as often
as needed.
RocketMQ: `TransactionMQProducer`, `TransactionListener`, `DefaultMQProducerImpl.sendMessageInTransaction`.
"""

from __future__ import annotations

import logging
from typing import Any, Protocol, Unpack

from twisted.internet.defer import Deferred, maybeDeferred

from mqgateway.engine.message import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_TRANSACTION_ID,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_UNIQ_KEY,
    SysFlag,
    parse_offset_message_id,
)
from mqgateway.gateway.client.asking import as_deferred
from mqgateway.gateway.client.client import Client, Environment
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.message import (
    Message,
    ReceivedMessage,
    SendResult,
    SendStatus,
    TransactionResult,
    TransactionState,
)
from mqgateway.gateway.client.namespaces import with_namespace, without_namespace
from mqgateway.gateway.client.producer import Producer
from mqgateway.gateway.client.send_arguments import check_send
from mqgateway.gateway.client.settings import ProducerSettings
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import CheckTransactionStateRequestHeader, EndTransactionRequestHeader

log = logging.getLogger(__name__)

_ENDINGS = {
    TransactionState.COMMIT: SysFlag.TRANSACTION_COMMIT,
    TransactionState.ROLLBACK: SysFlag.TRANSACTION_ROLLBACK,
    TransactionState.UNKNOWN: SysFlag.TRANSACTION_NOT_TYPE,
}


class TransactionListener(Protocol):
    """Listener of a transaction producer. Both methods return the state or a Deferred of it."""

    def execute(self, message: Message, argument: Any) -> TransactionState | Deferred[TransactionState]:
        """Execute the local transaction of a message, which is stored but not yet visible."""
        ...

    def check(self, message: ReceivedMessage) -> TransactionState | Deferred[TransactionState]:
        """Return the outcome of an earlier transaction, possibly of another process."""
        ...


class TransactionProducer(Producer):
    """Producer of transactional messages."""

    def __init__(
        self,
        group: str,
        environment: Environment,
        listener: TransactionListener,
        *,
        client: Client | None = None,
        **settings: Unpack[ProducerSettings],
    ) -> None:
        super().__init__(group, environment, client=client, **settings)
        self._listener = listener

    @as_deferred
    async def send_in_transaction(self, message: Message, argument: Any = None) -> TransactionResult:
        """Store a half message, execute the local transaction, and send its outcome to the broker.

        The listener gets the message and `argument`; its failure counts as UNKNOWN, so the broker will check.
        A half message that is stored less safely than configured is rolled back without calling the listener.
        Raises as `send`; then the listener was not called.
        """
        check_send(message, None, None)
        properties = message.properties
        properties.pop(PROPERTY_DELAY_TIME_LEVEL, None)  # a half message has no delay level
        message.put(PROPERTY_TRANSACTION_PREPARED, "true")
        message.put(PROPERTY_PRODUCER_GROUP, self.group)
        sent = await self.send(message)
        state, remark = TransactionState.ROLLBACK, None
        if sent.status is SendStatus.SEND_OK:
            if sent.transaction_id:
                message.put(PROPERTY_TRANSACTION_ID, sent.transaction_id)
            state, remark = await self._state_of(
                "executeLocalTransactionBranch", self._listener.execute, message, argument
            )
        try:
            await self._end(message, sent, state, remark)
        except ClientError as error:
            log.warning("the broker was not told that a transaction came to %s: %s", state, error)
        return TransactionResult(sent, state)

    def check_transaction(
        self, address: str, message: ReceivedMessage, header: CheckTransactionStateRequestHeader
    ) -> None:
        """Answer a transaction check, at the address of the broker that sent it."""
        self.client.spawn(self._check(address, message, header))

    async def _check(
        self, address: str, message: ReceivedMessage, header: CheckTransactionStateRequestHeader
    ) -> None:
        message.topic = without_namespace(self.options.namespace, message.topic)
        state, remark = await self._state_of("checkLocalTransactionState", self._listener.check, message)
        ending = EndTransactionRequestHeader(
            topic=header.topic,
            producer_group=self.group,
            tran_state_table_offset=header.tran_state_table_offset,
            commit_log_offset=header.commit_log_offset,
            commit_or_rollback=_ENDINGS[state],
            from_transaction_check=True,
            msg_id=message.properties.get(PROPERTY_UNIQ_KEY) or message.message_id,
            transaction_id=header.transaction_id,
            bname=header.bname,
        )
        self.client.asking.send_oneway(address, RequestCode.END_TRANSACTION, ending, remark=remark)
        if self.tracer is not None:
            self.tracer.ended(message, ending.msg_id or "", address, state, is_check=True)

    async def _end(
        self, message: Message, sent: SendResult, state: TransactionState, remark: str | None
    ) -> None:
        _, _, offset = parse_offset_message_id(sent.offset_message_id)
        topic = with_namespace(self.options.namespace, message.topic)
        queue = MessageQueue(topic, sent.queue.broker_name, sent.queue.queue_id)
        address = await self.client.master_of(queue)
        ending = EndTransactionRequestHeader(
            topic=topic,
            producer_group=self.group,
            tran_state_table_offset=sent.queue_offset,
            commit_log_offset=offset,
            commit_or_rollback=_ENDINGS[state],
            msg_id=sent.message_id,
            transaction_id=sent.transaction_id,
            bname=queue.broker_name,
        )
        self.client.asking.send_oneway(address, RequestCode.END_TRANSACTION, ending, remark=remark)
        if self.tracer is not None:
            self.tracer.ended(message, sent.message_id, address, state, is_check=False)

    async def _state_of(self, what: str, function: Any, *args: Any) -> tuple[TransactionState, str | None]:
        """Call the listener and return its state, with a remark for the broker's log if it failed."""
        try:
            state = await maybeDeferred(function, *args)
            return TransactionState(state or TransactionState.UNKNOWN), None
        except Exception as error:
            log.exception("the listener of %s failed: %s", self.group, what)
            return TransactionState.UNKNOWN, f"{what} Exception: {type(error).__name__}, {error}"
