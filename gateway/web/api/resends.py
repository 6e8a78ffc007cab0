"""A stored message sent again, as a new message with its body and its own properties."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX, StoredMessage, SysFlag
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.access.policies import topic as topic_resource
from mqgateway.gateway.broker.operations import NewMessage
from mqgateway.gateway.remedies.replays import copied_properties
from mqgateway.gateway.web.api.messages import find, may_read
from mqgateway.gateway.web.api.topics import PRODUCER_GROUP, put, sent
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.route import ApiError, Role, Route, RouteField


async def resend(console: Console, call: WebCall) -> dict[str, Any]:
    """Send a message again to its topic, or to another one; the stored message stays."""
    stored = await find(console, call, call.path["id"], may_read(console, call))
    target = call.body["topic"] or stored.topic
    if target.startswith((DLQ_PREFIX, RETRY_PREFIX)):
        raise ApiError(400, f"{target} is a topic of retries or dead letters; name a topic of users")
    console.operations.topics.known(target)
    console.entrance.check_needs(call.caller, [Need(topic_resource(target), (Action.PUB,))])
    outcome = sent(await put(console, call, copy_of(stored, target, call.now)))
    call.after = {"topic": target, "id": outcome["id"]}
    return {"topic": target, **outcome}


def copy_of(stored: StoredMessage, target: str, now: int) -> NewMessage:
    """Return a copy of a message for the topic `target`; the property `REPLAY_OF` has the message's id."""
    properties = copied_properties(stored.properties, target, stored.message_id)
    kept = stored.sys_flag & (SysFlag.COMPRESSED | SysFlag.COMPRESSION_TYPE_MASK)
    return NewMessage(
        target,
        stored.body,
        now,
        properties,
        sys_flag=kept,
        flag=stored.flag,
        producer_group=PRODUCER_GROUP,
    )


ROUTES = (
    Route(
        "POST",
        "/messages/{id}/resend",
        Role.OPERATOR,
        "Send a stored message again.",
        resend,
        body=(RouteField("topic", str, "Target topic; empty for the topic of the message.", ""),),
    ),
)
