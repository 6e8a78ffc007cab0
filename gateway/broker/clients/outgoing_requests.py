"""Notifications and requests to clients of the remoting protocol, as commands.

40 notifies of changed members, 220 of offsets; 221 requests offsets, 307 running info, 309 the consumption of
a message, 326 the acceptance of a reply, 39 the state of a transaction. RocketMQ: `Broker2Client`,
`ReplyMessageProcessor`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.message import TRANS_HALF_TOPIC, format_properties, unpack_host
from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.clients.outgoing import (
    ClientAnswer,
    DirectConsumption,
    NotAnswered,
    OffsetReset,
    PushedReply,
)
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import (
    GetConsumerStatusBody,
    MessageQueue,
    MessageQueueForC,
    ResetOffsetBody,
    ResetOffsetBodyForC,
)
from mqgateway.gateway.codec.codes import V3_1_8_SNAPSHOT, RequestCode, ResponseCode, version_name
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import (
    CheckTransactionStateRequestHeader,
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    NotifyConsumerIdsChangedRequestHeader,
    ReplyMessageRequestHeader,
    ResetOffsetRequestHeader,
)
from mqgateway.gateway.remoting.call import Peer
from mqgateway.gateway.remoting.exchange import RemotingError, RequestTimedOut

log = logging.getLogger(__name__)

ANSWER_SECONDS = 10.0
"""Time limit of a request to one client. RocketMQ: `Broker2Client.callClient`, `ReplyMessageProcessor`."""
OFFSETS_SECONDS = 5.0
"""Time limit of a request to all members. RocketMQ: `Broker2Client.getConsumeStatus`."""


class RemotingOutgoing:
    """Channel to a client of the remoting protocol; `version` is the ordinal in its commands."""

    __slots__ = ("_peer", "_version")

    def __init__(self, peer: Peer, version: int) -> None:
        self._peer = peer
        self._version = version

    @property
    def is_open(self) -> bool:
        """True while the connection is open."""
        return self._peer.is_open

    def members_changed(self, group: str) -> None:
        """40 NOTIFY_CONSUMER_IDS_CHANGED."""
        header = NotifyConsumerIdsChangedRequestHeader(consumer_group=group)
        self._notify(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header, b"", f"group {group} changed")

    def reset_offsets(self, reset: OffsetReset) -> None:
        """220 RESET_CONSUMER_CLIENT_OFFSET."""
        header = ResetOffsetRequestHeader(
            group=reset.group, topic=reset.topic, timestamp=reset.timestamp, is_force=False
        )
        body = ResetOffsetBody(offset_table=reset.offsets) if not reset.as_list else _listed(reset.offsets)
        what = f"group {reset.group} goes on elsewhere in {reset.topic}"
        self._notify(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, header, body.encode(), what)

    def offsets(self, group: str, topic: str) -> Deferred[dict[MessageQueue, int]]:
        """221 GET_CONSUMER_STATUS_FROM_CLIENT."""
        header = GetConsumerStatusRequestHeader(topic=topic, group=group)
        command = RemotingCommand.request(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, header)
        return self._ask(command, OFFSETS_SECONDS).addCallback(
            lambda answer: GetConsumerStatusBody.decode(answer.body).message_queue_table
        )

    def running_info(
        self, group: str, client_id: str, jstack: bool, fields: Mapping[str, str]
    ) -> Deferred[ClientAnswer]:
        """307 GET_CONSUMER_RUNNING_INFO."""
        self._check_version(client_id)
        header = GetConsumerRunningInfoRequestHeader(
            consumer_group=group, client_id=client_id, jstack_enable=jstack
        )
        return self._pass_on(RequestCode.GET_CONSUMER_RUNNING_INFO, header, fields)

    def consume(self, message: DirectConsumption) -> Deferred[ClientAnswer]:
        """309 CONSUME_MESSAGE_DIRECTLY."""
        self._check_version(message.client_id)
        header = ConsumeMessageDirectlyResultRequestHeader(
            consumer_group=message.group,
            client_id=message.client_id,
            msg_id=message.message_id,
            broker_name=message.broker_name,
            topic=message.topic,
            topic_sys_flag=message.topic_sys_flag,
            group_sys_flag=message.group_sys_flag,
        )
        code = RequestCode.CONSUME_MESSAGE_DIRECTLY
        return self._pass_on(code, header, message.fields, message.record)

    def push_reply(self, reply: PushedReply) -> Deferred[None]:
        """326 PUSH_REPLY_MESSAGE_TO_CLIENT."""
        message = reply.message
        ip, port = unpack_host(reply.store_host)
        header = ReplyMessageRequestHeader(
            producer_group=message.producer_group,
            topic=message.topic,
            default_topic=message.default_topic,
            default_topic_queue_nums=message.default_topic_queue_nums,
            queue_id=message.queue_id,
            sys_flag=message.sys_flag,
            born_timestamp=message.born_timestamp,
            flag=message.flag,
            properties=format_properties(message.properties),
            reconsume_times=message.reconsume_times if message.is_counted else None,
            unit_mode=message.unit_mode,
            born_host=reply.born_address,
            store_host=f"{ip}:{port}",
            store_timestamp=reply.store_timestamp,
        )
        command = RemotingCommand.request(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, header, message.body)
        return self._ask(command, ANSWER_SECONDS).addCallback(_taken)

    def check_transaction(self, check: CheckBack, broker_name: str) -> None:
        """39 CHECK_TRANSACTION_STATE; answered with 37."""
        header = CheckTransactionStateRequestHeader(
            topic=TRANS_HALF_TOPIC,
            tran_state_table_offset=check.queue_offset,
            commit_log_offset=check.physical_offset,
            msg_id=check.unique_key,
            transaction_id=check.unique_key,
            offset_msg_id=check.message_id,
            bname=broker_name,
        )
        what = f"transaction {check.unique_key} is open"
        self._notify(RequestCode.CHECK_TRANSACTION_STATE, header, check.record, what)

    def _pass_on(
        self, code: RequestCode, header: Header, fields: Mapping[str, str], body: bytes = b""
    ) -> Deferred[ClientAnswer]:
        """Send a request with the caller's fields, overridden by those of `header`.

        RocketMQ: `AdminBrokerProcessor.callConsumer`.
        """
        command = RemotingCommand.request(code, body=body, ext={**fields, **header.encode()})
        return self._ask(command, ANSWER_SECONDS).addCallback(_answer)

    def _check_version(self, client_id: str) -> None:
        if self._version < V3_1_8_SNAPSHOT:
            raise OperationError(
                Reason.SYSTEM_ERROR,
                f"The Consumer <{client_id}> Version <{version_name(self._version)}> too low to finish, "
                "please upgrade it to V3_1_8_SNAPSHOT",
            )

    def _notify(self, code: RequestCode, header: Header, body: bytes, what: str) -> None:
        try:
            self._peer.send_oneway(RemotingCommand.request(code, header, body, oneway=True))
        except RemotingError as error:
            log.info("%s could not be notified that %s: %s", self._peer.address, what, error)

    def _ask(self, command: RemotingCommand, seconds: float) -> Deferred[RemotingCommand]:
        return self._peer.request(command, seconds).addErrback(_not_answered)


def _answer(answer: RemotingCommand) -> ClientAnswer:
    return ClientAnswer(answer.code, answer.body, answer.remark, answer.ext_fields)


def _taken(answer: RemotingCommand) -> None:
    if answer.code != ResponseCode.SUCCESS:
        raise NotAnswered(f"it answers {answer.code} {answer.remark}")


def _not_answered(failure: Failure) -> RemotingCommand:
    error = failure.value
    raise NotAnswered(f"{type(error).__name__}, {error}", is_late=isinstance(error, RequestTimedOut))


def _listed(offsets: dict[MessageQueue, int]) -> ResetOffsetBodyForC:
    return ResetOffsetBodyForC(
        offset_table=[
            MessageQueueForC(queue.topic, queue.broker_name, queue.queue_id, offset)
            for queue, offset in offsets.items()
        ]
    )
