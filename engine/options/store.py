"""Settings of the message store. Standard: `MessageStoreConfig`.

Properties that have no effect on this store are in `engine.options.accepted`.
"""

from enum import StrEnum

from mqgateway.engine.options import checks
from mqgateway.engine.options.accepted import STORE_ACCEPTED
from mqgateway.engine.options.compaction import CompactionOptions
from mqgateway.engine.options.ledger import LedgerOptions
from mqgateway.engine.options.option import LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options
from mqgateway.engine.options.reasons import NO_ROCKSDB, OWN_WAY
from mqgateway.engine.options.replication import ReplicationOptions
from mqgateway.engine.options.tiered import TieredOptions
from mqgateway.engine.options.timers import TimerOptions


class FlushDiskType(StrEnum):
    """Time of a send's acknowledgement: after the write, or after the flush to disk."""

    ASYNC_FLUSH = "ASYNC_FLUSH"
    SYNC_FLUSH = "SYNC_FLUSH"


class PathOptions(Options):
    """Locations and sizes of files."""

    store_path_root_dir: str = option(
        "", "Root folder of the store. Empty: store in the home folder.", effect=Effect.FIXED
    )
    store_path_commit_log: str = option(
        "",
        "Folder of the commit log. Empty: commitlog in storePathRootDir. Several folders are not supported.",
        effect=Effect.FIXED,
    )
    read_only_commit_log_store_paths: str = option(
        "", "Folders of old log files.", no_effect="the log is stored in one folder"
    )
    mapped_file_size_commit_log: int = option(
        1024**3,
        "Size of a commit log file.",
        unit="bytes",
        low=4096,
        old_names=("mapedFileSizeCommitLog",),
        effect=Effect.RESTART,
    )
    mapped_file_size_consume_queue: int = option(
        6000000,
        "Size of a consume queue file, a multiple of 20.",
        unit="bytes",
        low=20,
        old_names=("mapedFileSizeConsumeQueue",),
        effect=Effect.RESTART,
    )
    mapper_file_size_batch_consume_queue: int = option(
        13800000,
        "Size of a batch consume queue file, a multiple of 46.",
        unit="bytes",
        low=46,
        effect=Effect.RESTART,
    )
    message_index_enable: bool = option(True, "Index messages by key.", effect=Effect.RESTART)
    index_file_write_enable: bool = option(True, "Write index files.", effect=Effect.RESTART)
    index_file_read_enable: bool = option(True, "Answer queries by key from index files.")
    max_hash_slot_num: int = option(
        5000000, "Number of hash slots in an index file.", low=1, effect=Effect.RESTART
    )
    max_index_num: int = option(20000000, "Number of entries in an index file.", low=2, effect=Effect.RESTART)
    store_type: str = option(
        "default",
        "Storage of consume queues. Only default is accepted.",
        unavailable={"defaultRocksDB": NO_ROCKSDB},
        effect=Effect.RESTART,
        check=checks.one_of("default", "defaultRocksDB"),
    )
    max_topic_length: int = option(
        127,
        "Maximum bytes in a topic's name.",
        low=1,
        high=255,
        no_effect="names are limited as in 5.5: 127, retry and dead letter topics 255",
    )
    enabled_append_prop_crc: bool = option(
        False,
        "Append a checksum of the whole record to each record.",
        name="enabledAppendPropCRC",
        effect=Effect.RESTART,
    )
    check_crc_on_recover: bool = option(
        True,
        "Verify the checksums of message bodies during recovery after a crash.",
        name="checkCRCOnRecover",
        effect=Effect.RESTART,
    )
    check_crc_on_read: bool = option(
        True,
        "Verify the checksums of messages that are read from disk. Damaged messages are skipped.",
        name="checkCRCOnRead",
        ours=True,
        effect=Effect.RESTART,
    )
    start_with_missing_log_files: bool = option(
        False,
        "Start although files of the commit log are missing: each is replaced by an empty file and its "
        "messages are skipped. False: refuse to start and change nothing.",
        ours=True,
        effect=Effect.RESTART,
    )
    max_open_files: int = option(
        512, "Maximum number of open consume queue and index files.", low=16, ours=True, effect=Effect.RESTART
    )
    queue_table_from: int = option(
        1000,
        "Number of consume queues from which a clean stop saves their end offsets, for a quick start.",
        ours=True,
    )
    max_queues: int = option(
        1000000,
        "Maximum number of consume queues. Messages for further queues are refused.",
        low=1,
        ours=True,
        effect=Effect.RESTART,
    )


