"""The periodic samples of topics that have received messages since the broker started."""

from __future__ import annotations

from mqgateway.gateway.web.api.topics import is_of_users
from mqgateway.gateway.web.console import Console

TOPICS_A_LOOK = 64


async def watch_topics(console: Console) -> None:
    """Note the messages that are kept, and messages and bytes that came in, of each topic of users."""
    operations, breathe = console.operations, console.turns()
    now, found = console.now(), set()
    for number, (name, messages, size) in enumerate(operations.topics.put_totals()):
        if not number % TOPICS_A_LOOK:
            await breathe()
        config = operations.topics.get(name)
        if config is not None and is_of_users(operations, config):
            found.add(name)
            console.topics.note(name, now, operations.topics.message_count(name), messages, size)
    console.topics.retain(found)
