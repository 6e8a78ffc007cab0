"""`mqgateway send`: messages from arguments, a file, or standard input, one a line or the whole input as one.

Lines may be of any bytes and end with LF or CR LF; a UTF-8 byte order mark before the first is removed.
With `--whole` the unchanged file is one body.
Each result is a line: id, queue and offset; with `--json` an object, with the member `error` for a message
that was not stored. Errors are on standard error, each text once. Exit codes: 0 all messages were stored,
1 not all were stored, 2 wrong usage.
"""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import click

from mqgateway.gateway.cli.client_flags import client_flags, reports_errors, settings
from mqgateway.gateway.cli.ending import FAILED, complain
from mqgateway.gateway.cli.explaining import explained

if TYPE_CHECKING:
    from mqgateway.gateway.client.errors import ClientError
    from mqgateway.gateway.client.message import Message, SendResult

WINDOW = 1000
"""Maximum number of messages in flight."""

EXAMPLES = """\b
Examples:
  mqgateway send TopicTest 'hello world'
  mqgateway send TopicTest -t TagA -k order-1 -p colour=blue 'one message'
  seq 1000 | mqgateway send TopicTest --progress
  mqgateway send TopicTest -f picture.png --whole
  mqgateway send TopicTest --delay 30s 'later' --json"""


@click.command(epilog=EXAMPLES)
@click.argument("topic")
@click.argument("bodies", nargs=-1)
@click.option("-g", "--group", default="mqgateway-send", show_default=True, help="Producer group.")
@click.option("-t", "--tags", help="Tag of the messages.")
@click.option("-k", "--keys", help="Keys, separated by blanks.")
@click.option("-p", "--property", "properties", multiple=True, metavar="NAME=VALUE", help="A property.")
@click.option("-f", "--file", "source", type=click.File("rb"), help="Read bodies from a file, one per line.")
@click.option("--whole", is_flag=True, help="Send the whole file or standard input as one body.")
@click.option("--order", help="Message group: messages with the same group keep their order.")
@click.option("--delay-level", type=click.IntRange(1, 18), help="Delay level of the messages.")
@click.option("--delay", metavar="TIME", help="Delay of the messages: 1500ms, 30s, 5m, 2h.")
@click.option("--oneway", is_flag=True, help="Do not wait for acknowledgements (one-way).")
@click.option("--progress", is_flag=True, help="Print the number of sent messages as they are sent.")
@client_flags
@reports_errors
def send(**given: Any) -> None:
    "Send messages to TOPIC: the given BODIES, or the lines of a file or of standard input."
    from mqgateway.gateway.client import Producer

    if given["whole"] and given["bodies"]:
        raise click.UsageError("--whole requires a file or standard input, not BODIES")
    if "" in given["bodies"]:
        raise click.BadArgumentUsage("a body is empty, and brokers refuse empty messages")
    messages = _messages(given)
    with Producer(given["group"], **settings(given)) as producer:
        if given["oneway"]:
            for message in messages:
                producer.send_oneway(message)
            return
        results = _sent(producer, messages, given["order"])
        failed = show_results(results, sys.stdout, given["as_json"], _progress(given["progress"]))
    if failed:
        raise SystemExit(FAILED)


def millis_of(text: str) -> int:
    """Return a time in ms: `30s` is 30000. Raises `click.BadParameter`."""
    units = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
    number = text.rstrip("msh")
    unit = text[len(number) :]
    if unit not in units or not number.isdigit():
        raise click.BadParameter(
            f"{text!r} is not a time: write it as 1500ms, 30s, 5m or 2h", param_hint="--delay"
        )
    return int(number) * units[unit]


