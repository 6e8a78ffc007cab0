"""Request-reply messaging: a message to a consumer and its reply.

The requester marks its message with a correlation id, its client id and its timeout. The consumer sends a
reply with the same marks, which the broker forwards to the connection of the client id.
RocketMQ: `RequestFutureHolder`, `ClientRemotingProcessor.receiveReplyMessage`.
"""

from __future__ import annotations

import logging
import uuid

from twisted.internet.defer import Deferred

from mqgateway.engine.message import PROPERTY_REPLY_TO_CLIENT, StoredMessage, pack_host, parse_properties
from mqgateway.gateway.client.compression import decompress
from mqgateway.gateway.client.errors import ClientError, ReplyTimedOut
from mqgateway.gateway.client.message import PROPERTY_CORRELATION_ID, PROPERTY_TTL, Message, ReceivedMessage
from mqgateway.gateway.codec.headers import ReplyMessageRequestHeader
from mqgateway.gateway.runtime.schedule import Schedule

log = logging.getLogger(__name__)

PROPERTY_ARRIVE_TIME = "ARRIVE_TIME"


class Requests:
    """Pending requests of one client by correlation id."""

    def __init__(self, schedule: Schedule, client_id: str) -> None:
        self._schedule = schedule
        self._client_id = client_id
        self._waiting: dict[str, Deferred[ReceivedMessage]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def begin(self, message: Message, timeout: float) -> Deferred[ReceivedMessage]:
        """Mark a message that is about to be sent and return its reply.

        The Deferred fails with `ReplyTimedOut` after `timeout` seconds.
        """
        number = str(uuid.uuid4())
        message.put(PROPERTY_CORRELATION_ID, number)
        message.put(PROPERTY_REPLY_TO_CLIENT, self._client_id)
        message.put(PROPERTY_TTL, str(round(timeout * 1000)))
        reply: Deferred[ReceivedMessage] = Deferred()
        self._waiting[number] = reply

        def give_up() -> None:
            if self._waiting.pop(number, None) is not None:
                reply.errback(
                    ReplyTimedOut(f"no consumer replied to a message of {message.topic} in {timeout:g} s")
                )

        call = self._schedule.later(timeout, give_up)

        def over(outcome: ReceivedMessage) -> ReceivedMessage:
            call.cancel()
            return outcome

        return reply.addBoth(over)

    def drop(self, message: Message) -> None:
        """Forget a request whose message could not be sent."""
        self._waiting.pop(message.properties.get(PROPERTY_CORRELATION_ID, ""), None)

    def take(self, header: ReplyMessageRequestHeader, body: bytes, now: int) -> None:
        """Deliver a reply. Raises `ClientError` if it is malformed."""
        message = _read(header, body, now)
        number = message.properties.get(PROPERTY_CORRELATION_ID, "")
        waiting = self._waiting.pop(number, None)
        if waiting is None:
            log.info("a reply from %s arrived late, or matches no request: %r", header.born_host, number)
        else:
            waiting.callback(message)

    def close(self) -> None:
        """Fail all pending requests."""
        waiting, self._waiting = self._waiting, {}
        for reply in waiting.values():
            reply.errback(ReplyTimedOut("the client was closed"))


def _read(header: ReplyMessageRequestHeader, body: bytes, now: int) -> ReceivedMessage:
    properties = parse_properties(header.properties or "")
    properties[PROPERTY_ARRIVE_TIME] = str(now)
    stored = StoredMessage(
        header.topic,
        header.queue_id,
        body,
        properties,
        header.born_timestamp,
        _host(header.born_host),
        _host(header.store_host),
        header.flag,
        header.sys_flag,
        header.reconsume_times or 0,
    )
    stored.queue_offset = stored.physical_offset = stored.body_crc = 0
    stored.size = len(body)
    stored.store_timestamp = header.store_timestamp
    return ReceivedMessage.of(stored, decompress(body, header.sys_flag), header.bname or "")


def _host(text: str) -> bytes:
    """Parse `ip:port`, with or without a leading slash as Java prints addresses."""
    ip, _, port = text.rpartition("/")[2].rpartition(":")
    try:
        return pack_host(ip.strip("[]"), int(port))
    except (OSError, ValueError):
        raise ClientError(f"{text!r} is not an address") from None
