"""Settings of compacted topics. Standard: `MessageStoreConfig`."""

from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options


class CompactionOptions(Options):
    """Topics of which only the newest message of each key stays."""

    enable_compaction: bool = option(
        True,
        "Serve topics whose cleanup.policy is COMPACTION from their compacted files.",
        effect=Effect.RESTART,
    )
    compaction_mapped_file_size: int = option(
        100 * 1024**2,
        "Size of a file of compacted messages, about; five queue files at least.",
        unit="bytes",
        effect=Effect.RESTART,
    )
    compaction_cq_mapped_file_size: int = option(
        10 * 1024**2,
        "Size of the queue file beside it, about.",
        unit="bytes",
        low=460,
        effect=Effect.RESTART,
    )
    compaction_schedule_internal: int = option(
        900_000, "Time between compactions of a queue; up to twice as long.", unit="ms", low=1
    )
    max_offset_map_size: int = option(
        100 * 1024**2, "Memory for the keys of all compactions, 24 bytes a key.", unit="bytes"
    )
    compaction_thread_num: int = option(
        6, "Parts of that memory; one queue is compacted at a time, with one part.", low=1
    )
