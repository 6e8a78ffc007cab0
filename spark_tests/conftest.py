"""One session and one server for all tests; neither is left running."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mqgateway.pipeline.jobs.session import new_session
from spark_tests.broker import Broker
from spark_tests.kafka_source import kafka_jars

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A server of ours."""
    broker = Broker(tmp_path_factory.mktemp("broker"))
    yield broker
    broker.server.discard()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two workers, two partitions after a shuffle; modules are compiled once for all of their processes."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    settings = {"spark.python.worker.faulthandler.enabled": "true", "spark.jars": kafka_jars()}
    session = new_session("spark_tests", "local[2]", settings)
    yield session
    session.stop()
