"""A driver of its own, which archives a topic.

python -m spark_tests.archiver NAMESRV TOPIC TARGET            on and on, to be killed
python -m spark_tests.archiver NAMESRV TOPIC TARGET MASTER     once, on that master
"""

from __future__ import annotations

import sys

from mqgateway.pipeline.jobs.archive import archive
from mqgateway.pipeline.jobs.session import new_session

if __name__ == "__main__":
    namesrv, topic, target, *master = sys.argv[1:]
    options = {"nameServer": namesrv, "topic": topic, "maxOffsetsPerTrigger": "100"}
    if master:
        options |= {"maxOffsetsPerTrigger": "0", "minPartitions": "4"}
        session = new_session("archiver", master[0], {"spark.executor.memory": "512m"})
        archive(session, options, target)
        session.stop()
    else:
        archive(new_session("archiver", "local[2]"), options, target, trigger_seconds=0.1)