class FlushOptions(Options):
    """Flushes to disk."""

    flush_disk_type: FlushDiskType = option(
        FlushDiskType.ASYNC_FLUSH,
        "Acknowledge a send once it is on disk (SYNC_FLUSH) or once it is written (ASYNC_FLUSH).",
        effect=Effect.RESTART,
    )
    sync_flush_timeout: int = option(
        5000, "Maximum time that a send waits for the flush with SYNC_FLUSH.", unit="ms", low=1
    )
    flush_interval_commit_log: int = option(
        500, "Interval between flushes of the commit log.", unit="ms", low=1
    )
    flush_commit_log_timed: bool = option(
        True,
        "Flush at fixed intervals instead of on demand.",
        no_effect="the log is always flushed by the clock",
    )
    flush_commit_log_least_pages: int = option(
        4, "Minimum number of unflushed 4 KiB pages for a flush of the commit log."
    )
    flush_commit_log_thorough_interval: int = option(
        10000, "Time after which fewer pages of the commit log are flushed as well.", unit="ms"
    )
    flush_interval_consume_queue: int = option(
        1000, "Interval between flushes of the consume queues.", unit="ms", low=1
    )
    flush_consume_queue_least_pages: int = option(
        2, "Minimum number of unflushed 4 KiB pages for a flush of consume queues.", no_effect=OWN_WAY
    )
    flush_consume_queue_thorough_interval: int = option(
        60000,
        "Time after which fewer pages of consume queues are flushed as well and the checkpoint is written.",
        unit="ms",
    )


class RetentionOptions(Options):
    """Retention of messages."""

    delete_when: str = option(
        "04", "Hours of the day at which old files are deleted, separated by semicolons.", check=checks.hours
    )
    file_reserved_time: int = option(
        72, "Retention time: age at which a commit log file may be deleted.", unit="hours"
    )
    disk_max_used_space_ratio: int = option(
        75, "Disk usage above which expired files are deleted at any hour.", unit="percent", low=10, high=95
    )
    disk_space_clean_forcibly_ratio: int = option(
        85,
        "Disk usage above which the oldest files are deleted regardless of age.",
        unit="percent",
        low=30,
        high=95,
    )
    disk_space_warning_level_ratio: int = option(
        90, "Disk usage above which sends are refused.", unit="percent", low=35, high=100
    )
    clean_file_forcibly_enable: bool = option(
        True, "Allow deletion of files regardless of age, see diskSpaceCleanForciblyRatio."
    )
    clean_forcibly_keep_size: int = option(
        0,
        "Newest part of the log that is deleted by age only, regardless of disk usage.",
        unit="bytes",
        high=LONG_MAX,
        ours=True,
    )
    clean_resource_interval: int = option(
        10000, "Interval between checks for files to delete.", unit="ms", low=1
    )
    topic_retention_check_interval: int = option(
        300_000,
        "Interval between looks for messages that are older or larger than their topic keeps: `retention.ms` "
        "and `retention.bytes` of Kafka clients (`log.retention.check.interval.ms`), `reserve.time`.",
        unit="ms",
        low=1,
        high=LONG_MAX,
        ours=True,
    )
    delete_commit_log_files_interval: int = option(
        100, "Pause between deletions of commit log files.", unit="ms"
    )
    delete_consume_queue_files_interval: int = option(
        100, "Pause between deletions of consume queue files.", unit="ms", no_effect=OWN_WAY
    )
    delete_file_batch_max: int = option(10, "Maximum number of commit log files deleted by one check.", low=1)
    redelete_hanged_file_interval: int = option(
        120000, "Time after which deletion of a file is retried after a failure.", unit="ms", low=1
    )
    disk_free_space_min: int = option(
        1 << 30,
        "Free space above which the disk usage ratios have no effect.",
        unit="bytes",
        high=LONG_MAX,
        ours=True,
    )


