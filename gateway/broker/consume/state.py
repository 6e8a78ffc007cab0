"""State of reads: parked pulls, cold reads, slow consumers and broadcast offsets."""

from __future__ import annotations

from mqgateway.engine.cold_reads import ColdReads
from mqgateway.engine.slow_consumers import SlowConsumers
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.tables.broadcasts import BroadcastOffsets
from mqgateway.gateway.broker.consume.long_polling import HeldPulls, resume_all
from mqgateway.gateway.broker.environment import BrokerEnvironment


class ConsumeState:
    """State of the broker's reads, in memory only."""

    def __init__(self, environment: BrokerEnvironment) -> None:
        options, clock = environment.options, environment.clock
        self.held_pulls = HeldPulls(options)
        self.cold_reads = ColdReads(options, environment.store_options, clock)
        self.slow_consumers = SlowConsumers(options)
        self.broadcasts = BroadcastOffsets(options, clock)

    def topic_deleted(self, topic: str) -> None:
        """Answer the pulls that wait for messages of a deleted topic."""
        resume_all(self.held_pulls.of_topic(topic))

    def answer_due(self, elapsed: int, store: MessageStore) -> None:
        """Answer pulls whose deadline is `elapsed` (ms) or before, and pulls whose queue has grown."""
        if self.held_pulls:
            resume_all(self.held_pulls.due(elapsed, store.max_offset))
