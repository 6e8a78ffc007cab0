"""Names and numbers of POP: the topic of checkpoints, retry topics, and the kinds of topics.

Messages that a group popped and did not acknowledge are delivered again from a retry topic of the topic and
the group. There are two spellings: version 1 joins group and topic with `_`, version 2 with `+`, which no
user's name contains. RocketMQ: `KeyBuilder`, `PopAckConstants`, `ExtraInfoUtil`.
"""

from mqgateway.engine.message import RETRY_PREFIX, SYSTEM_GROUP_PREFIX, SYSTEM_TOPIC_PREFIX

REVIVE_GROUP = f"{SYSTEM_GROUP_PREFIX}REVIVE_GROUP"
"""The group whose offsets are the progress in the queues of checkpoints."""
ORDER_REVIVE_QUEUE = 999
"""In place of a revive queue id: an ordered pop has no checkpoint."""
MESSAGES_MAX = 32
"""Maximum of messages of one checkpoint, and of one pop."""

NORMAL, RETRY_V1, RETRY_V2 = "0", "1", "2"
"""Kinds of topics from which messages are popped."""


def revive_topic(cluster: str) -> str:
    """Return the topic of checkpoints and acknowledgements."""
    return f"{SYSTEM_TOPIC_PREFIX}REVIVE_LOG_{cluster}"


def retry_topic(topic: str, group: str, is_v2: bool) -> str:
    """Return the retry topic of a topic and a group."""
    return f"{RETRY_PREFIX}{group}{'+' if is_v2 else '_'}{topic}"


def kind_of(topic: str) -> str:
    """Return the kind of a topic."""
    if not topic.startswith(RETRY_PREFIX):
        return NORMAL
    return RETRY_V2 if "+" in topic else RETRY_V1


def real_topic(topic: str, group: str, kind: str) -> str:
    """Return the topic of this kind. Raises `ValueError` for an unknown kind."""
    if kind == NORMAL:
        return topic
    if kind not in (RETRY_V1, RETRY_V2):
        raise ValueError(f"{kind!r} is not a kind of topic")
    return retry_topic(topic, group, kind == RETRY_V2)


def normal_topic(topic: str, group: str) -> str:
    """Return the topic that a retry topic of a group belongs to; any other topic itself."""
    return topic[len(RETRY_PREFIX) + len(group) + 1 :] if topic.startswith(RETRY_PREFIX) else topic
