"""Subscriptions by tags, which are compared by their hashes.

A consume queue unit has the hash of its message's tags. The store returns the units with a subscribed hash
(`TopicSubscription.accepted_codes`), and the client compares the tags themselves.

RocketMQ: `FilterAPI`, `SubscriptionData`, `ExpressionMessageFilter`.
"""

from dataclasses import dataclass

from mqgateway.engine.errors import FilterError
from mqgateway.engine.message import TAG_SEPARATOR, java_hash

TAG_TYPE = "TAG"
SQL92_TYPE = "SQL92"
ALL = "*"
TAGS_MAX = 1000
"""Maximum of tags in one expression."""


@dataclass(frozen=True, slots=True)
class TopicSubscription:
    """A subscription to a topic; `sub_version` is the client's time of subscription, in ms since the epoch.

    `code_set` are the Java hashes of `tags_set`; both are empty for `*` and for other types than TAG.
    """

    topic: str
    sub_string: str
    tags_set: frozenset[str] = frozenset()
    code_set: frozenset[int] = frozenset()
    sub_version: int = 0
    expression_type: str = TAG_TYPE
    class_filter_mode: bool = False

    @property
    def accepted_codes(self) -> frozenset[int] | None:
        """The tag hashes to accept, None for all; for the `accept` of `MessageStore.get`."""
        if self.class_filter_mode or self.sub_string == ALL:
            return None
        return self.code_set

    def match(self, tags_code: int | None) -> bool:
        """Return True if a consume queue unit with this code matches, or if there is no code."""
        codes = self.accepted_codes
        return codes is None or tags_code is None or tags_code in codes


def is_tag_type(expression_type: str | None) -> bool:
    """Return True if an expression of this type is a list of tags. RocketMQ: `ExpressionType.isTagType`."""
    return not expression_type or expression_type == TAG_TYPE


def takes_all(expression: str | None) -> bool:
    """Return True if a list of tags matches all messages."""
    return not expression or expression == ALL


def compile_subscription(
    topic: str,
    expression: str | None,
    expression_type: str | None = TAG_TYPE,
    sub_version: int = 0,
    tags_max: int = TAGS_MAX,
) -> TopicSubscription:
    """Parse an expression: `*`, tags joined by `||`, or the text of another type, kept unchanged.

    Raises `FilterError` for separators without tags, more than `tags_max` tags, or no text of another type.
    RocketMQ: `FilterAPI.build`.
    """
    if not is_tag_type(expression_type):
        if not expression:
            raise FilterError(f"Expression can't be null! {expression_type}")
        return TopicSubscription(
            topic, expression, sub_version=sub_version, expression_type=expression_type or TAG_TYPE
        )
    if expression is None or takes_all(expression):
        return TopicSubscription(topic, ALL, sub_version=sub_version)
    words = expression.split(TAG_SEPARATOR)
    if not any(words):
        raise FilterError("subString split error")
    tags = frozenset(tag for word in words if (tag := word.strip()))
    if len(tags) > tags_max:
        raise FilterError(f"more than {tags_max} tags")
    return TopicSubscription(topic, expression, tags, frozenset(map(java_hash, tags)), sub_version)
