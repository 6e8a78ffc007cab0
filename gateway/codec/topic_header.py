"""Header of the request that creates or changes a topic, as brokers and clients send it.

RocketMQ: `MQClientAPIImpl.createTopic`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mqgateway.engine.message import DEFAULT_TOPIC
from mqgateway.gateway.codec.headers import CreateTopicRequestHeader


class TopicSettings(Protocol):
    """Settings of a topic; `TopicConfig` has them."""

    topic_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_filter_type: str
    topic_sys_flag: int
    order: bool


def create_topic_header(config: TopicSettings, changes: Mapping[str, str]) -> CreateTopicRequestHeader:
    """Return the header for a topic.

    `changes` are those of its attributes: values by `+name`, and `-name`, whose value is ignored, for
    attributes to delete.
    """
    texts = [key if key.startswith("-") else f"{key}={value}" for key, value in changes.items()]
    return CreateTopicRequestHeader(
        topic=config.topic_name,
        default_topic=DEFAULT_TOPIC,
        read_queue_nums=config.read_queue_nums,
        write_queue_nums=config.write_queue_nums,
        perm=config.perm,
        topic_filter_type=config.topic_filter_type,
        topic_sys_flag=config.topic_sys_flag,
        order=config.order,
        attributes=",".join(texts) or None,
    )
