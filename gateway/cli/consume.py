"""`mqgateway consume`: be a member of a group, and print what comes.

A line a message: time, place, tag and body; with `--json` an object, with `--raw` the body's bytes.
It ends after `--max` messages, after `--timeout` seconds without any, with Ctrl-C, when its output cannot be
written any more, or when a broker refuses it. However it ends, the messages that were printed are
acknowledged, and no other message is acknowledged or handed back. Exit code 3: there is no such topic.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

import click

from mqgateway.gateway.cli.client_flags import check_topic, client_flags, reports_errors, settings
from mqgateway.gateway.cli.ending import complain
from mqgateway.gateway.cli.explaining import explained, is_final
from mqgateway.gateway.cli.printing import Form, form_of, print_message, raw_flag
from mqgateway.gateway.cli.times import millis_of_iso

if TYPE_CHECKING:
    from mqgateway.gateway.client.errors import ClientError
    from mqgateway.gateway.client.listening import Consumed, Context
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
IN_TURN = {"consume_thread_min": 1, "consume_thread_max": 1, "consume_message_batch_max_size": 1}
"""One message after the other, so that each queue is acknowledged up to the last message printed."""
LAST_MILLIS = 5000
"""Time for the message that is being printed when the command ends."""


@click.command(epilog=EXAMPLES)
@click.argument("topic")
@click.option("-g", "--group", required=True, help="Consumer group.")
@click.option(
    "--from",
    "begin",
    type=click.Choice(list(BEGINNINGS)),
    default="last",
    show_default=True,
    help="Start position of a group without committed offsets.",
)
@click.option(
    "--time", metavar="TIME", help="Start time for --from time: 2026-01-31T12:00:00 or 20260131120000."
)
@click.option("--tags", help="Tags to select: 'A || B'.")
@click.option("--sql", help="SQL92 expression that selects messages.")
@click.option("--ordered", is_flag=True, help="Consume each queue in order.")
@click.option("--broadcast", is_flag=True, help="Receive all messages (broadcasting).")
@click.option("--max", "most", type=click.IntRange(1), help="Exit after this number of messages.")
@click.option("--timeout", type=float, help="Exit after this number of seconds without a message.")
@raw_flag
@client_flags
@reports_errors
def consume(**given: Any) -> None:
    "Consume TOPIC as a member of a group and print the messages."
    from mqgateway.gateway.client import PushConsumer, Sql

    chosen = {"await_termination_millis_when_shutdown": LAST_MILLIS} | settings(given) | IN_TURN
    chosen["consume_from_where"] = BEGINNINGS[given["begin"]]
    if (given["begin"] == "time") != bool(given["time"]):
        raise click.UsageError("--from time and --time TIME require each other")
    if given["tags"] and given["sql"]:
        raise click.UsageError("--tags and --sql exclude each other: give only one of them")
    if given["time"]:
        chosen["consume_timestamp"] = timestamp_of(given["time"])
    if given["broadcast"]:
        chosen["message_model"] = "BROADCASTING"
    printer = Printer(sys.stdout, form_of(given), given["most"])
    check_topic(given["topic"], chosen)
    consumer = PushConsumer(
        given["group"], printer, is_ordered=given["ordered"], on_failure=printer.failed, **chosen
    )
    consumer.subscribe(given["topic"], Sql(given["sql"]) if given["sql"] else given["tags"] or "*")
    with consumer:
        try:
            printer.wait(given["timeout"])
        finally:
            printer.stop()


def timestamp_of(text: str) -> str:
    """Return a time, ISO 8601 or yyyyMMddHHmmss, in the latter form. Raises `click.BadParameter`."""
    if text.isdecimal() and len(text) == len("yyyyMMddHHmmss"):
        return text
    try:
        moment = datetime.fromtimestamp(millis_of_iso(text) / 1000)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is not a time: write it as 2026-01-31T12:00:00", param_hint="--time"
        ) from None
    return f"{moment:%Y%m%d%H%M%S}"


class Printer:
    """A listener that prints until it is stopped, has printed `most` messages, or fails to print one."""

    def __init__(self, out: TextIO, form: Form, most: int | None = None) -> None:
        self._out = out
        self._form = form
        self._left = most
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._is_over = False
        self._failure: BaseException | None = None
        self._warned: set[str] = set()
        self.count = 0

    def __call__(self, messages: Sequence[ReceivedMessage], context: Context) -> Consumed:
        from mqgateway.gateway.client.listening import Consumed

        with self._lock:
            if self._is_over:
                return Consumed.LEAVE
            try:
                for message in messages:
                    print_message(message, self._out, self._form)
            except BaseException as error:
                self._end(error)
                return Consumed.LEAVE
            self.count += len(messages)
            if self._left is not None:
                self._left -= len(messages)
                self._is_over = self._left <= 0
            self._changed.notify_all()
        return Consumed.SUCCESS

    def failed(self, error: ClientError) -> None:
        """End when a request was refused for good; warn once of any other failure."""
        if is_final(error):
            with self._lock:
                self._end(error)
        elif (text := explained(error)) not in self._warned:
            self._warned.add(text)
            complain(text, severity="warning")

    def stop(self) -> None:
        """Print no more. A message that is being printed is printed whole."""
        with self._lock:
            self._is_over = True

    def wait(self, idle: float | None) -> None:
        """Wait until it is over, or nothing has come for `idle` seconds. Raises what ended it."""
        with self._changed:
            while not self._is_over:
                before = self.count
                self._changed.wait(idle)
                if idle is not None and before == self.count and not self._is_over:
                    return
            if self._failure is not None:
                raise self._failure

    def _end(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._is_over = True
        self._changed.notify_all()
