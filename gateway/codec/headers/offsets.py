"""Offsets: limits of queues, offsets by time, progress of consumer groups and resetting it.

Standard: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import (
    Bool,
    Boundary,
    Header,
    Int,
    Long,
    RpcRequestHeader,
    TopicRequestHeader,
)


class GetMaxOffsetRequestHeader(TopicRequestHeader, code=RequestCode.GET_MAX_OFFSET):
    """The offset the next message of a queue will have."""

    topic: str
    queue_id: Int
    committed: Bool = True  # only what all replicas have


class GetMaxOffsetResponseHeader(Header):
    """The offset asked for."""

    offset: Long


class GetMinOffsetRequestHeader(TopicRequestHeader, code=RequestCode.GET_MIN_OFFSET):
    """The offset of the oldest message of a queue."""

    topic: str
    queue_id: Int


class GetMinOffsetResponseHeader(Header):
    """The offset asked for."""

    offset: Long


class SearchOffsetRequestHeader(TopicRequestHeader, code=RequestCode.SEARCH_OFFSET_BY_TIMESTAMP):
    """The offset of the message stored at a time."""

    topic: str
    lite_topic: str | None = None
    queue_id: Int
    timestamp: Long  # ms since the epoch
    boundary_type: Boundary | None = None


class SearchOffsetResponseHeader(Header):
    """The offset asked for."""

    offset: Long


class GetEarliestMsgStoretimeRequestHeader(TopicRequestHeader, code=RequestCode.GET_EARLIEST_MSG_STORETIME):
    """When the oldest message of a queue was stored."""

    topic: str
    queue_id: Int


class GetEarliestMsgStoretimeResponseHeader(Header):
    """The time asked for."""

    timestamp: Long  # ms since the epoch


class QueryConsumerOffsetRequestHeader(TopicRequestHeader, code=RequestCode.QUERY_CONSUMER_OFFSET):
    """How far a group has consumed a queue."""

    consumer_group: str = ""
    topic: str
    queue_id: Int
    set_zero_if_not_found: Bool | None = None


class QueryConsumerOffsetResponseHeader(Header):
    """The offset asked for."""

    offset: Long


class UpdateConsumerOffsetRequestHeader(TopicRequestHeader, code=RequestCode.UPDATE_CONSUMER_OFFSET):
    """A group has consumed a queue up to here."""

    consumer_group: str = ""
    topic: str
    queue_id: Int | None = None
    commit_offset: Long | None = None


class UpdateConsumerOffsetResponseHeader(Header):
    """Nothing."""


class InitConsumerOffsetRequestHeader(TopicRequestHeader):
    """Where a new group is to start."""

    topic: str | None = None
    init_mode: Int = 0


class ResetOffsetRequestHeader(
    TopicRequestHeader,
    code=(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, RequestCode.RESET_CONSUMER_CLIENT_OFFSET),
    is_strict=True,
):
    """Set a group back or forth to a time, or one queue of it to an offset."""

    group: str = ""
    topic: str
    queue_id: Int = -1  # -1: all
    offset: Long | None = None
    timestamp: Long  # ms since the epoch; -1 latest, -2 earliest
    is_force: Bool = False


class QueryCorrectionOffsetHeader(TopicRequestHeader, code=RequestCode.QUERY_CORRECTION_OFFSET):
    """The smallest offsets of a topic's groups, compared with one group."""

    filter_groups: str | None = None
    compare_group: str = ""
    topic: str


class CloneGroupOffsetRequestHeader(RpcRequestHeader, code=RequestCode.CLONE_GROUP_OFFSET):
    """Give one group the progress of another."""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: Bool = False
