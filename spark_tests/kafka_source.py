"""Spark's own source and sink for Kafka: the jars, which Maven gets, and a stream that copies a topic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from compat_tests.support.artifacts import cache_folder, locked, made, run

VERSION = "4.2.0"
"""The newest version of the source that is published; it also runs on PySpark 4.3."""
JARS = ("spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13", "kafka-clients", "commons-pool2")
"""Jars that Spark itself lacks."""
ROWS = 200
"""Of a micro-batch."""


def kafka_jars() -> str:
    """Return the jars of the source, separated by commas."""
    command = ["mvn", "-q", "-B", "-f", str(Path(__file__).with_name("kafka.pom.xml"))]
    command += [f"-Dspark.version={VERSION}", "dependency:copy-dependencies", "-DincludeScope=runtime"]
    command += [f"-DincludeArtifactIds={','.join(JARS)}"]

    def copy(aside: Path) -> None:
        with locked(cache_folder() / "maven"):
            run([*command, f"-DoutputDirectory={aside}"])

    folder = made(cache_folder() / "jars" / f"spark-kafka-{VERSION}", copy)
    return ",".join(sorted(map(str, folder.iterdir())))


def copy(session: Any, address: str, source: str, target: str, checkpoint: str) -> Any:
    """Return a stream from a topic to a topic, not yet started."""
    given = {"kafka.bootstrap.servers": address, "subscribe": source, "startingOffsets": "earliest"}
    options = {**given, "maxOffsetsPerTrigger": str(ROWS), "includeHeaders": "true"}
    rows = session.readStream.format("kafka").options(**options).load().select("key", "value", "headers")
    return (
        rows.writeStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": address, "topic": target})
        .option("checkpointLocation", checkpoint)
    )
