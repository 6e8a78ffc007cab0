"""Receipt handles, with which a client acknowledges a received message.

    start pop-time invisible-time revive-queue kind broker queue offset log-offset [signature]

The first eight are a receipt of POP (`engine.pop.receipts`). If a key is configured they are signed for their
group and topic; a broker without a key ignores the signature. RocketMQ: `ReceiptHandle`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import NamedTuple, Self

from mqgateway.engine.pop import Receipt
from mqgateway.engine.pop.names import real_topic
from mqgateway.gateway.grpc.service.status import CallRefused, Code, refused_by_proxy

_FIELDS_MIN = 8
_LONG = re.compile(r"[+-]?[0-9]{1,18}")
_SIGNATURE_BYTES = 15


class Handle(NamedTuple):
    """A received message: its receipt, its positions in queue and log, and the parsed text.

    `log_offset` is -1 if the text does not contain it.
    """

    receipt: Receipt
    queue_id: int
    offset: int
    log_offset: int

    @property
    def visible_at(self) -> int:
        """The time at which the message is visible again, in ms of steady time."""
        return self.receipt.revive_time

    @property
    def pop_text(self) -> str:
        """The part of the text that POP reads."""
        return self.receipt.of_message(self.queue_id, self.offset)

    def topic(self, topic: str, group: str) -> str:
        """Return the topic that stores the message: itself or its retry topic. Raises `CallRefused`."""
        try:
            return real_topic(topic, group, self.receipt.kind)
        except ValueError as error:
            raise _unreadable(str(error)) from None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a handle. Raises `CallRefused`."""
        fields = text.split(" ")
        if len(fields) < _FIELDS_MIN:
            raise CallRefused(
                Code.INTERNAL_SERVER_ERROR,
                f"Parse failed, dataList size {len(fields)}. IllegalArgumentException. "
                "org.apache.rocketmq.common.consumer.ReceiptHandle.decode(ReceiptHandle.java:56)",
            )
        numbers = [*fields[6:8], *(fields[8:9] or ["-1"])]
        for number in numbers:
            if not _LONG.fullmatch(number):
                raise _unreadable(f'For input string: "{number}"')
        try:
            receipt = Receipt.parse(text)
        except ValueError as error:
            raise _unreadable(str(error)) from None
        return cls(receipt, *map(int, numbers))


def _unreadable(why: str) -> CallRefused:
    return CallRefused(Code.INTERNAL_SERVER_ERROR, f"the receipt handle cannot be read: {why}")


def expired() -> CallRefused:
    """Return the refusal of a handle whose message is visible again."""
    return refused_by_proxy(Code.INVALID_RECEIPT_HANDLE, "receipt handle is expired")


class Handles:
    """Writes and reads handles of one broker; `key` signs them, unless it is empty."""

    def __init__(self, broker_name: str, key: str) -> None:
        self._broker_name = broker_name
        self._key = key.encode()

    def text(self, handle: Handle, topic: str, group: str) -> str:
        """Return the text that the client gets."""
        text = f"{handle.pop_text} {handle.log_offset}"
        return f"{text} {self._signature(text, topic, group)}" if self._key else text

    def read(self, text: str, topic: str, group: str) -> Handle:
        """Parse the handle of a client. Raises `CallRefused`, also for a handle of another broker."""
        handle = Handle.parse(text)
        if self._key:
            signed, _, signature = text.rpartition(" ")
            if not hmac.compare_digest(signature.encode(), self._signature(signed, topic, group).encode()):
                raise refused_by_proxy(
                    Code.INVALID_RECEIPT_HANDLE, "the signature of the receipt handle is not right"
                )
        return handle

    def check_current(self, handle: Handle, now: int) -> None:
        """Refuse a handle that has expired, or is another broker's. `now` is steady time in ms."""
        if handle.visible_at <= now:
            raise expired()
        name = handle.receipt.broker_name
        if name != self._broker_name:
            raise refused_by_proxy(Code.INVALID_RECEIPT_HANDLE, f"cannot find broker {name}")

    def _signature(self, text: str, topic: str, group: str) -> str:
        content = f"{text}\n{topic}\n{group}".encode()
        digest = hmac.digest(self._key, content, hashlib.sha256)[:_SIGNATURE_BYTES]
        return base64.urlsafe_b64encode(digest).decode()
