"""How large the body of each request may be before a broker looks into it.

Messages have the limits of messages, which `accepting` keeps. What clients and tools list may be long, and is
read in steps; everything else is read in one go, and has to be short.
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
    """The limit of each request code that has one."""
    lists = BodyLimit(options, "max_list_size", "max_list_parts")
    others: dict[int, BodyLimit | None] = {
        **dict.fromkeys(MESSAGES, None),
        **dict.fromkeys(LISTS, lists),
        RequestCode.HEART_BEAT: BodyLimit(options, "max_heartbeat_body_size", "max_heartbeat_parts"),
    }
    return body_limits(codes, remoting, others)
