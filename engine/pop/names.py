"""Names and numbers of POP: the topic of check points, retry topics, the flag that tells them apart.

What a group popped and did not acknowledge comes again in a retry topic of the topic and the group. There are
two spellings: version 1 joins group and topic with `_`, version 2 with `+`, which no name of a user has.
Standard: `KeyBuilder`, `PopAckConstants`, `ExtraInfoUtil`.
"""

from mqgateway.engine.message import RETRY_PREFIX, SYSTEM_GROUP_PREFIX, SYSTEM_TOPIC_PREFIX

REVIVE_GROUP = f"{SYSTEM_GROUP_PREFIX}REVIVE_GROUP"
"""In whose name it is kept how far check points have been dealt with."""
ORDER_REVIVE_QUEUE = 999
"""In place of a revive queue: what was popped in order has no check point."""
MESSAGES_MAX = 32
"""Messages of one check point, and of one pop."""

NORMAL, RETRY_V1, RETRY_V2 = "0", "1", "2"
"""From which kind of topic a message was popped."""


def revive_topic(cluster: str) -> str:
    """The topic of check points and acknowledgements."""
    return f"{SYSTEM_TOPIC_PREFIX}REVIVE_LOG_{cluster}"


def retry_topic(topic: str, group: str, is_v2: bool) -> str:
    """Where messages of a topic come again for a group."""
    return f"{RETRY_PREFIX}{group}{'+' if is_v2 else '_'}{topic}"


def kind_of(topic: str) -> str:
    """Which kind of topic this is."""
    if not topic.startswith(RETRY_PREFIX):
        return NORMAL
    return RETRY_V2 if "+" in topic else RETRY_V1


def real_topic(topic: str, group: str, kind: str) -> str:
    """The topic of this kind. Raises `ValueError` for a kind that is none."""
    if kind == NORMAL:
        return topic
    if kind not in (RETRY_V1, RETRY_V2):
        raise ValueError(f"{kind!r} is not a kind of topic")
    return retry_topic(topic, group, kind == RETRY_V2)


def normal_topic(topic: str, group: str) -> str:
    """The topic that a retry topic of a group belongs to; any other topic itself."""
    return topic[len(RETRY_PREFIX) + len(group) + 1 :] if topic.startswith(RETRY_PREFIX) else topic
