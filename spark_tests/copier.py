"""A driver of its own, which copies a topic to another in transactions.

python -m spark_tests.copier NAMESRV FROM TO CHECKPOINT            on and on, to be killed
python -m spark_tests.copier NAMESRV FROM TO CHECKPOINT once       what there is now
"""

from __future__ import annotations

import sys
from typing import Any

from mqgateway.pipeline.jobs.session import new_session

ROWS = 500
"""Of a micro-batch."""


def copy(session: Any, namesrv: str, source: str, target: str, checkpoint: str) -> Any:
    """A stream from one topic to another, not yet started."""
    given = {"nameServer": namesrv, "topic": source, "startingOffsets": "earliest"}
    frame = session.readStream.format("rocketmq").options(**given, maxOffsetsPerTrigger=str(ROWS)).load()
    return (
        frame.writeStream.format("rocketmq")
        .options(nameServer=namesrv, topic=target, transactional="true")
        .option("checkpointLocation", checkpoint)
    )


if __name__ == "__main__":
    query = copy(new_session("copier", "local[2]"), *sys.argv[1:5])
    trigger: dict[str, Any] = {"availableNow": True} if sys.argv[5:] else {"processingTime": "0.1 seconds"}
    query.trigger(**trigger).start().awaitTermination()
