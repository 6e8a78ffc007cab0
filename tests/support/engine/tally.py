"""Counts of the broker's own work."""

from collections import Counter

from mqgateway.engine.meters import Meters


class Tally:
    """Messages put and got, and their bytes, by topic and by topic and group."""

    meters: Meters | None = None

    def __init__(self) -> None:
        self.puts: Counter[str] = Counter()
        self.gots: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def put(self, topic: str, messages: int, size: int) -> None:
        self.puts[topic] += messages
        self.bytes[topic] += size

    def got(self, group: str, topic: str, messages: int, size: int) -> None:
        self.gots[f"{topic}@{group}"] += messages
        self.bytes[f"{topic}@{group}"] += size
