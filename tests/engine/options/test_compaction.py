"""Settings of compacted topics."""

import pytest

from mqgateway.engine.options import OptionSet, Setting, StoreOptions
from mqgateway.engine.options.compaction import CompactionOptions


def test_the_defaults_are_the_standards() -> None:
    options = CompactionOptions()
    assert options.enable_compaction
    assert (options.compaction_schedule_internal, options.compaction_thread_num) == (15 * 60 * 1000, 6)
    assert options.compaction_mapped_file_size == options.max_offset_map_size == 100 * 1024 * 1024


@pytest.mark.parametrize("key", ["compactionScheduleInternal", "compactionThreadNum"])
def test_zero_is_refused(key: str) -> None:
    (problem,) = OptionSet(StoreOptions()).apply([Setting(key, "0")])
    assert "less than" in problem.what
