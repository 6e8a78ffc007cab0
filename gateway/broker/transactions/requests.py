"""37 END_TRANSACTION, 323 RESUME_CHECK_HALF_MESSAGE, and 39 CHECK_TRANSACTION_STATE, which asks producers.

Standard: `EndTransactionProcessor`, `Broker2Client.checkProducerTransactionState`.
"""

from mqgateway.engine.message import TRANS_HALF_TOPIC, SysFlag
from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.table import Client
from mqgateway.gateway.broker.needs import Needs, Request
from mqgateway.gateway.broker.transactions import checks, ends
from mqgateway.gateway.broker.transactions.ends import Resolution, TransactionEnd
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    CheckTransactionStateRequestHeader,
    EndTransactionRequestHeader,
    ResumeCheckHalfMessageRequestHeader,
)
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Reply

RESOLUTIONS: dict[int, Resolution] = {
    SysFlag.TRANSACTION_NOT_TYPE: Resolution.UNKNOWN,
    SysFlag.TRANSACTION_COMMIT: Resolution.COMMIT,
    SysFlag.TRANSACTION_ROLLBACK: Resolution.ROLLBACK,
}


def end_transaction(broker: Broker, call: Call) -> Reply:
    """37: who does not know yet gets no answer."""
    header = call.header
    assert isinstance(header, EndTransactionRequestHeader)
    end = TransactionEnd(
        resolution=RESOLUTIONS.get(header.commit_or_rollback),
        producer_group=header.producer_group,
        queue_offset=header.tran_state_table_offset,
        physical_offset=header.commit_log_offset,
        is_answer=header.from_transaction_check,
        message_id=header.msg_id,
        remark=call.command.remark,
    )
    ends.end_transaction(broker, end, call.now)
    return NO_REPLY if end.resolution is Resolution.UNKNOWN else Reply()


def resume_check(broker: Broker, call: Call) -> Reply:
    """323: check a transaction anew whose half message was given up."""
    header = call.header
    assert isinstance(header, ResumeCheckHalfMessageRequestHeader)
    checks.resume_check(broker, header.msg_id or "")
    return Reply()


def send_check(broker: Broker, client: Client, check: CheckBack) -> None:
    """39: ask a producer what became of a transaction; it answers with 37, or not at all."""
    header = CheckTransactionStateRequestHeader(
        topic=TRANS_HALF_TOPIC,
        tran_state_table_offset=check.queue_offset,
        commit_log_offset=check.physical_offset,
        msg_id=check.unique_key,
        transaction_id=check.unique_key,
        offset_msg_id=check.message_id,
        bname=broker.options.broker_name,
    )
    client.peer.send_oneway(
        RemotingCommand.request(RequestCode.CHECK_TRANSACTION_STATE, header, check.record, oneway=True)
    )


REQUESTS: dict[int, Request] = {
    RequestCode.END_TRANSACTION: Request(end_transaction, Needs.NOT_FENCED),
    RequestCode.RESUME_CHECK_HALF_MESSAGE: Request(resume_check, Needs.NOT_FENCED),
}
