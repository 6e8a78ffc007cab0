"""A Spark session for the jobs: times are UTC, nothing listens for browsers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.pipeline import spark

DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
}


def new_session(name: str, master: str = "local[*]", settings: Mapping[str, str] | None = None) -> Any:
    """Return a session, or the one there is. Raises `PipelineError`."""
    session = spark.session(name, master, {**DEFAULTS, **(settings or {})})
    session.sparkContext.setLogLevel("ERROR")
    return session
