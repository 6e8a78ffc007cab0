"""Fills a store without a broker, in a process of its own: `python -m bench.store_fill FOLDER ...`.

Prints one JSON object: seconds, resident memory before and after, and how long the longest step took.
"""

import json
import os
import time

import click
import psutil

from bench.store_loop import Loop
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.message import Message, pack_host
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.message_store import MessageStore

HOST = pack_host("127.0.0.1", 10911)
TICK_SECONDS = 0.1


def message(topic: str, queue_id: int, body: bytes) -> Message:
    """A message as a producer sends it: with tags, a unique key and a key."""
    unique = os.urandom(16).hex().upper()
    return Message(
        topic, queue_id, body, {"TAGS": "a", "UNIQ_KEY": unique, "KEYS": unique[:8]}, 0, HOST, HOST
    )


def open_store(folder: str, loop: Loop, **settings: object) -> MessageStore:
    """A started store on the real disk."""
    options = StoreOptions(store_path_root_dir=folder, **settings)
    store = MessageStore(
        options,
        disk=RealDisk(),
        clock=SystemClock(),
        worker=loop.worker(),
        aside=loop.worker(options.cold_read_threads),
        store_host=HOST,
    )
    store.start()
    return store


@click.command()
@click.argument("folder")
@click.option("--topics", default=1)
@click.option("--queues", default=8)
@click.option("--rounds", default=1, help="Messages for each queue.")
@click.option("--body", default=1024, help="Bytes of a message's body.")
@click.option("--log", default=1 << 30, help="Length of a log file.")
def main(folder: str, topics: int, queues: int, rounds: int, body: int, log: int) -> None:
    """Put `rounds` messages into each queue of each topic, wait until all is written out, stop."""
    loop = Loop()
    before = psutil.Process().memory_info().rss
    store = open_store(folder, loop, mapped_file_size_commit_log=log)
    names = [f"bench-{number:06d}" for number in range(topics)]
    began = last = time.perf_counter()
    longest, data = 0.0, os.urandom(body)
    for _ in range(rounds):
        for name in names:
            step = time.perf_counter()
            for queue_id in range(queues):
                store.put(message(name, queue_id, data))
            store.dispatch()
            if step - last > TICK_SECONDS:
                store.tick()
                last = step
            loop.turn()
            longest = max(longest, time.perf_counter() - step)
    put_seconds = time.perf_counter() - began
    resident = psutil.Process().memory_info().rss
    began = time.perf_counter()
    loop.stop()
    store.stop()
    figures = {
        "messages": topics * queues * rounds,
        "put_seconds": put_seconds,
        "longest_step_ms": longest * 1000,
        "stop_seconds": time.perf_counter() - began,
        "resident_before_mb": before / 1e6,
        "resident_mb": resident / 1e6,
    }
    click.echo(json.dumps(figures))


if __name__ == "__main__":
    main()
