"""37 END_TRANSACTION and 323 RESUME_CHECK_HALF_MESSAGE.

RocketMQ: `EndTransactionProcessor`, `AdminBrokerProcessor`.
"""

from mqgateway.engine.message import SysFlag
from mqgateway.gateway.broker.operations import Operations, Permit, Resolution, TransactionEnd, Use
from mqgateway.gateway.broker.translated import Translated
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


def end_transaction(operations: Operations, permit: Permit, call: Call) -> Reply:
    """37: end a transaction; a request with an unknown resolution is not answered."""
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
    operations.transactions.end(permit, end, call.may_use)
    return NO_REPLY if end.resolution is Resolution.UNKNOWN else Reply()


def resume_check(operations: Operations, permit: Permit, call: Call) -> Reply:
    """323: check a transaction again whose half message was given up."""
    header = call.header
    assert isinstance(header, ResumeCheckHalfMessageRequestHeader)
    operations.transactions.resume_check(permit, header.msg_id or "", call.may_use)
    return Reply()


REQUESTS: dict[int, Translated] = {
    RequestCode.END_TRANSACTION: Translated(end_transaction, Use.END_TRANSACTION),
    RequestCode.RESUME_CHECK_HALF_MESSAGE: Translated(resume_check, Use.ADMINISTER),
}
