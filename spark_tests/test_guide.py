"""The programs of docs/spark.md, block by block, in the order they stand there."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import SparkSession

from spark_tests.broker import Broker
from spark_tests.conftest import ROOT

ADDRESS, STORE = "127.0.0.1:9876", "/data/store"


def test_the_guide_runs(spark: SparkSession, broker: Broker) -> None:
    """Against a server elsewhere: addresses and folders are replaced, and nothing else."""
    broker.resize("TopicTest", 2)
    broker.send("TopicTest", [f"{number}" for number in range(20)])
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "spark.md").read_text(), re.S)
    known: dict[str, Any] = {}
    for block in blocks:
        program = block.replace(ADDRESS, broker.namesrv).replace(STORE, str(broker.server.store_dir))
        exec(compile(program, "docs/spark.md", "exec"), known)
    assert known["frame"].count() == 20
    assert sorted(body for _, body in broker.bodies("orders")) == sorted(f"order {n}" for n in range(20))
    assert known["stored"].where("topic = 'orders'").count() == 20
