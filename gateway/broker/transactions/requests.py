"""37 END_TRANSACTION and 323 RESUME_CHECK_HALF_MESSAGE.

Standard: `EndTransactionProcessor`, `AdminBrokerProcessor`.
"""

from mqgateway.engine.message import SysFlag
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.needs import Needs, Request
from mqgateway.gateway.broker.transactions import checks, ends
from mqgateway.gateway.broker.transactions.ends import Resolution, TransactionEnd
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
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
    ends.end_transaction(broker, end, call.now, call.may_use)
    return NO_REPLY if end.resolution is Resolution.UNKNOWN else Reply()


def resume_check(broker: Broker, call: Call) -> Reply:
    """323: check a transaction anew whose half message was given up."""
    header = call.header
    assert isinstance(header, ResumeCheckHalfMessageRequestHeader)
    checks.resume_check(broker, header.msg_id or "", call.may_use)
    return Reply()


REQUESTS: dict[int, Request] = {
    RequestCode.END_TRANSACTION: Request(end_transaction, Needs.NOT_FENCED),
    RequestCode.RESUME_CHECK_HALF_MESSAGE: Request(resume_check, Needs.NOT_FENCED),
}
