"""Administrator in an in-memory cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mqgateway.gateway.client.admin import Admin
from mqgateway.gateway.client.admin_question import Question
from tests.support.gateway.client.cluster import Cluster, messages

BROKER = "broker-a"


class Office:
    """Cluster with the topic T of four queues, and its administrator."""

    def __init__(self, cluster: Cluster, **settings: Any) -> None:
        self.cluster = cluster
        self.admin = Admin(cluster.around, **cluster.settings(settings))
        cluster.begin(self.admin)

    def ask(self, question: Question[Any], broker: str = BROKER) -> Any:
        """Return the broker's answer."""
        return self.cluster.run(self.admin.ask(question, broker))

    def ask_names(self, question: Question[Any]) -> Any:
        """Return the name server's answer."""
        return self.cluster.run(self.admin.ask_name_server(question))

    def send(self, count: int, topic: str = "T", **fields: Any) -> list[Any]:
        """Send messages with the bodies 0, 1, 2 ..."""
        producer = self.cluster.producer(f"P{self.cluster.net.attempts}")
        return [self.cluster.run(producer.send(one)) for one in messages(topic, count, **fields)]


@contextmanager
def office(**chosen: Any) -> Iterator[Office]:
    """Return a cluster and its administrator."""
    with Cluster(**chosen) as cluster:
        cluster.make_topic("T")
        yield Office(cluster)
