"""A process that appends to a store on the real disk and reports on its standard output, until it is killed.

    python -m tests.support.engine.store.appender DIRECTORY FIRST

Message `n` goes to queue n % 4; each line of output is the number of an acknowledged message.
"""

import os
import sys
from itertools import count

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.store.stores import HOST, message, options

TOGETHER = 8
"""Messages that are put before each dispatch."""


def body_of(number: int) -> bytes:
    """Return the body of message `number`."""
    return b"%d " % number + b"x" * (number * 37 % 3000)


def open_store(directory: str) -> MessageStore:
    """Return a store with small files and frequent flushes."""
    settings = options(
        store_path_root_dir=directory,
        mapped_file_size_commit_log=1 << 20,
        mapped_file_size_consume_queue=2000,
        max_hash_slot_num=500,
        max_index_num=2000,
        flush_consume_queue_thorough_interval=50,
        flush_disk_type=FlushDiskType.SYNC_FLUSH,
    )
    store = MessageStore(
        settings, disk=RealDisk(), clock=SystemClock(), worker=InlineWorker(), store_host=HOST
    )
    store.start()
    return store


def main(directory: str, first: int) -> None:
    """Append until the process is killed."""
    store = open_store(directory)

    def said(status: PutStatus, number: int) -> None:
        if status is PutStatus.PUT_OK:
            os.write(1, b"%d\n" % number)

    for number in count(first):
        result = store.put(
            message("kills", number % 4, body_of(number), {"KEYS": f"k{number}", "UNIQ_KEY": f"u{number}"})
        )
        assert result.status is PutStatus.PUT_OK, result.remark
        store.when_flushed(result.end_offset, lambda status, number=number: said(status, number))  # type: ignore[misc]
        if number % TOGETHER == 0:
            store.dispatch()
            store.tick()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
