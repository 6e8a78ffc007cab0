"""Printing of messages: a line each, a JSON object each, or only the bytes of the bodies."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TextIO

import click

from mqgateway.gateway.cli.plain import body_fields, body_text, escaped, escaped_json
from mqgateway.gateway.cli.times import iso

if TYPE_CHECKING:
    from mqgateway.gateway.client.message import ReceivedMessage

Form = Literal["text", "json", "raw"]

BODY_MAX = 500
"""Maximum bytes of a body in a line."""


def raw_flag(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flag `--raw`, which `form_of` reads."""
    text = "Write only the raw bytes of the bodies."
    return click.option("--raw", is_flag=True, help=text)(command)


def form_of(given: Mapping[str, Any]) -> Form:
    """Return the form in which messages are printed.

    Raises `click.UsageError` for two forms, and for raw bytes to a terminal, which would execute their escape
    sequences.
    """
    if not given["raw"]:
        return "json" if given["as_json"] else "text"
    if given["as_json"]:
        raise click.UsageError("--raw and --json exclude each other: give only one of them")
    if sys.stdout.isatty():
        raise click.UsageError("--raw cannot write to a terminal: redirect the output to a file or a pipe")
    return "raw"


def print_message(message: ReceivedMessage, out: TextIO, form: Form) -> None:
    """Print one message."""
    if form == "raw":
        out.flush()
        out.buffer.write(message.body)
        out.buffer.flush()
        return
    print(as_json(message) if form == "json" else as_line(message), file=out, flush=True)


def as_line(message: ReceivedMessage) -> str:
    """Return time, position, tag and body, with control characters escaped."""
    queue = message.queue
    place = f"{queue.broker_name}/{queue.queue_id}@{message.queue_offset}"
    more = f" ... {len(message.body)} bytes" if len(message.body) > BODY_MAX else ""
    fields = (iso(message.store_timestamp), escaped(place), escaped(message.tags or "-"))
    return "  ".join((*fields, body_text(message.body[:BODY_MAX]) + more))


def as_json(message: ReceivedMessage) -> str:
    """Return all fields of a message as one JSON object on one line."""
    queue = message.queue
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
        **body_fields(message.body),
    }
    return escaped_json(json.dumps(shown, ensure_ascii=False))
