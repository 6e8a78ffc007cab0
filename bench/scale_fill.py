"""Makes a broker's store large without a broker, as a process: `python -m bench.scale_fill FOLDER ...`.

What would take hours to send is made by the store's own classes: timers are units of the timer log that point
at fewer messages in turn, and of a long log only the first and the last file have messages, while the others
are sparse, with the blank record at their beginning that says so. Each step starts the store and stops it in
good order. Prints a JSON object: how long each step took.
"""

import json
import logging
import os
import time
from functools import partial
from pathlib import Path

import click

from bench.prepared import write_topics
from bench.store_fill import message, open_store
from bench.store_loop import Loop
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.message import TIMER_TOPIC, java_hash
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.log_files import fill
from mqgateway.engine.store.record import blank
from mqgateway.engine.timers.timer_log import DEFAULT, Unit
from mqgateway.engine.timers.timers import Timers
from mqgateway.engine.timers.wheel import NONE, Slot

LOG_FILE = 1 << 30
BODY = bytes(100)
TIMED_MESSAGES = 100_000
"""Messages that the units of the timer log point at, in turn."""
FIRST_DUE_SECONDS, LAST_DUE_SECONDS = 6 * 3600, 46 * 3600
UNITS_A_WRITE = 4096
TICK_EVERY = 1000
GROUP_TOPICS = 20
"""Topics of which each group has an offset."""


def topic_names(count: int) -> list[str]:
    """The topics of the store."""
    return [f"bench-{number:06d}" for number in range(count)]


def fill_topics(folder: str, count: int) -> None:
    """A message to each topic, which so has a queue, and the table of topics."""
    loop = Loop()
    store = open_store(folder, loop, mapped_file_size_commit_log=LOG_FILE)
    for number, name in enumerate(topic_names(count)):
        store.put(message(name, 0, BODY))
        store.dispatch()
        if number % TICK_EVERY == 0:
            store.tick()
        loop.turn()
    loop.stop()
    store.stop()
    write_topics(Path(folder), topic_names(count), 1)


def fill_groups(folder: str, count: int, topics: int) -> None:
    """The groups, and offsets of each. Standard: `SubscriptionGroupManager`, `ConsumerOffsetManager`."""
    config = Path(folder) / "config"
    config.mkdir(parents=True, exist_ok=True)
    version = {"counter": 1, "stateVersion": 0, "timestamp": 1}
    names = [f"bench_group_{number:05d}" for number in range(count)]
    groups = {name: {"groupName": name, "consumeEnable": True, "retryQueueNums": 1} for name in names}
    table = {"dataVersion": version, "forbiddenTable": {}, "subscriptionGroupTable": groups}
    (config / "subscriptionGroup.json").write_text(json.dumps(table))
    offsets = {
        f"bench-{(number * GROUP_TOPICS + at) % max(topics, 1):06d}@{name}": {"0": 0}
        for number, name in enumerate(names)
        for at in range(GROUP_TOPICS)
    }
    (config / "consumerOffset.json").write_text(json.dumps({"dataVersion": version, "offsetTable": offsets}))


def fill_timers(folder: str, count: int) -> None:
    """So many timers that wait, due within two days."""
    loop, clock, disk = Loop(), SystemClock(), RealDisk()
    options = StoreOptions(store_path_root_dir=folder, mapped_file_size_commit_log=LOG_FILE)
    store = open_store(folder, loop, mapped_file_size_commit_log=LOG_FILE)
    timers = Timers(store, options, disk, clock, loop.worker())
    timers.load()
    real = min(count, TIMED_MESSAGES)
    span = LAST_DUE_SECONDS - FIRST_DUE_SECONDS
    for number in range(real):
        one = message("bench-timed", 0, BODY)
        one.properties["TIMER_DELAY_SEC"] = str(FIRST_DUE_SECONDS + number * span // real)
        if refusal := timers.acceptance.rewrite(one, clock.millis()):
            raise RuntimeError(f"a timer is refused: {refusal}")
        store.put(one)
        store.dispatch()
        if number % TICK_EVERY == 0:
            store.tick()
            timers.tick(store.steady.now())
            loop.turn()
    while timers.enqueue.behind:
        timers.tick(store.steady.now())
    add_units(timers, store.consume_queue_units(TIMER_TOPIC, 0, 0, real), count - real)
    loop.stop()
    store.stop()
    timers.close()


def add_units(timers: Timers, messages: list[tuple[int, int, int]], count: int) -> None:
    """Set more timers for messages that have one already, each in another slot than the one before."""
    wheel, log = timers.wheel, timers.log
    written = wheel.floor(SystemClock().millis())
    slots: dict[int, Slot] = {}
    span = LAST_DUE_SECONDS - FIRST_DUE_SECONDS
    of_topic = java_hash("bench-timed")
    for number in range(count):
        place, size, _ = messages[number % len(messages)]
        delay = (FIRST_DUE_SECONDS + number % span) * 1000
        time_due = written + delay
        slot = slots.get(time_due) or wheel.get(time_due)
        previous = NONE if slot is None else slot.last
        at = log.append(Unit(previous, DEFAULT, written, delay, place, size, of_topic))
        first, total = (at, 0) if slot is None else (slot.first, slot.total)
        slots[time_due] = Slot(time_due, first, at, total + 1)
        if number % UNITS_A_WRITE == 0:
            log.write()
    log.write()
    for slot in slots.values():
        wheel.put(slot)
    timers.enqueue.pending += count
    timers.enqueue.last_time = max([timers.enqueue.last_time, *slots])
    timers.metrics.add("bench-timed", count, written)


def fill_log(folder: str, files: int) -> None:
    """Make the log so many files long: end the one there is, then sparse ones, then one with messages."""
    loop = Loop()
    store = open_store(folder, loop, mapped_file_size_commit_log=LOG_FILE)
    end = store.max_physical_offset
    loop.stop()
    store.stop()
    there = end // LOG_FILE + 1
    queue = FileQueue(FilePool(RealDisk()), os.path.join(folder, "commitlog"), LOG_FILE)
    queue.load()
    queue.write(end, blank(there * LOG_FILE - end))
    logging.disable(logging.ERROR)  # of each file it is said that it was missing
    try:
        fill(queue, [number * LOG_FILE for number in range(there, files - 1)])
    finally:
        logging.disable(logging.NOTSET)
    loop = Loop()
    store = open_store(folder, loop, mapped_file_size_commit_log=LOG_FILE)
    for _ in range(TICK_EVERY):
        store.put(message("bench-timed", 0, BODY))
        store.dispatch()
    loop.stop()
    store.stop()


@click.command()
@click.argument("folder")
@click.option("--topics", default=0, help="Topics with a queue and a message each.")
@click.option("--groups", default=0, help="Groups, each with offsets of some of the topics.")
@click.option("--timers", default=0, help="Timers that wait.")
@click.option("--files", default=0, help="Files of 1 GiB of which the log is to consist.")
def main(folder: str, topics: int, groups: int, timers: int, files: int) -> None:
    """Make what is asked for, in this order."""
    seconds = {}
    for name, count, work in (
        ("topics", topics, partial(fill_topics, folder, topics)),
        ("groups", groups, partial(fill_groups, folder, groups, topics)),
        ("timers", timers, partial(fill_timers, folder, timers)),
        ("files", files, partial(fill_log, folder, files)),
    ):
        if count:
            began = time.perf_counter()
            work()
            seconds[f"{name}_seconds"] = time.perf_counter() - began
    click.echo(json.dumps(seconds))


if __name__ == "__main__":
    main()
