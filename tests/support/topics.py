"""Requests about topics, as an administrator makes them."""

from typing import Any

from mqgateway.gateway.codec.headers import CreateTopicRequestHeader


def topic_header(topic: str, queues: int = 1, **fields: Any) -> CreateTopicRequestHeader:
    """The header that makes a topic of so many queues; `fields` are what is unusual."""
    usual: dict[str, Any] = {
        "topic": topic,
        "default_topic": "TBW102",
        "read_queue_nums": queues,
        "write_queue_nums": queues,
        "perm": 6,
        "topic_filter_type": "SINGLE_TAG",
        "order": False,
    }
    return CreateTopicRequestHeader(**usual | fields)
