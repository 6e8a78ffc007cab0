"""Requests and their replies, in memory."""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from mqgateway.gateway.client.compression import Compression, compress
from mqgateway.gateway.client.errors import ClientError, ReplyTimedOut
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.client.requests import Requests
from mqgateway.gateway.codec.headers import ReplyMessageRequestHeader
from mqgateway.gateway.runtime.schedule import Schedule


def header(number: str, sys_flag: int = 0, host: str = "/10.0.0.3:5") -> ReplyMessageRequestHeader:
    return ReplyMessageRequestHeader(
        producer_group="G",
        topic="c_REPLY_TOPIC",
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=1,
        sys_flag=sys_flag,
        born_timestamp=1,
        flag=0,
        properties=f"CORRELATION_ID\x01{number}\x02",
        born_host=host,
        store_host="10.0.0.1:10911",
        store_timestamp=2,
    )


class Scene:
    def __init__(self) -> None:
        self.clock = Clock()
        self.requests = Requests(Schedule(self.clock), "10.0.0.2@me")
        self.message = Message("T", b"question")
        self.outcome: list[object] = []
        self.requests.begin(self.message, 3.0).addBoth(self.outcome.append)
        self.number = self.message.properties["CORRELATION_ID"]


def test_a_request_is_marked_and_gets_its_reply() -> None:
    scene = Scene()
    marks = scene.message.properties
    assert (marks["REPLY_TO_CLIENT"], marks["TTL"]) == ("10.0.0.2@me", "3000")
    small = compress(b"answer", Compression.ZSTD, 5)
    scene.requests.take(header(scene.number, Compression.ZSTD.flag), small, now=9)
    (reply,) = scene.outcome
    assert isinstance(reply, ReceivedMessage)
    assert (reply.body, reply.born_host, reply.properties["ARRIVE_TIME"]) == (b"answer", "10.0.0.3:5", "9")
    assert len(scene.requests) == 0 and not scene.clock.getDelayedCalls()


def test_time_runs_out() -> None:
    scene = Scene()
    scene.clock.advance(3.0)
    (failure,) = scene.outcome
    assert failure.check(ReplyTimedOut)  # type: ignore[attr-defined]
    scene.requests.take(header(scene.number), b"too late", now=9)
    assert len(scene.outcome) == 1


def test_replies_to_others_are_ignored_and_invalid_ones_are_errors() -> None:
    scene = Scene()
    scene.requests.take(header("another"), b"x", now=9)
    with pytest.raises(ClientError, match="not an address"):
        scene.requests.take(header(scene.number, host="nonsense"), b"x", now=9)
    with pytest.raises(ClientError):
        scene.requests.take(header(scene.number, Compression.LZ4.flag), b"x", now=9)
    assert scene.outcome == [] and len(scene.requests) == 1


def test_unsent_and_closed_requests_do_not_wait() -> None:
    scene = Scene()
    scene.requests.drop(scene.message)
    assert len(scene.requests) == 0
    again = Scene()
    again.requests.close()
    (failure,) = again.outcome
    assert failure.check(ReplyTimedOut)  # type: ignore[attr-defined]
