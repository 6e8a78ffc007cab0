"""One Python consumer as a process of its own, which can be killed.

``python -m compat_tests.support.python_member NAMESRV GROUP TOPIC`` prints a line of JSON for each consumed
message and for each change of its queues. It ends cleanly when its input ends. Its log is its standard error.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Collection, Sequence
from typing import Any

from mqgateway.gateway.client import Context, MessageQueue, PushConsumer, ReceivedMessage

_lock = threading.Lock()


def report(what: dict[str, Any]) -> None:
    """Print a line under a lock, because listeners run in threads."""
    with _lock:
        print(json.dumps(what), flush=True)


def show(messages: Sequence[ReceivedMessage], context: Context) -> None:
    """Print the delivered messages."""
    for message in messages:
        queue = message.queue
        place = [queue.broker_name, queue.queue_id, message.queue_offset]
        report({"body": message.body.decode(), "place": place})


def queues_changed(topic: str, queues: Collection[MessageQueue], ours: Collection[MessageQueue]) -> None:
    """Print the assigned queues."""
    if not topic.startswith("%RETRY%"):
        report({"queues": sorted(queue.queue_id for queue in ours)})


def main() -> None:
    """Consume until the input ends."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(levelname)s %(message)s")
    namesrv, group, topic = sys.argv[1:]
    consumer = PushConsumer(
        group,
        show,
        namesrv,
        consume_from_where="CONSUME_FROM_FIRST_OFFSET",
        on_queues_changed=queues_changed,
    )
    consumer.subscribe(topic)
    with consumer:
        report({"client_id": consumer.client_id})
        sys.stdin.read()


if __name__ == "__main__":
    main()
