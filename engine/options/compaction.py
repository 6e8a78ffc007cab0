"""Settings of compacted topics. Standard: `MessageStoreConfig`."""

from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options


class CompactionOptions(Options):
    """Topics that keep only the newest message of each key."""

    enable_compaction: bool = option(
        True,
        "Serve topics with cleanup.policy=COMPACTION from compacted files, and compact topics of Kafka.",
        effect=Effect.RESTART,
    )
    compaction_mapped_file_size: int = option(
        100 * 1024**2,
        "Approximate size of a file of compacted messages. The minimum is five queue files.",
        unit="bytes",
        effect=Effect.RESTART,
    )
    compaction_cq_mapped_file_size: int = option(
        10 * 1024**2,
        "Approximate size of the queue file of a compacted file.",
        unit="bytes",
        low=460,
        effect=Effect.RESTART,
    )
    compaction_schedule_internal: int = option(
        900_000,
        "Minimum interval between compactions of a queue. It varies up to twice this time.",
        unit="ms",
        low=1,
    )
    max_offset_map_size: int = option(
        100 * 1024**2, "Memory for the keys of all compactions, at 24 bytes for each key.", unit="bytes"
    )
    compaction_thread_num: int = option(
        6,
        "Number of parts that maxOffsetMapSize is divided into. One queue of RocketMQ and one of Kafka are "
        "compacted at a time, each with one part.",
        low=1,
    )
