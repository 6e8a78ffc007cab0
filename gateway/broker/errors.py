"""Errors of refused operations, independent of protocols.

A protocol front end maps the reason to a code of its protocol, and shows the message as it is.
"""

from __future__ import annotations

from enum import Enum, auto

FAQ = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
"""Suffix of some messages. RocketMQ: `FAQUrl.suggestTodo`."""


class Reason(Enum):
    """Reasons of refusals that callers can tell apart; the names are those of RocketMQ's response codes."""

    SYSTEM_ERROR = auto()
    SYSTEM_BUSY = auto()
    SERVICE_NOT_AVAILABLE = auto()
    SLAVE_NOT_AVAILABLE = auto()
    NO_PERMISSION = auto()
    INVALID_PARAMETER = auto()
    ILLEGAL_OPERATION = auto()
    MESSAGE_ILLEGAL = auto()
    TOPIC_NOT_EXIST = auto()
    SUBSCRIPTION_GROUP_NOT_EXIST = auto()
    SUBSCRIPTION_NOT_EXIST = auto()
    SUBSCRIPTION_NOT_LATEST = auto()
    SUBSCRIPTION_PARSE_FAILED = auto()
    FILTER_DATA_NOT_EXIST = auto()
    FILTER_DATA_NOT_LATEST = auto()
    QUERY_NOT_FOUND = auto()
    NO_MESSAGE = auto()
    RECEIPT_STALE = auto()
    """Not in RocketMQ: the receipt of a popped message is stale."""
    PROPERTIES_TOO_LARGE = auto()
    """Not in RocketMQ: the properties of a message in a batch take more bytes than a record holds."""
    POLLING_TIMEOUT = auto()
    CONSUMER_NOT_ONLINE = auto()
    CONSUME_MSG_TIMEOUT = auto()
    NOT_LEADER_FOR_QUEUE = auto()
    LMQ_QUOTA_EXCEEDED = auto()
    LITE_SUBSCRIPTION_QUOTA_EXCEEDED = auto()


class OperationError(Exception):
    """A refused operation; nothing was changed, unless the operation says otherwise."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def filter_not_allowed(expression_type: str | None) -> OperationError:
    """Return the refusal of a filter that is not a tag filter.

    RocketMQ's text does not name the setting that allows SQL92; no setting allows other types.
    """
    remedy = (
        "; the broker's setting enablePropertyFilter=true allows it" if expression_type == "SQL92" else ""
    )
    text = f"The broker does not support consumer to filter message by {expression_type}{remedy}"
    return OperationError(Reason.SYSTEM_ERROR, text)
