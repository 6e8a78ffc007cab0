"""`mqgateway tail`: the newest messages of a topic, and those that come; no group is touched.

It reads every queue by itself, commits nothing, and takes no message away from anybody.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from mqgateway.gateway.cli.client_flags import READERS, client_flags, reports_errors, settings
from mqgateway.gateway.cli.printing import form_of, print_message, raw_flag

POLL_SECONDS = 1.0

EXAMPLES = """\b
Examples:
  mqgateway tail TopicTest
  mqgateway tail TopicTest -l 100 --json | jq .body
  mqgateway tail TopicTest -f --tags TagA"""


@click.command(epilog=EXAMPLES)
@click.argument("topic")
@click.option(
    "-l",
    "--lines",
    default=10,
    show_default=True,
    type=click.IntRange(0),
    help="Number of newest messages to print.",
)
@click.option("-f", "--follow", is_flag=True, help="Continue with new messages as they arrive.")
@click.option("--tags", help="Tags to select: 'A || B'.")
@raw_flag
@client_flags
@reports_errors
def tail(**given: Any) -> None:
    """Print the newest messages of TOPIC."""
    from mqgateway.gateway.client import LitePullConsumer, PullConsumer

    chosen, form = settings(given), form_of(given)
    wanted = given["tags"] or "*"
    with PullConsumer(READERS, **chosen) as reader:
        queues = reader.queues(given["topic"])
        ends = {queue: reader.max_offset(queue) for queue in queues}
        newest = []
        for queue in queues:
            begin = max(reader.min_offset(queue), ends[queue] - given["lines"])
            newest += _between(reader, queue, begin, ends[queue], wanted)
    newest.sort(key=lambda message: (message.store_timestamp, message.physical_offset))
    for message in newest[-given["lines"] :] if given["lines"] else []:
        print_message(message, sys.stdout, form)
    if not given["follow"]:
        return
    follower = LitePullConsumer(READERS, auto_commit=False, **chosen)
    follower.assign(queues, wanted)
    with follower:
        for queue, end in ends.items():
            follower.seek(queue, end)
        while True:
            for message in follower.poll(POLL_SECONDS):
                print_message(message, sys.stdout, form)


def _between(reader: Any, queue: Any, begin: int, end: int, wanted: str) -> list[Any]:
    """The messages of a queue from one offset to another."""
    messages: list[Any] = []
    while begin < end:
        found = reader.pull(queue, begin, end - begin, wanted)
        messages += [message for message in found.messages if message.queue_offset < end]
        if found.next_offset <= begin:
            break
        begin = found.next_offset
    return messages
