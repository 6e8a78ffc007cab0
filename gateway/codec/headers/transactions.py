"""Transactions: their end, and the broker's question about one that has none.

Standard: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Bool, Header, Int, Long, RpcRequestHeader


class EndTransactionRequestHeader(RpcRequestHeader, code=RequestCode.END_TRANSACTION):
    """Commit (8) or roll back (12) the half message at an offset."""

    topic: str | None = None
    producer_group: str
    tran_state_table_offset: Long
    commit_log_offset: Long
    commit_or_rollback: Int  # 0 not known, 8 commit, 12 roll back
    from_transaction_check: Bool = False
    msg_id: str
    transaction_id: str | None = None


class EndTransactionResponseHeader(Header):
    """Nothing."""


class CheckTransactionStateRequestHeader(RpcRequestHeader, code=RequestCode.CHECK_TRANSACTION_STATE):
    """The broker asks a producer what became of a transaction."""

    topic: str | None = None
    tran_state_table_offset: Long
    commit_log_offset: Long
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None


class CheckTransactionStateResponseHeader(Header):
    """The producer's answer, in versions that answer."""

    producer_group: str
    tran_state_table_offset: Long
    commit_log_offset: Long
    commit_or_rollback: Int


class ResumeCheckHalfMessageRequestHeader(Header, code=RequestCode.RESUME_CHECK_HALF_MESSAGE):
    """Ask again about a half message that was given up."""

    topic: str | None = None
    msg_id: str | None = None
