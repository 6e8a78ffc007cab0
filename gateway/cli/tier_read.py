"""The command `mqgateway tier read`: messages of a queue from a tier, without a broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from mqgateway.gateway.cli.plain import body_fields, escaped_json
from mqgateway.gateway.cli.tier import BROKER, CLUSTER, URL, broker_of

if TYPE_CHECKING:
    from mqgateway.engine.message import StoredMessage
    from mqgateway.engine.tier.reading import TierReading

EXAMPLES = """\b
Examples:
  mqgateway tier read file:///mnt/archive orders 0 0 --count 10
  mqgateway tier read s3://bucket/mq orders 3 120000 --broker-name broker-a | jq .body"""
CACHE_BYTES = 8 << 20
OFFSET_MAX = (1 << 63) - 1


@click.command(epilog=EXAMPLES)
@URL
@click.argument("topic", metavar="TOPIC")
@click.argument("queue_id", metavar="QUEUE", type=click.IntRange(0))
@click.argument("offset", metavar="OFFSET", type=click.IntRange(0))
@click.option("--count", type=click.IntRange(1), default=32, show_default=True, help="Number of messages.")
@CLUSTER
@BROKER
def read(
    url: str, topic: str, queue_id: int, offset: int, count: int, cluster: str | None, broker_name: str | None
) -> None:
    """Print messages of a queue from OFFSET on, one JSON object a line.

    They are read from the tier alone, so a broker may have them too, or have deleted them. A line without
    body says that messages up to "nextOffset" are gone.

    Exit code 0: done, also if fewer messages are there; 2: the tier cannot be read.
    """
    from mqgateway.engine.clock import SystemClock
    from mqgateway.engine.errors import StoreError
    from mqgateway.engine.tier.reading import TierReading
    from mqgateway.engine.worker import InlineWorker
    from mqgateway.gateway.cli.store import errors_reported

    with errors_reported(False):
        store, names = broker_of(url, cluster, broker_name)
        tier = TierReading(store, names, worker=InlineWorker(), clock=SystemClock(), cache_bytes=CACHE_BYTES)
        tier.tick()
        if tier.directory is None:
            raise StoreError(tier.parts.fault)
        if tier.history(topic, queue_id) is None:
            raise StoreError(f"{url} has no messages of queue {queue_id} of topic {topic}")
        for line in islice(_lines(tier, topic, queue_id, offset), count):
            click.echo(line)


def _lines(tier: TierReading, topic: str, queue_id: int, offset: int) -> Iterator[str]:
    """Yield the messages of a queue from an offset on. Raises `NothingYet`."""
    from mqgateway.engine.store.expansion import expand, holds_record_batch
    from mqgateway.engine.store.record import decode

    history = tier.history(topic, queue_id)
    end = OFFSET_MAX if history is None else history[len(history) - 1].end_offset
    for begin, block in tier.blocks_of(topic, queue_id, offset, end, True):
        if block is None:
            if begin < end:
                yield json.dumps({"topic": topic, "queueId": queue_id, "nextOffset": begin})
            continue
        for number in range(block.unit_at(begin), len(block)):
            record = block.record(number)
            records = expand(record, lambda *_: None) if holds_record_batch(record) else [record]
            for message in map(decode, records):
                if message.queue_offset >= offset:
                    yield escaped_json(json.dumps(_shown(message), ensure_ascii=False))


def _shown(message: StoredMessage) -> dict[str, Any]:
    return {
        "topic": message.topic,
        "queueId": message.queue_id,
        "queueOffset": message.queue_offset,
        "physicalOffset": message.physical_offset,
        "bornTimestamp": message.born_timestamp,
        "storeTimestamp": message.store_timestamp,
        "properties": message.properties,
        **body_fields(message.body),
    }
