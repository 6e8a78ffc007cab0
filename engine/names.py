"""Names of topics and groups: which are reserved, and which are legal.

Standard: `TopicValidator`, `MixAll`.
"""

import re
from typing import Final

from mqgateway.engine.message import (
    BENCHMARK_TOPIC,
    DEFAULT_TOPIC,
    DLQ_PREFIX,
    KAFKA_OFFSETS_TOPIC,
    KAFKA_SHARE_TOPIC,
    KAFKA_TRANSACTIONS_TOPIC,
    LMQ_PREFIX,
    OFFSET_MOVED_EVENT,
    QUEUE_STARTS_TOPIC,
    RETRY_PREFIX,
    ROCKSDB_TRANS_HALF_TOPIC,
    ROCKSDB_TRANS_OP_HALF_TOPIC,
    SCHEDULE_TOPIC,
    SELF_TEST_TOPIC,
    SYSTEM_GROUP_PREFIX,
    SYSTEM_TOPIC_PREFIX,
    TRACE_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)

SYSTEM_TOPICS: Final = frozenset(
    {
        DEFAULT_TOPIC,
        SCHEDULE_TOPIC,
        BENCHMARK_TOPIC,
        TRANS_HALF_TOPIC,
        TRACE_TOPIC,
        TRANS_OP_HALF_TOPIC,
        ROCKSDB_TRANS_HALF_TOPIC,
        ROCKSDB_TRANS_OP_HALF_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_EVENT,
    }
)
SEND_FORBIDDEN_TOPICS: Final = frozenset(
    {
        SCHEDULE_TOPIC,
        TRANS_HALF_TOPIC,
        ROCKSDB_TRANS_HALF_TOPIC,
        TRANS_OP_HALF_TOPIC,
        ROCKSDB_TRANS_OP_HALF_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_EVENT,
        KAFKA_OFFSETS_TOPIC,
        KAFKA_TRANSACTIONS_TOPIC,
        KAFKA_SHARE_TOPIC,
        QUEUE_STARTS_TOPIC,
    }
)
"""Topics that only the broker itself writes to."""
SYSTEM_GROUPS: Final = frozenset(
    {
        "TOOLS_CONSUMER",
        "FILTERSRV_CONSUMER",
        "SELF_TEST_C_GROUP",
        "SELF_TEST_P_GROUP",
        "CLIENT_INNER_PRODUCER",
        "__MONITOR_CONSUMER",
        "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_PERMISSION",
        "CID_ONSAPI_OWNER",
        "CID_ONSAPI_PULL",
        "CID_RMQ_SYS_TRANS",
    }
)

TOPIC_LENGTH_MAX: Final = 127
RETRY_OR_DLQ_TOPIC_LENGTH_MAX: Final = 255
GROUP_LENGTH_MAX: Final = 120
_LEGAL_NAME: Final = re.compile(r"[%|a-zA-Z0-9_-]+")


def is_system_topic(topic: str) -> bool:
    """Return True if the name is reserved. Standard: `TopicValidator.isSystemTopic`."""
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_TOPIC_PREFIX)


def is_lmq(name: str) -> bool:
    """Return True if the topic or group is that of an LMQ queue. Standard: `MixAll.isLmq`."""
    return name.startswith(LMQ_PREFIX)


def is_system_group(group: str) -> bool:
    """Return True if the name is reserved. Standard: `MixAll.isSysConsumerGroup`, predefined groups."""
    return group in SYSTEM_GROUPS or group.startswith(SYSTEM_GROUP_PREFIX)


def validate_topic(topic: str) -> str | None:
    """Return the remark with which a topic name is refused, or None.

    Standard: `TopicValidator.validateTopic` of 5.5.
    """
    if not topic.strip():
        return "The specified topic is blank."
    if not _LEGAL_NAME.fullmatch(topic):
        return f"The specified topic: {topic}, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        if len(topic) > RETRY_OR_DLQ_TOPIC_LENGTH_MAX:
            return (
                f"The specified topic is DLQ or Retry topic: {topic}, and it's longer than topic "
                f"max length: {RETRY_OR_DLQ_TOPIC_LENGTH_MAX}"
            )
    elif len(topic) > TOPIC_LENGTH_MAX:
        return f"The specified topic: {topic}, is longer than topic max length: {TOPIC_LENGTH_MAX}"
    return None


def validate_group(group: str) -> str | None:
    """Return the remark with which a group name is refused, or None.

    Standard: `TopicValidator.validateGroup` of 5.5.
    """
    if not group.strip():
        return "The specified group is blank."
    if not _LEGAL_NAME.fullmatch(group):
        return f"The specified group: {group}, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    if len(group) > GROUP_LENGTH_MAX:
        return f"The specified group: {group}, is longer than group max length: {GROUP_LENGTH_MAX}"
    return None
