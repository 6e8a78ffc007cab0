"""Errors that Spark shows by their sentence first.

An error that leaves one of our methods ends the Python process that Spark called it in, and Spark shows what
that process formats last: the whole way the error came, above its sentence, unless the variable that stands
for `spark.sql.execution.pyspark.udf.hideTraceback.enabled` is set there. It is set for errors that are meant
for users, in a process that ends with them: tracebacks of everybody else stay.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from mqgateway.gateway.client.errors import ClientError
from mqgateway.pipeline.errors import PipelineError

log = logging.getLogger(__name__)

HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"


@contextmanager
def plainly() -> Iterator[None]:
    """Let errors of ours, and of the client, leave as a sentence; of faults the way they came is shown."""
    try:
        yield
    except (PipelineError, ClientError):
        log.debug("the way an error came", exc_info=True)
        os.environ[HIDE_TRACEBACK] = "1"
        raise
