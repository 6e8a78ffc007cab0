"""The client in C++ as a process of its own, through the package `rocketmq`.

``python -m compat_tests.support.cpp_member`` has one argument, JSON: the name server, and either ``send``
(bodies, tags and shards of messages) or the group, topic and expression of a consumer. It prints a line of
JSON for each message that was sent or came; a consumer ends when its input does.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from rocketmq.client import Message, Producer, PushConsumer, RecvMessage, SendResult
from rocketmq.exceptions import ProducerException
from rocketmq.ffi import MessageModel, _CConsumeStatus

NO_ROUTE = "No route info of this topic"
ROUTE_SECONDS = 40
"""Time for the route of a new topic, in seconds."""

SEND_MILLIS = 30_000
"""Longer than a busy machine needs for its slowest answer."""

_lock = threading.Lock()


def report(what: dict[str, Any]) -> None:
    """Print a line; listeners work in threads."""
    with _lock:
        print(json.dumps(what), flush=True)


def send(namesrv: str, topic: str, wanted: list[dict[str, Any]]) -> None:
    """Send messages, those that name a shard to its queue."""
    producer = Producer("cpp_producers")
    producer.set_namesrv_addr(namesrv)
    producer.set_timeout(SEND_MILLIS)
    producer.start()
    for one in wanted:
        message = Message(topic)
        message.set_body(one["body"])
        message.set_tags(one.get("tag", "A"))
        message.set_keys("key")
        result = send_once_routed(producer, message, one.get("shard"))
        report({"status": result.status.name, "id": result.msg_id, "offset": result.offset})
    producer.shutdown()


def send_once_routed(producer: Producer, message: Message, shard: int | None) -> SendResult:
    """Send a message; repeat a send that stored nothing because the client had no route yet.

    The client fails at once if the name server has not answered within its 3 s.
    """
    end = time.monotonic() + ROUTE_SECONDS
    while True:
        try:
            return producer.send_sync(message) if shard is None else producer.send_orderly(message, shard)
        except ProducerException as error:
            if NO_ROUTE not in str(error) or time.monotonic() > end:
                raise
        time.sleep(0.1)


def consume(options: dict[str, Any]) -> None:
    """Consume until the input ends; the first ``refuse`` deliveries are given back."""
    model = MessageModel.BROADCASTING if options["broadcasting"] else MessageModel.CLUSTERING
    consumer = PushConsumer(options["group"], orderly=options["orderly"], message_model=model)
    consumer.set_namesrv_addr(options["namesrv"])
    refusals = [None] * options["refuse"]

    def on_message(_: object, handle: object) -> int:
        message = RecvMessage(handle)
        place = message.queue_id, message.queue_offset
        report({"body": message.body.decode(), "place": place, "times": message.reconsume_times})
        status = _CConsumeStatus.RECONSUME_LATER if refusals else _CConsumeStatus.CONSUME_SUCCESS
        if refusals:
            refusals.pop()
        return int(status.value)

    consumer.subscribe(options["topic"], None, options["expression"])
    # The package's own way takes an exception for a message that was consumed.
    consumer._register_callback(on_message)
    consumer.start()
    report({"up": True})
    sys.stdin.read()
    consumer.shutdown()


def main() -> None:
    """Do what the argument says."""
    options = json.loads(sys.argv[1])
    if "send" in options:
        send(options["namesrv"], options["topic"], options["send"])
    else:
        consume(options)


if __name__ == "__main__":
    main()
