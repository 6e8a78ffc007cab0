"""Producers that send in the background while a scenario disturbs their servers."""

from __future__ import annotations

import itertools
import threading

from compat_tests.kafka.support.clients import KafkaClient
from compat_tests.support.processes import wait_until

FLIGHT_SECONDS = 240
"""Time until a flight is acknowledged, whatever happens to the servers meanwhile."""

Places = dict[tuple[int, int], str]
"""Values by partition and offset."""


class Sender(threading.Thread):
    """Sends by one client until it is stopped; each flight of records has an idempotent producer of its own.

    `flight` records are sent without waiting, so that a kill finds batches in flight. Their values ascend,
    and begin with the client's name.
    """

    def __init__(
        self, client: KafkaClient, topic: str, flight: int, *, partitions: int = 1, compression: str = "none"
    ) -> None:
        super().__init__(daemon=True)
        self._client, self._topic = client, topic
        self._flight, self._partitions, self._compression = flight, partitions, compression
        self._ends = threading.Event()
        self.flights = 0
        self.failures: list[Exception] = []
        self.acknowledged: Places = {}

    def run(self) -> None:
        """Send."""
        numbers = itertools.count()
        while not self._ends.is_set():
            values = [f"{self._client.name}-{next(numbers):07}" for _ in range(self._flight)]
            try:
                self._send(values)
            except Exception as failure:
                self.failures.append(failure)
                return
            self.flights += 1

    def _send(self, values: list[str]) -> None:
        records = [{"value": value, "partition": n % self._partitions} for n, value in enumerate(values)]
        places = self._client.produce(self._topic, records, compression=self._compression, idempotent=True)
        for place, value in zip(places, values, strict=True):
            self.acknowledged[place.partition, place.offset] = value

    def wait_for_flights(self, count: int) -> None:
        """Wait until so many flights more are acknowledged."""
        wanted = self.flights + count
        wait_until(
            lambda: self.flights >= wanted or bool(self.failures), FLIGHT_SECONDS, "acknowledged records"
        )
        assert not self.failures

    def stop(self) -> None:
        """End after the flight that is in the air."""
        self._ends.set()
        self.join(FLIGHT_SECONDS)
        assert not self.is_alive()
        assert not self.failures
