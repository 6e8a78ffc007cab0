"""Checks of names and values in requests, with RocketMQ's messages.

RocketMQ: `GrpcValidator`, `Validators`.
"""

from __future__ import annotations

import re
from typing import Final

from mqgateway.engine.message import SYSTEM_GROUP_PREFIX
from mqgateway.engine.names import GROUP_LENGTH_MAX, TOPIC_LENGTH_MAX, is_system_topic
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.status import CallRefused, Code

_LEGAL: Final = "^[%|a-zA-Z0-9_-]+$"
_LEGAL_NAME: Final = re.compile(r"[%|a-zA-Z0-9_-]+")
_LITE_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def has_control(text: str) -> bool:
    """Return True if the text has a control character, as Java defines them."""
    return _CONTROL.search(text) is not None


def checked_topic(resource: v2.Resource) -> str:
    """Return the name of a topic that clients may name. The namespace of the resource is ignored. Raises
    `CallRefused`.
    """
    name = resource.name
    if not name.strip():
        raise CallRefused(Code.ILLEGAL_TOPIC, "The specified topic is blank")
    if len(name) > TOPIC_LENGTH_MAX:
        longest = f"The specified topic is longer than topic max length {TOPIC_LENGTH_MAX}."
        raise CallRefused(Code.ILLEGAL_TOPIC, longest)
    if not _LEGAL_NAME.fullmatch(name):
        illegal = f"The specified topic[{name}] contains illegal characters, allowing only {_LEGAL}"
        raise CallRefused(Code.ILLEGAL_TOPIC, illegal)
    if is_system_topic(name):
        raise CallRefused(Code.ILLEGAL_TOPIC, "cannot access system topic")
    return name


def checked_group(resource: v2.Resource) -> str:
    """Return the name of a consumer group that clients may name. Raises `CallRefused`."""
    name = resource.name
    if not name.strip():
        raise _illegal_group("the specified group is blank")
    if len(name) > GROUP_LENGTH_MAX:
        raise _illegal_group(
            f"the specified group[{name}] is longer than group max length: {GROUP_LENGTH_MAX}."
        )
    if not _LEGAL_NAME.fullmatch(name):
        raise _illegal_group(
            f"the specified group[{name}] contains illegal characters, allowing only {_LEGAL}"
        )
    if name.startswith(SYSTEM_GROUP_PREFIX):
        raise _illegal_group("cannot use system consumer group")
    return name


def _illegal_group(message: str) -> CallRefused:
    return CallRefused(Code.ILLEGAL_CONSUMER_GROUP, message)


def checked_lite_topic(name: str, options: BrokerOptions) -> str:
    """Return the name of a lite topic. Raises `CallRefused`."""
    if not name.strip():
        raise CallRefused(Code.ILLEGAL_LITE_TOPIC, "lite topic cannot be the char sequence of whitespace")
    longest = options.max_lite_topic_size
    if len(name) > longest:
        raise CallRefused(Code.ILLEGAL_LITE_TOPIC, f"lite topic exceed the max size {longest}")
    if not _LITE_NAME.fullmatch(name):
        raise CallRefused(
            Code.ILLEGAL_LITE_TOPIC,
            "lite topic can only contain alphanumeric characters, hyphens(-), and underscores(_)",
        )
    return name


def check_invisible_time(millis: int, shortest: int, options: BrokerOptions) -> None:
    """Refuse an invisible time out of the allowed range."""
    if millis < shortest:
        raise CallRefused(Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too small. min is {shortest}")
    longest = options.max_invisible_time_mills
    if millis > longest:
        raise CallRefused(Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too large. max is {longest}")


def check_tag(tag: str) -> None:
    """Refuse a tag that an expression could not select."""
    if not tag:
        return
    if not tag.strip():
        raise CallRefused(Code.ILLEGAL_MESSAGE_TAG, "tag cannot be the char sequence of whitespace")
    if "|" in tag:
        raise CallRefused(Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain '|'")
    if has_control(tag):
        raise CallRefused(Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain control character")


_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
"""The years 1 to 9999, in which a time must be."""


def is_time(value: v2.Timestamp) -> bool:
    """Return True if the value is a valid time."""
    seconds: int = value.seconds
    return _FIRST_SECOND <= seconds <= _LAST_SECOND


def millis_of(value: v2.Duration | v2.Timestamp) -> int:
    """Convert a duration, or a time since the epoch, to ms."""
    seconds: int = value.seconds
    return seconds * 1000 + int(value.nanos / 1_000_000)


def duration(millis: int) -> v2.Duration:
    """Return a duration of `millis` ms."""
    return v2.Duration(seconds=millis // 1000, nanos=millis % 1000 * 1_000_000)


def timestamp(millis: int) -> v2.Timestamp:
    """Return a time, given in ms since the epoch."""
    return v2.Timestamp(seconds=millis // 1000, nanos=millis % 1000 * 1_000_000)