class ReadOptions(Options):
    """Sizes of messages, responses and queries."""

    max_message_size: int = option(
        4 * 1024**2,
        "Maximum size of a message's body and of a whole batch.",
        unit="bytes",
        low=1,
        high=512 * 1024**2,
    )
    max_batch_messages: int = option(
        32768,
        "Maximum number of messages in one batch. Storing a batch is one uninterrupted operation.",
        low=1,
        ours=True,
    )
    max_transfer_bytes_on_message_in_memory: int = option(
        256 * 1024,
        "Maximum bytes of one pull response from the part of the log in memory.",
        unit="bytes",
        low=1,
    )
    max_transfer_count_on_message_in_memory: int = option(
        32, "Maximum number of messages in one pull response from the part of the log in memory.", low=1
    )
    max_transfer_bytes_on_message_in_disk: int = option(
        64 * 1024, "Maximum bytes of one pull response from older parts of the log.", unit="bytes", low=1
    )
    max_transfer_count_on_message_in_disk: int = option(
        8, "Maximum number of messages in one pull response from older parts of the log.", low=1
    )
    access_message_in_memory_max_ratio: int = option(
        40,
        "Share of the machine's memory that counts as the part of the log in memory.",
        unit="percent",
        high=100,
    )
    newest_log_bytes: int = option(
        -1,
        "Newest part of the log, which is assumed to be in memory since it was written. -1: 1/32 of the "
        "machine's memory.",
        unit="bytes",
        low=-1,
        high=LONG_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    cold_read_threads: int = option(
        4,
        "Number of threads that read cold messages from disk and delete old files.",
        low=1,
        high=64,
        ours=True,
        effect=Effect.RESTART,
    )
    access_message_in_memory_hot_ratio: int = option(
        26,
        "Share of the machine's memory: messages farther from the end of the log are cold.",
        unit="percent",
        high=100,
    )
    cold_data_flow_control_enable: bool = option(
        False, "Count cold reads by group and throttle groups that exceed the thresholds."
    )
    cold_data_scan_enable: bool = option(False, "Count only cold messages that were read from disk.")
    data_read_ahead_enable: bool = option(True, "Read ahead after a read from disk.")
    max_filter_message_size: int = option(
        16000, "Maximum bytes of a consume queue that are scanned for one response.", unit="bytes", low=20
    )
    pull_batch_max_message_count: int = option(
        160,
        "Maximum number of messages in one response to a batch consumer.",
        low=1,
        no_effect="batch consume queues are not served",
    )
    default_query_max_num: int = option(
        32, "Maximum number of messages that a query by unique key returns.", low=1
    )


class DelayOptions(Options):
    """Delayed messages."""

    message_delay_level: str = option(
        "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
        "Delays by level, starting with level 1: numbers followed by s, m, h or d, separated by blanks.",
        effect=Effect.RESTART,
        check=checks.delays,
    )
    flush_delay_offset_interval: int = option(
        10000,
        "Interval between writes of the delivery offsets of delay levels.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    enable_schedule_message_stats: bool = option(
        True, "Count delayed messages in the statistics when they are delivered."
    )
    max_delayed_per_tick: int = option(
        250,
        "Maximum number of delayed messages delivered before other work gets its turn.",
        low=1,
        ours=True,
        effect=Effect.RESTART,
    )


class LmqOptions(Options):
    """LMQ queues: consume queues that messages name in addition to their own."""

    enable_lmq: bool = option(
        False, "Assign offsets in the LMQ queues (%LMQ%) that messages name.", effect=Effect.RESTART
    )
    enable_multi_dispatch: bool = option(
        False,
        "Dispatch messages to LMQ queues. Requires enableLmq. Lite topics require both.",
        effect=Effect.RESTART,
    )
    enable_lmq_quota: bool = option(False, "Refuse messages that would exceed maxLmqConsumeQueueNum.")
    max_lmq_consume_queue_num: int = option(20000, "Maximum number of LMQ queues with enableLmqQuota.")


class IdempotentProducerOptions(Options):
    """Idempotent producers of Kafka."""

    kafka_producer_id_expiration_millis: int = option(
        86_400_000,
        "Time after a Kafka producer's last batch in a queue until it is forgotten "
        "(`producer.id.expiration.ms`).",
        unit="ms",
        low=1,
        ours=True,
        effect=Effect.RESTART,
    )
    kafka_producers_max: int = option(
        100_000,
        "Maximum number of idempotent Kafka producers that are kept, counted in each queue. Beyond it the "
        "one that stored least recently is forgotten.",
        low=1,
        ours=True,
        effect=Effect.RESTART,
    )


class StoreOptions(
    ReplicationOptions,
    LedgerOptions,
    TimerOptions,
    CompactionOptions,
    DelayOptions,
    LmqOptions,
    IdempotentProducerOptions,
    ReadOptions,
    TieredOptions,
    RetentionOptions,
    FlushOptions,
    PathOptions,
):
    """All settings of the message store."""

    also_accepted = STORE_ACCEPTED
