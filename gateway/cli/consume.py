"""`mqgateway consume`: be a member of a group, and print what comes.

A line a message: time, place, tag and body; with `--json` an object, with `--raw` the body's bytes.
Messages that were printed are done with. It ends after `--max` messages, after `--timeout` seconds without
any, or with Ctrl-C; offsets are committed. Exit code 3: there is no such topic.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click

from mqgateway.gateway.cli.client_flags import check_topic, client_flags, settings, told
from mqgateway.gateway.cli.printing import Form, form_of, print_message, raw_flag

if TYPE_CHECKING:
    from mqgateway.gateway.client.listening import Context
    from mqgateway.gateway.client.message import ReceivedMessage

EXAMPLES = """\b
Examples:
  mqgateway consume TopicTest -g my-group
  mqgateway consume TopicTest -g my-group --from first --max 100 --json
  mqgateway consume TopicTest -g my-group --tags 'TagA || TagB'
  mqgateway consume TopicTest -g my-group --sql "colour = 'blue'"
  mqgateway consume TopicTest -g my-group --ordered
  mqgateway consume TopicTest -g my-group --max 1 --raw > body.bin"""

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
@raw_flag
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
    printer = Printer(sys.stdout, form_of(given), given["most"])
    check_topic(given["topic"], chosen)
    consumer = PushConsumer(given["group"], printer, is_ordered=given["ordered"], **chosen)
    consumer.subscribe(given["topic"], Sql(given["sql"]) if given["sql"] else given["tags"] or "*")
    with consumer:
        printer.wait(given["timeout"])


class Printer:
    """A listener that prints, and knows when it is enough. Listeners work in several threads."""

    def __init__(self, out: TextIO, form: Form, most: int | None = None) -> None:
        self._out = out
        self._form = form
        self._left = most
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self.count = 0

    def __call__(self, messages: Sequence[ReceivedMessage], context: Context) -> bool:
        with self._lock:
            for message in messages:
                if self._left == 0:
                    return False  # they come again, for somebody else
                print_message(message, self._out, self._form)
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
