"""`mqgateway consume`: be a member of a group, and print what comes.

A line a message: time, place, tag and body; with `--json` an object. Messages that were printed are done
with. It ends after `--max` messages, after `--timeout` seconds without any, or with Ctrl-C; offsets are
committed.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

import click

from mqgateway.gateway.cli.client_flags import client_flags, settings, told

if TYPE_CHECKING:
    from mqgateway.gateway.client.listening import Context
    from mqgateway.gateway.client.message import ReceivedMessage

BODY_MAX = 500
"""Bytes of a body that a line shows."""

EXAMPLES = """\b
Examples:
  mqgateway consume TopicTest -g my-group
  mqgateway consume TopicTest -g my-group --from first --max 100 --json
  mqgateway consume TopicTest -g my-group --tags 'TagA || TagB'
  mqgateway consume TopicTest -g my-group --sql "colour = 'blue'"
  mqgateway consume TopicTest -g my-group --ordered"""

BEGINNINGS = {
    "first": "CONSUME_FROM_FIRST_OFFSET",
    "last": "CONSUME_FROM_LAST_OFFSET",
    "time": "CONSUME_FROM_TIMESTAMP",
}


@click.command(epilog=EXAMPLES)
@click.argument("topic")
@click.option("-g", "--group", required=True, help="Consumer group.")
@click.option(
    "--from",
    "begin",
    type=click.Choice(list(BEGINNINGS)),
    default="last",
    show_default=True,
    help="Where a group begins that has never consumed.",
)
@click.option("--time", metavar="yyyyMMddHHmmss", help="The time, for --from time.")
@click.option("--tags", help="Only messages with one of these tags: 'A || B'.")
@click.option("--sql", help="Only messages that an SQL92 expression is true of.")
@click.option("--ordered", is_flag=True, help="Each queue in order.")
@click.option("--broadcast", is_flag=True, help="All messages, whatever other members get.")
@click.option("--max", "most", type=click.IntRange(1), help="End after so many messages.")
@click.option("--timeout", type=float, help="End after so many seconds without a message.")
@client_flags
@told
def consume(**given: Any) -> None:
    """Consume TOPIC as a member of a group, and print the messages."""
    from mqgateway.gateway.client import PushConsumer, Sql

    chosen = settings(given) | {"consume_from_where": BEGINNINGS[given["begin"]]}
    if given["time"]:
        chosen["consume_timestamp"] = given["time"]
    if given["broadcast"]:
        chosen["message_model"] = "BROADCASTING"
    printer = Printer(sys.stdout, given["as_json"], given["most"])
    consumer = PushConsumer(given["group"], printer, is_ordered=given["ordered"], **chosen)
    consumer.subscribe(given["topic"], Sql(given["sql"]) if given["sql"] else given["tags"] or "*")
    with consumer:
        printer.wait(given["timeout"])


class Printer:
    """A listener that prints, and knows when it is enough. Listeners work in several threads."""

    def __init__(self, out: TextIO, as_json: bool, most: int | None = None) -> None:
        self._out = out
        self._as_json = as_json
        self._left = most
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self.count = 0

    def __call__(self, messages: Sequence[ReceivedMessage], context: Context) -> bool:
        with self._lock:
            for message in messages:
                if self._left == 0:
                    return False  # they come again, for somebody else
                print_message(message, self._out, self._as_json)
                self.count += 1
                if self._left is not None:
                    self._left -= 1
            self._changed.notify_all()
        return True

    def wait(self, idle: float | None) -> None:
        """Wait until it is enough, or nothing has come for `idle` seconds."""
        with self._changed:
            while self._left != 0:
                before = self.count
                self._changed.wait(idle)
                if idle is not None and before == self.count:
                    return


def print_message(message: ReceivedMessage, out: TextIO, as_json: bool) -> None:
    """One line."""
    queue = message.queue
    if not as_json:
        stored = datetime.fromtimestamp(message.store_timestamp / 1000)
        place = f"{queue.broker_name}/{queue.queue_id}@{message.queue_offset}"
        body = message.body[:BODY_MAX].decode("utf-8", "replace").replace("\n", "\\n")
        more = f" ... {len(message.body)} bytes" if len(message.body) > BODY_MAX else ""
        print(
            f"{stored:%H:%M:%S.%f}"[:-3] + f"  {place}  {message.tags or '-'}  {body}{more}",
            file=out,
            flush=True,
        )
        return
    shown = {
        "topic": message.topic,
        "brokerName": queue.broker_name,
        "queueId": queue.queue_id,
        "queueOffset": message.queue_offset,
        "messageId": message.message_id,
        "offsetMessageId": message.offset_message_id,
        "bornTimestamp": message.born_timestamp,
        "storeTimestamp": message.store_timestamp,
        "reconsumeTimes": message.reconsume_times,
        "properties": message.properties,
        "body": message.body.decode("utf-8", "replace"),
    }
    print(json.dumps(shown, ensure_ascii=False), file=out, flush=True)
