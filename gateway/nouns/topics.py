"""`mqgateway topic`."""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.mqadmin.declaration import Call, Row, command, flag
from mqgateway.gateway.nouns import whom
from mqgateway.gateway.nouns.borrowed import borrow
from mqgateway.gateway.nouns.rendering import table

_MESSAGE_TYPE = "message.type"
_PERMISSIONS = ((4, "R"), (2, "W"))


@command(
    "topic list",
    flag("a", "all", "those of the servers too, and those of retries and dead letters"),
    whom.CLUSTER,
    text=table("topic", "type", "readQueues", "writeQueues", "perm", "brokers", nothing="no topics"),
)
def list_topics(call: Call) -> Iterator[Row]:
    """One question a broker, whatever the number of topics."""
    hidden: set[str] = set() if "a" in call.given else call.servers.ask_names(names.system_topics())
    found: dict[str, dict[str, TopicConfig]] = {}
    for name, address in whom.brokers(call):
        with call.servers.part(address):
            if "a" not in call.given:
                own: set[str] = call.servers.ask(topics.system_topics(), address)
                hidden |= own
            for topic, config in call.servers.ask(topics.all_configs(), address).items():
                found.setdefault(topic, {})[name] = config
    for topic, configs in sorted(found.items()):
        if topic not in hidden and ("a" in call.given or not topic.startswith((RETRY_PREFIX, DLQ_PREFIX))):
            yield _told_of(topic, configs)


def _told_of(topic: str, configs: dict[str, TopicConfig]) -> Row:
    first = next(iter(configs.values()))
    return {
        "topic": topic,
        "type": first.attributes.get(_MESSAGE_TYPE, "NORMAL"),
        "readQueues": sum(one.read_queue_nums for one in configs.values()),
        "writeQueues": sum(one.write_queue_nums for one in configs.values()),
        "perm": "".join(letter for bit, letter in _PERMISSIONS if first.perm & bit),
        "brokers": sorted(configs),
    }


borrow(
    "topic describe",
    "topicStatus",
    table("brokerName", "queueId", "minOffset", "maxOffset", "lastUpdateTimestamp"),
    t="topic",
)
borrow(
    "topic route",
    "topicRoute",
    table("cluster", "brokerName", "addresses", "readQueueNums", "writeQueueNums", "perm"),
    t="topic",
)
borrow("topic create", "updateTopic", table("topic", "broker"), t="topic")
borrow("topic delete", "deleteTopic", table("topic", "cluster"), t="topic")
