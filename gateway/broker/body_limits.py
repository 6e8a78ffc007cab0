"""Limits of request bodies, checked before a broker parses them.

Messages have their own limits, checked by `accepting`. Lists of clients and tools may be long and are parsed
as cooperative tasks. Every other body is parsed at once, and must be short.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgateway.engine.options import BrokerOptions, RemotingOptions
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.remoting.limits import BodyLimit, body_limits

MESSAGES = (
    RequestCode.SEND_MESSAGE,
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.SEND_REPLY_MESSAGE,
    RequestCode.SEND_REPLY_MESSAGE_V2,
)
LISTS = (RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST)


def limits_of_bodies(
    codes: Iterable[int], remoting: RemotingOptions, options: BrokerOptions
) -> dict[int, BodyLimit]:
    """Return the limit of each request code that has one."""
    lists = BodyLimit(options, "max_list_size", "max_list_parts")
    others: dict[int, BodyLimit | None] = {
        **dict.fromkeys(MESSAGES, None),
        **dict.fromkeys(LISTS, lists),
        RequestCode.HEART_BEAT: BodyLimit(options, "max_heartbeat_body_size", "max_heartbeat_parts"),
    }
    return body_limits(codes, remoting, others)
