"""The process that saves a broker's log: `python -m mqgateway.gateway.cli.tier_saver STORE`.

The first line of standard input says where; each further line has what the broker knows (`SavingRules`), and
is answered on standard output with how far the log is saved (`SavingState`). The end of standard input means
that the broker is gone. The argument is shown only.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.real_disk import ReadOnlyDisk
from mqgateway.engine.tier.continuous import ContinuousSaver, SavingRules
from mqgateway.engine.tier.format.names import TierNames
from mqgateway.engine.upkeep.layout import Layout
from mqgateway.gateway.broker.older_messages import is_noted
from mqgateway.gateway.cli.settings import BrokerSettings
from mqgateway.gateway.container.children import Lines, Message, line_of
from mqgateway.gateway.object_stores.opening import open_for_writing

NICENESS = 10
_READ_SIZE = 65536


def first_line(settings: BrokerSettings) -> Message:
    """Return the first message to the process: the store, its folder of the log, and where they are saved."""
    return {
        "root": settings.store.store_path_root_dir,
        "log": settings.store.store_path_commit_log,
        "url": settings.store.tiered_store_path,
        "isNew": not is_noted(
            ReadOnlyDisk(), settings.store.store_path_root_dir, settings.store.tiered_store_path
        ),
        "cluster": settings.broker.broker_cluster_name,
        "broker": settings.broker.broker_name,
    }


def saver_for(first: Message) -> ContinuousSaver:
    """Return the saver that the first message describes."""
    options = StoreOptions(store_path_root_dir=first["root"], store_path_commit_log=first["log"])
    clock = SystemClock()
    open_store = partial(_opened, first["url"], clock, first["isNew"])
    names = TierNames(first["cluster"], first["broker"])
    return ContinuousSaver(Layout(ReadOnlyDisk(), options), names, open_store, clock)


def _opened(url: str, clock: SystemClock, is_new: bool) -> Any:
    return open_for_writing(url, clock.millis(), is_new=is_new)


def messages(read: Callable[[], bytes]) -> Iterator[list[Message]]:
    """Yield the messages that each read completes, until the input ends."""
    lines = Lines()
    while data := read():
        if found := lines.feed(data):
            yield found


def serve(
    read: Callable[[], bytes], write: Callable[[bytes], object], is_waiting: Callable[[], bool]
) -> None:
    """Answer the messages of the broker until it is gone. Of several that wait the last one counts.

    Ranges are saved one after the other, each with a report, until none is due or `is_waiting` returns True:
    the broker has sent something.
    """
    saver: ContinuousSaver | None = None
    for found in messages(read):
        if saver is None:
            saver, found = saver_for(found[0]), found[1:]
        while found:
            before = saver.ranges
            state = saver.look(SavingRules(**found[-1]))
            write(line_of(state._asdict()))
            if state.ranges == before or is_waiting():
                break


def main() -> None:
    """Save the log until the broker is gone."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    fd = sys.stdin.fileno()
    serve(
        lambda: os.read(fd, _READ_SIZE),
        partial(os.write, sys.stdout.fileno()),
        lambda: bool(select.select([fd], [], [], 0)[0]),
    )


if __name__ == "__main__":
    main()
