"""Our server has the prepared topics as they were written."""

from pathlib import Path

from bench.prepared import topic_names, write_topics
from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.tables.topics import TopicTable


def test_topics_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_topics(tmp_path, topic_names(3), 5)
    path = str(tmp_path / "config" / "topics.json")
    table = TopicTable(BrokerOptions(), RealDisk(), path, ManualClock())
    table.load()
    for name in ("bench_many_0", "bench_many_1", "bench_many_2"):
        config = table.get(name)
        assert config is not None
        assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (5, 5, 6)
    assert table.get("bench_many_3") is None
