"""A group of one topic, and records for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from compat_tests.kafka.support.clients import KafkaClient, Member, Programs

PARTITIONS = 6


def spread(client: KafkaClient, topic: str, first: int, count: int = 30) -> list[str]:
    """Send numbered records to all partitions in turn; returns their values."""
    values = [f"value-{number}" for number in range(first, first + count)]
    partitions = [number % PARTITIONS for number in range(count)]
    records = [{"value": value, "partition": part} for value, part in zip(values, partitions, strict=True)]
    client.produce(topic, records)
    return values


class Group:
    """A group of one topic, with the name of it."""

    def __init__(self, client: KafkaClient, topic: str, members: ExitStack) -> None:
        self.client = client
        self.topic = topic
        self._members = members

    def join(self, client: KafkaClient | None = None, group: str = "", **options: str) -> Member:
        """Return a new member."""
        member = (client or self.client).join(group or self.topic, self.topic, **options)
        return self._members.enter_context(member)


@contextmanager
def process_of_its_own(client: KafkaClient, programs: Programs) -> Iterator[KafkaClient]:
    """Run the client in another process, which is killed at the end."""
    program = programs.start(client.name)
    try:
        yield KafkaClient(client.name, program, client.address)
    finally:
        program.kill()
