"""The committed codecs are what the generator makes of the message schemas in the published jars."""

from __future__ import annotations

import runpy
from pathlib import Path

from compat_tests.kafka.support.builds import KAFKA, class_path

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "scripts" / "kafka_messages.py"
PACKAGE = ROOT / "gateway" / "kafka" / "codec" / "messages"
JARS = (
    "kafka-clients",
    "kafka-group-coordinator",
    "kafka-transaction-coordinator",
    "kafka-share-coordinator",
)


def test_generator_makes_the_committed_codecs_of_the_published_schemas() -> None:
    folder = Path(class_path("server")).parent
    generated = runpy.run_path(str(GENERATOR))["generated"]
    committed = {path.name: path.read_text() for path in PACKAGE.glob("*.py")}
    assert generated(*(folder / f"{name}-{KAFKA}.jar" for name in JARS)) == committed
