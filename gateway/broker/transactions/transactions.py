"""37 END_TRANSACTION, 323 RESUME_CHECK_HALF_MESSAGE, and 39 CHECK_TRANSACTION_STATE, which asks producers.

What a transaction is and when it is asked about is decided in `engine/transactions`; here are the checks of
what a producer says about one, and who of a group is asked. Any member of the group may answer, from any
connection. Half messages come in by `send.py`.

Standard: `EndTransactionProcessor`, `AbstractTransactionalMessageCheckListener`,
`ProducerManager.getAvailableChannel`, `AdminBrokerProcessor.resumeCheckHalfMessage`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import TRANS_HALF_TOPIC, SysFlag, parse_offset_message_id
from mqgateway.engine.options import BrokerRole
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.transactions import CheckBack, HalfMessage, as_committed
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    CheckTransactionStateRequestHeader,
    EndTransactionRequestHeader,
    ResumeCheckHalfMessageRequestHeader,
)
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Reply, RequestError

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker
    from mqgateway.gateway.broker.clients.table import ClientTable
    from mqgateway.gateway.remoting.call import Peer

log = logging.getLogger(__name__)

OUTCOMES = (SysFlag.TRANSACTION_NOT_TYPE, SysFlag.TRANSACTION_COMMIT, SysFlag.TRANSACTION_ROLLBACK)
"""What a producer may say of a transaction: that it does not know, or how it ends."""
STORED = frozenset(
    {
        PutStatus.PUT_OK,
        PutStatus.FLUSH_DISK_TIMEOUT,
        PutStatus.FLUSH_SLAVE_TIMEOUT,
        PutStatus.SLAVE_NOT_AVAILABLE,
    }
)
FAILED: dict[PutStatus, tuple[int, str]] = {
    PutStatus.CREATE_MAPPED_FILE_FAILED: (ResponseCode.SYSTEM_ERROR, "Create mapped file failed."),
    PutStatus.SERVICE_NOT_AVAILABLE: (ResponseCode.SERVICE_NOT_AVAILABLE, "Service not available now."),
    PutStatus.OS_PAGE_CACHE_BUSY: (
        ResponseCode.SYSTEM_ERROR,
        "OS page cache busy, please try another machine",
    ),
    PutStatus.UNKNOWN_ERROR: (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR"),
    PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH: (ResponseCode.SYSTEM_ERROR, "in-sync replicas not enough"),
}
"""Put statuses with which a commit fails, and what is answered."""

NOT_FOUND = "Find prepared transaction message failed"
RESUME_FAILED = f"Put message back to {TRANS_HALF_TOPIC} failed."
RESUME_IMPOSSIBLE = f"Exception was thrown when putting message back to {TRANS_HALF_TOPIC}."


def end_transaction(broker: Broker, call: Call) -> Reply:
    """37 END_TRANSACTION: commit or roll back a half message; who does not know yet gets no answer."""
    header = call.header
    assert isinstance(header, EndTransactionRequestHeader)
    if broker.store_options.broker_role is BrokerRole.SLAVE:
        raise RequestError(ResponseCode.SLAVE_NOT_AVAILABLE, "a slave ends no transactions")
    outcome = header.commit_or_rollback
    if outcome not in OUTCOMES:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "commitOrRollback field wrong")
    if outcome not in (SysFlag.TRANSACTION_COMMIT, SysFlag.TRANSACTION_ROLLBACK):
        if call.command.remark:
            log.info("transaction %s stays open: %.500s", header.msg_id, call.command.remark)
        return NO_REPLY
    half = _named(broker, call, header)
    if outcome == SysFlag.TRANSACTION_ROLLBACK:
        if not broker.store.is_writable:
            raise RequestError(*FAILED[PutStatus.SERVICE_NOT_AVAILABLE])
        broker.transactions.roll_back(half)
        return Reply()
    try:
        message = as_committed(half, header.commit_log_offset)
        waits = broker.delay_levels.rewrite(message)
    except MessageIllegal:
        raise _illegal(broker) from None
    if not waits and broker.timers.rewrite(message, call.now) is not None:
        raise _illegal(broker)
    result = broker.transactions.commit(half, message)
    if result is not None:
        _check(broker, result)
        broker.stats.put(message.topic, 1, result.end_offset - result.physical_offset)
    return Reply()


def _named(broker: Broker, call: Call, header: EndTransactionRequestHeader) -> HalfMessage:
    """The half message a producer means, if it may end it now."""
    half = broker.transactions.find(header.commit_log_offset)
    if half is None:
        raise RequestError(ResponseCode.SYSTEM_ERROR, NOT_FOUND)
    if not header.from_transaction_check and half.is_overdue(
        broker.transactions.now_for(half), broker.options.transaction_time_out
    ):
        raise RequestError(
            ResponseCode.ILLEGAL_OPERATION, "the time asked for has passed, wait for the check"
        )
    if half.group != header.producer_group:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "The producer group wrong")
    if half.stored.queue_offset != header.tran_state_table_offset:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "The transaction state table offset wrong")
    if half.stored.physical_offset != header.commit_log_offset:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "The commit log offset wrong")
    return half


def _check(broker: Broker, result: PutResult) -> None:
    """Raise what is answered to a commit that could not be stored."""
    if result.status in STORED:
        return
    if result.status in (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED):
        raise _illegal(broker)
    raise RequestError(*FAILED.get(result.status, (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR DEFAULT")))


def _illegal(broker: Broker) -> RequestError:
    return RequestError(
        ResponseCode.MESSAGE_ILLEGAL,
        "The message is illegal, maybe msg body or properties length not matched. msg body length limit "
        f"{broker.store_options.max_message_size}B, msg properties length limit 32KB.",
    )


def resume_check(broker: Broker, call: Call) -> Reply:
    """323 RESUME_CHECK_HALF_MESSAGE: ask anew about a message that was given up."""
    header = call.header
    assert isinstance(header, ResumeCheckHalfMessageRequestHeader)
    try:
        _, _, offset = parse_offset_message_id(header.msg_id or "")
    except ValueError:
        raise RequestError(ResponseCode.SYSTEM_ERROR, RESUME_IMPOSSIBLE) from None
    given_up = broker.store.look_up(offset)
    if given_up is None:
        raise RequestError(ResponseCode.SYSTEM_ERROR, RESUME_IMPOSSIBLE)
    if not broker.transactions.resume(given_up):
        raise RequestError(ResponseCode.SYSTEM_ERROR, RESUME_FAILED)
    return Reply()


def is_reachable(clients: ClientTable, group: str) -> bool:
    """Whether anybody of a producer group can be asked."""
    return any(peer.is_open for peer in clients.producer_groups.get(group, ()))


def ask(broker: Broker, questions: Iterable[CheckBack]) -> None:
    """39 CHECK_TRANSACTION_STATE: ask one connection of each group, all of them in turn."""
    for question in questions:
        peer = _asked(broker.clients, question)
        if peer is None:
            log.info("nobody of producer group %s is there to be asked", question.group)
            continue
        header = CheckTransactionStateRequestHeader(
            topic=TRANS_HALF_TOPIC,
            tran_state_table_offset=question.queue_offset,
            commit_log_offset=question.physical_offset,
            msg_id=question.unique_key,
            transaction_id=question.unique_key,
            offset_msg_id=question.message_id,
            bname=broker.options.broker_name,
        )
        peer.send_oneway(
            RemotingCommand.request(RequestCode.CHECK_TRANSACTION_STATE, header, question.record, oneway=True)
        )


def _asked(clients: ClientTable, question: CheckBack) -> Peer | None:
    members = clients.producer_groups.get(question.group, {}).values()
    peers = [client.peer for client in members if client.peer.is_open]
    return peers[question.number % len(peers)] if peers else None
