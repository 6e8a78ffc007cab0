"""Requests about the progress of groups: 208 and 317 show it, 308 finds the least of all groups, 222 resets
it.

RocketMQ: `AdminBrokerProcessor`.
"""

from mqgateway.gateway.broker.admin import progress
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.bodies import QueryCorrectionOffsetBody, ResetOffsetBody
from mqgateway.gateway.codec.codes import LanguageCode, RequestCode
from mqgateway.gateway.codec.headers import (
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    QueryCorrectionOffsetHeader,
    ResetOffsetRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import LongRequestFunction


def consume_stats(broker: Broker, call: Call) -> Reply:
    """208 GET_CONSUME_STATS; topics are joined by `;`."""
    header = call.header
    assert isinstance(header, GetConsumeStatsRequestHeader)
    topics = [topic for topic in (header.topic_list or "").split(";") if topic]
    stats = progress.consume_stats(broker, header.consumer_group, header.topic or "", topics)
    return Reply(body=stats.encode())


def all_consume_stats(broker: Broker, call: Call) -> Reply:
    """317 GET_BROKER_CONSUME_STATS."""
    header = call.header
    assert isinstance(header, GetConsumeStatsInBrokerHeader)
    return Reply(body=progress.all_consume_stats(broker, only_ordered=header.is_order).encode())


def correction_offset(broker: Broker, call: Call) -> Reply:
    """308 QUERY_CORRECTION_OFFSET; the names of excluded groups are joined by `,`."""
    header = call.header
    assert isinstance(header, QueryCorrectionOffsetHeader)
    without = set((header.filter_groups or "").split(","))
    least = progress.correction_offsets(broker, header.topic, header.compare_group, without)
    return Reply(body=QueryCorrectionOffsetBody(correction_offsets=least).encode())


def reset_offset(broker: Broker, call: Call) -> Reply:
    """222 INVOKE_BROKER_TO_RESET_OFFSET; a request from a C++ client is for C++ members."""
    header = call.header
    assert isinstance(header, ResetOffsetRequestHeader)
    restart = progress.Restart(
        group=header.group,
        topic=header.topic,
        timestamp=header.timestamp,
        queue_id=header.queue_id,
        offset=header.offset,
        is_force=header.is_force,
        as_list=call.command.language == LanguageCode.CPP,
    )
    return Reply(body=ResetOffsetBody(offset_table=progress.reset_offset(broker, restart)).encode())


REQUESTS: dict[int, LongRequestFunction] = {
    RequestCode.GET_CONSUME_STATS: consume_stats,
    RequestCode.GET_BROKER_CONSUME_STATS: all_consume_stats,
    RequestCode.QUERY_CORRECTION_OFFSET: correction_offset,
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: reset_offset,
}
