"""The first files of many new queues, made by a worker.

Making a folder and a file takes longer than everything else a send to a new topic does. So where many
queues are new, a worker makes folders and files, and writes the first units. A queue is not written to
meanwhile.
"""

from __future__ import annotations

import contextlib
from typing import Final

from mqgateway.engine.disk import Disk
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueues
from mqgateway.engine.store.file_queue import make_file
from mqgateway.engine.store.unit_queue import FirstFile
from mqgateway.engine.worker import Worker

NEW_QUEUES_MANY = 64
"""New queues from which on their folders and files are made by the worker."""
NEW_QUEUES_A_STEP: Final = 512
"""New queues of which one piece of work makes the files: the next one waits for a turn of the loop."""


class NewFiles:
    """Makes the first files of queues. `is_making` is true while the worker does."""

    def __init__(self, queues: ConsumeQueues, disk: Disk, worker: Worker) -> None:
        self._queues = queues
        self._disk = disk
        self._worker = worker
        self.is_running = True
        self.is_making = False

    def tick(self) -> None:
        """Have files made if many queues lack one. A failure is left to the next write, which reports it."""
        if self.is_making or len(self._queues.new) < NEW_QUEUES_MANY:
            return
        wanted = self._queues.first_files(NEW_QUEUES_A_STEP)
        self.is_making = True

        def work() -> None:
            for _, (directory, start, size, units) in wanted:
                self._disk.makedirs(directory)
                file = make_file(self._disk, directory, start, size)
                if units:
                    file.write(0, units)
                file.close()

        self._worker.run(work, lambda outcome: self._made(wanted, outcome))

    def _made(self, made: list[tuple[AnyQueue, FirstFile]], outcome: object) -> None:
        self.is_making = False
        if not self.is_running:
            return
        for queue, first in made:
            with contextlib.suppress(OSError):
                self._queues.made(queue, first, not isinstance(outcome, Exception))
        if not isinstance(outcome, Exception):
            self.tick()