def _messages(given: dict[str, Any]) -> Iterator[Message]:
    from mqgateway.gateway.client import Message

    fields: dict[str, Any] = {
        "tags": given["tags"],
        "keys": given["keys"],
        "properties": dict(_property(pair) for pair in given["properties"]),
        "delay_level": given["delay_level"] or 0,
        "delay_millis": millis_of(given["delay"]) if given["delay"] else 0,
        "sharding_key": given["order"],
    }
    for body in _bodies(given):
        yield Message(given["topic"], body, **fields)


def _bodies(given: dict[str, Any]) -> Iterator[bytes | str]:
    """Yield the bodies of arguments, or of a file or standard input. Empty lines are skipped."""
    if given["bodies"]:
        yield from given["bodies"]
        return
    source: BinaryIO = given["source"] or sys.stdin.buffer
    name = given["source"].name if given["source"] else "standard input"
    count = 0
    for body in [source.read()] if given["whole"] else _lines(source, name):
        if body:
            count += 1
            yield body
    if not count:
        complain(f"nothing was sent: {name} is empty", severity="warning")


def _lines(source: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield lines without their ends. CR before LF belongs to the end of a line of text only."""
    is_text = True
    for number, line in enumerate(source):
        line = line.removesuffix(b"\n")
        if b"\0" in line:
            is_text = False
        else:
            line = line.removesuffix(b"\r")
        yield line if number else line.removeprefix(codecs.BOM_UTF8)
    if not is_text:
        complain(
            f"{name} is not text, and each line becomes a message: use --whole to send it as one message",
            severity="warning",
        )


def _property(pair: str) -> tuple[str, str]:
    name, separator, value = pair.partition("=")
    if not separator or not name or not value:
        raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--property")
    return name, value


def _sent(
    producer: Any, messages: Iterable[Message], order: str | None
) -> Iterator[SendResult | ClientError]:
    """Yield results in the order of the messages. With `order`, wait for each before the next is sent."""
    from mqgateway.gateway.client.errors import ClientError
    from mqgateway.gateway.client.selectors import by_hash

    how = {"selector": by_hash, "argument": order} if order else {}
    waiting: list[Any] = []
    for message in messages:
        waiting.append(producer.send_async(message, **how))
        while len(waiting) >= (1 if order else WINDOW):
            yield _outcome(waiting.pop(0), ClientError)
    for future in waiting:
        yield _outcome(future, ClientError)


def _outcome(future: Any, kind: type[ClientError]) -> SendResult | ClientError:
    try:
        result: SendResult = future.result()
    except kind as error:
        return error
    return result


def show_results(
    results: Iterable[SendResult | ClientError], out: TextIO, as_json: bool, advance: Any
) -> int:
    """Print results as they arrive. Return the number of failed messages."""
    failed = count = 0
    reasons: set[str] = set()
    for result in results:
        advance()
        count += 1
        if isinstance(result, Exception):
            failed += 1
            if as_json:
                print(json.dumps({"error": str(result)}), file=out)
            if (text := explained(result)) not in reasons:
                reasons.add(text)
                complain(text)
            continue
        place = {
            "status": result.status.value,
            "messageId": result.message_id,
            "offsetMessageId": result.offset_message_id,
            "brokerName": result.queue.broker_name,
            "queueId": result.queue.queue_id,
            "queueOffset": result.queue_offset,
        }
        if result.recall_handle:
            place["recallHandle"] = result.recall_handle
        if as_json:
            print(json.dumps(place), file=out)
        else:
            where = f"{place['brokerName']}/{place['queueId']}@{place['queueOffset']}"
            print(f"{place['status']}  {place['messageId']}  {where}", file=out)
    if failed and count > 1:
        complain(f"{failed} of {count} messages were not stored")
    return failed


def _progress(wanted: bool) -> Any:
    """Return a function to call for each message, which advances a counter on standard error if `wanted`."""
    if not wanted:
        return lambda: None
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

    progress = Progress(
        SpinnerColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = progress.add_task("sent", total=None)
    progress.start()
    click.get_current_context().call_on_close(progress.stop)
    return lambda: progress.advance(task)
