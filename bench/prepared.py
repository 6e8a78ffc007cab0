"""Topics that a server has from its start, in the file where both servers keep them."""

import json
from pathlib import Path
from typing import Any

TOPIC = "bench_many"
"""The topics are called after it: `bench_many_0` and so on."""
PERM_READ_WRITE = 6


def write_topics(store: Path, names: list[str], queues: int) -> None:
    """Let a server that starts on this store have topics of so many queues.

    Standard: `TopicConfigManager`.
    """
    table = {name: topic_config(name, queues) for name in names}
    version = {"counter": 1, "stateVersion": 0, "timestamp": 1}
    folder = store / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "topics.json").write_text(json.dumps({"dataVersion": version, "topicConfigTable": table}))


def topic_config(name: str, queues: int) -> dict[str, Any]:
    """A topic as files and registrations have it. Standard: `TopicConfig`."""
    return {
        "attributes": {},
        "order": False,
        "perm": PERM_READ_WRITE,
        "readQueueNums": queues,
        "topicFilterType": "SINGLE_TAG",
        "topicName": name,
        "topicSysFlag": 0,
        "writeQueueNums": queues,
    }


def topic_names(count: int) -> list[str]:
    """The names that a load with so many topics sends to."""
    return [f"{TOPIC}_{number}" for number in range(count)]
