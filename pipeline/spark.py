"""A session that knows our formats, and whose workers can load them: one line before everything else.

    spark = session()                       a new session, or the one there is
    register(spark)                         the same for a session that was made elsewhere

Spark runs data sources in Python processes of its own. Their interpreter is the one that PYSPARK_PYTHON named
when the session began, else whatever `python3` the PATH has, which seldom has this package. Spark also looks
for formats by itself, with that interpreter, once. Neither is relied on here: the interpreter is set in the
session, and the formats are registered under their names.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from mqgateway.pipeline.errors import PipelineError
from mqgateway.pipeline.source import RocketMQDataSource
from mqgateway.pipeline.store_source import StoreDataSource

WORKERS = "PYSPARK_PYTHON"
DRIVER = "PYSPARK_DRIVER_PYTHON"
PUSH_DOWN = "spark.sql.python.filterPushdown.enabled"
"""Off by default; it concerns sources that take filters, and of ours only queries with `pushDownFilters`."""
PROBE_SECONDS = 60


def session(
    name: str = "mqgateway", master: str | None = None, settings: Mapping[str, str] | None = None
) -> Any:
    """Return a session that has the formats `rocketmq` and `rocketmq-store`. Without `master` Spark's own
    choice holds: what it was submitted to, else this machine. Raises `PipelineError`."""
    choose_interpreter()
    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    return register(builder.getOrCreate())


def register(spark: Any) -> Any:
    """Let a session know the formats; it is given back. What its workers run from now on is PYSPARK_PYTHON,
    or this interpreter where that is not set. Raises `PipelineError` when that cannot load them."""
    if isinstance(spark, SparkSession):
        python, context = choose_interpreter(), spark.sparkContext
        if context.master.startswith("local") and python != sys.executable:
            check_interpreter(python)
        context.pythonExec = python
    spark.conf.set(PUSH_DOWN, "true")
    for format_ in (RocketMQDataSource, StoreDataSource):
        spark.dataSource.register(format_)
    return spark


def choose_interpreter() -> str:
    """Return the interpreter of the workers: that of PYSPARK_PYTHON, which is set to this one where it is
    not."""
    os.environ.setdefault(DRIVER, sys.executable)
    return os.environ.setdefault(WORKERS, sys.executable)


def check_interpreter(python: str) -> None:
    """Refuse an interpreter that cannot load the formats. Raises `PipelineError`."""
    needed = (__name__.rpartition(".")[0], "pyarrow")
    question = (
        f"import importlib.util as u; assert all(map(u.find_spec, {needed})), 'not all of them are found'"
    )
    try:
        done = subprocess.run([python, "-c", question], capture_output=True, text=True, timeout=PROBE_SECONDS)
        cause = done.stderr.strip().rpartition("\n")[2] if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        cause = str(error)
    if cause:
        raise PipelineError(
            f"{WORKERS}={python} cannot load {' and '.join(needed)}, which Spark's workers need ({cause}); "
            f"unset {WORKERS}, or set it to {sys.executable}"
        )
