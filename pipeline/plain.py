"""Errors of which Spark shows the text first.

An error that leaves one of our methods ends the Python process in which Spark called it. Spark shows what
that process formats last: the traceback above the text, unless the variable behind
`spark.sql.execution.pyspark.udf.hideTraceback.enabled` is set there. It is set only for errors that are meant
for users, in a process that ends with them: other errors keep their tracebacks.
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
    """Hide the tracebacks of the pipeline's and the client's errors; those of bugs are shown."""
    try:
        yield
    except (PipelineError, ClientError):
        log.debug("the way an error came", exc_info=True)
        os.environ[HIDE_TRACEBACK] = "1"
        raise
