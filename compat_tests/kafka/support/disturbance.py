"""A broker that is killed, paused and restarted again and again while clients work."""

from __future__ import annotations

import os
import random
import signal
import time

from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.support.background import Background

WORK_SECONDS = (4.0, 10.0)
PAUSE_SECONDS = (1.0, 8.0)


class Disturbance(Background):
    """Thread that disturbs a broker every few seconds; afterwards the broker runs.

    Args:
        server: The broker.
        seed: Number that the kinds of disturbance and their times follow from.
    """

    def __init__(self, server: KafkaServer, seed: int) -> None:
        super().__init__()
        self._server = server
        self._chance = random.Random(seed)
        self.done: list[str] = []
        """Names of the disturbances so far."""
        self.failures: list[Exception] = []
        """A server that did not start again."""

    def _run(self) -> None:
        while not self._is_over(self._chance.uniform(*WORK_SECONDS)):
            kind = self._chance.choice(["kill", "kill", "pause", "restart"])
            try:
                self._disturb(kind)
            except Exception as failure:
                self.failures.append(failure)
                return
            self.done.append(kind)

    def _disturb(self, kind: str) -> None:
        if kind == "kill":
            self._server.kill9()
            self._server.start()
        elif kind == "restart":
            self._server.restart()
        else:
            os.kill(self._server.pid, signal.SIGSTOP)
            try:
                time.sleep(self._chance.uniform(*PAUSE_SECONDS))
            finally:
                os.kill(self._server.pid, signal.SIGCONT)
