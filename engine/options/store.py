"""Settings of the message store. Standard: `MessageStoreConfig`.

Properties that only tune what our store does not do are in `engine.options.accepted`.
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
from mqgateway.engine.options.timers import TimerOptions


class FlushDiskType(StrEnum):
    """When a send is answered: once written to the file, or once that is on disk."""

    ASYNC_FLUSH = "ASYNC_FLUSH"
    SYNC_FLUSH = "SYNC_FLUSH"


class PathOptions(Options):
    """Where files lie and how large they are."""

    store_path_root_dir: str = option(
        "", "Folder of everything; empty: store in the home folder.", effect=Effect.FIXED
    )
    store_path_commit_log: str = option(
        "",
        "Folder of the log; empty: commitlog in the root. Several disks are not served.",
        effect=Effect.FIXED,
    )
    read_only_commit_log_store_paths: str = option(
        "", "Folders of old log files.", no_effect="the log lies in one folder"
    )
    mapped_file_size_commit_log: int = option(
        1024**3,
        "Size of a log file.",
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
    index_file_read_enable: bool = option(True, "Answer queries from index files.")
    max_hash_slot_num: int = option(5000000, "Hash slots of an index file.", low=1, effect=Effect.RESTART)
    max_index_num: int = option(20000000, "Entries of an index file.", low=2, effect=Effect.RESTART)
    store_type: str = option(
        "default",
        "How consume queues are kept.",
        unavailable={"defaultRocksDB": NO_ROCKSDB},
        effect=Effect.RESTART,
        check=checks.one_of("default", "defaultRocksDB"),
    )
    max_topic_length: int = option(
        127,
        "Bytes in a topic's name.",
        low=1,
        high=255,
        no_effect="names are limited as in 5.5: 127, retry and dead letter topics 255",
    )
    enabled_append_prop_crc: bool = option(
        False,
        "Let each record end with a checksum of all of it.",
        name="enabledAppendPropCRC",
        effect=Effect.RESTART,
    )
    check_crc_on_recover: bool = option(
        True,
        "Check message bodies against their checksum after a crash.",
        name="checkCRCOnRecover",
        effect=Effect.RESTART,
    )
    check_crc_on_read: bool = option(
        True,
        "Check messages that may come from the disk before they are handed out; damaged ones are left out.",
        name="checkCRCOnRead",
        ours=True,
        effect=Effect.RESTART,
    )
    start_with_missing_log_files: bool = option(
        False,
        "Start although files of the log are missing: an empty one takes the place of each, and what was in "
        "it is passed over. Otherwise the start is refused, and changes nothing.",
        ours=True,
        effect=Effect.RESTART,
    )
    max_open_files: int = option(
        512, "Consume queue and index files kept open at once.", low=16, ours=True, effect=Effect.RESTART
    )
    queue_table_from: int = option(
        1000,
        "Number of consume queues from which on a clean stop notes where they end, for a quick start.",
        ours=True,
    )
    max_queues: int = option(
        1000000,
        "Consume queues a store keeps; messages for more are refused.",
        low=1,
        ours=True,
        effect=Effect.RESTART,
    )


class FlushOptions(Options):
    """When what was written is forced to disk."""

    flush_disk_type: FlushDiskType = option(
        FlushDiskType.ASYNC_FLUSH,
        "Whether a send waits until it is on disk.",
        effect=Effect.RESTART,
    )
    sync_flush_timeout: int = option(5000, "Longest such wait.", unit="ms", low=1)
    flush_interval_commit_log: int = option(500, "Time between flushes of the log.", unit="ms", low=1)
    flush_commit_log_timed: bool = option(
        True, "Flush by the clock rather than when woken.", no_effect="the log is always flushed by the clock"
    )
    flush_commit_log_least_pages: int = option(4, "Pages of 4 KiB that are worth a flush.")
    flush_commit_log_thorough_interval: int = option(
        10000, "Time after which less is flushed too.", unit="ms"
    )
    flush_interval_consume_queue: int = option(
        1000, "Time between flushes of the consume queues.", unit="ms", low=1
    )
    flush_consume_queue_least_pages: int = option(
        2, "Pages of 4 KiB that are worth a flush.", no_effect=OWN_WAY
    )
    flush_consume_queue_thorough_interval: int = option(
        60000, "Time after which less is flushed too, and the checkpoint written.", unit="ms"
    )


class RetentionOptions(Options):
    """How long messages are kept."""

    delete_when: str = option(
        "04", "Hours of the day for deleting old files, separated by semicolons.", check=checks.hours
    )
    file_reserved_time: int = option(72, "Age at which a log file may be deleted.", unit="hours")
    disk_max_used_space_ratio: int = option(
        75, "Use of the disk above which old files go at any hour.", unit="percent", low=10, high=95
    )
    disk_space_clean_forcibly_ratio: int = option(
        85, "Use of the disk above which files go whatever their age.", unit="percent", low=30, high=95
    )
    disk_space_warning_level_ratio: int = option(
        90, "Use of the disk above which sends are refused.", unit="percent", low=35, high=100
    )
    clean_file_forcibly_enable: bool = option(True, "Whether files may go whatever their age.")
    clean_forcibly_keep_size: int = option(
        0,
        "Newest part of the log whose files go by their age alone, however full the disk is.",
        unit="bytes",
        high=LONG_MAX,
        ours=True,
    )
    clean_resource_interval: int = option(10000, "Time between looks for old files.", unit="ms", low=1)
    delete_commit_log_files_interval: int = option(100, "Pause between deletions of log files.", unit="ms")
    delete_consume_queue_files_interval: int = option(
        100, "Pause between deletions of queue files.", unit="ms", no_effect=OWN_WAY
    )
    delete_file_batch_max: int = option(10, "Log files deleted after one look.", low=1)
    redelete_hanged_file_interval: int = option(
        120000, "Time after which a file that could not be deleted is tried again.", unit="ms", low=1
    )
    disk_free_space_min: int = option(
        1 << 30,
        "Free space that is enough, however full the disk is: above it the ratios refuse nothing.",
        unit="bytes",
        high=LONG_MAX,
        ours=True,
    )


class ReadOptions(Options):
    """How large messages, answers and queries may be."""

    max_message_size: int = option(
        4 * 1024**2,
        "Length of a message's body, and of all of a batch.",
        unit="bytes",
        low=1,
        high=512 * 1024**2,
    )
    max_batch_messages: int = option(
        32768,
        "Messages of one batch. Where each is to lie is filled in when the batch is stored, all in one go.",
        low=1,
        ours=True,
    )
    max_transfer_bytes_on_message_in_memory: int = option(
        256 * 1024, "Bytes of one answer from the log's fresh part.", unit="bytes", low=1
    )
    max_transfer_count_on_message_in_memory: int = option(
        32, "Messages of one answer from the log's fresh part.", low=1
    )
    max_transfer_bytes_on_message_in_disk: int = option(
        64 * 1024, "Bytes of one answer from older parts.", unit="bytes", low=1
    )
    max_transfer_count_on_message_in_disk: int = option(8, "Messages of one answer from older parts.", low=1)
    access_message_in_memory_max_ratio: int = option(
        40, "Share of the machine's memory that counts as the log's fresh part.", unit="percent", high=100
    )
    newest_log_bytes: int = option(
        -1,
        "Newest part of the log, taken to be in memory as it was written; -1: 1/32 of the machine's memory.",
        unit="bytes",
        low=-1,
        high=LONG_MAX,
        ours=True,
        effect=Effect.RESTART,
    )
    cold_read_threads: int = option(
        4,
        "Threads that read from disk what is not in memory, and remove old files.",
        low=1,
        high=64,
        ours=True,
        effect=Effect.RESTART,
    )
    access_message_in_memory_hot_ratio: int = option(
        26, "Share of the machine's memory behind which messages are cold.", unit="percent", high=100
    )
    cold_data_flow_control_enable: bool = option(
        False, "Count cold messages by group, and slow down who reads too many."
    )
    cold_data_scan_enable: bool = option(False, "Count only those that had to be read from the disk.")
    data_read_ahead_enable: bool = option(True, "Read on behind what had to be read from the disk.")
    max_filter_message_size: int = option(
        16000, "Consume queue bytes looked through for one answer.", unit="bytes", low=20
    )
    pull_batch_max_message_count: int = option(
        160,
        "Messages of one answer to a batch consumer.",
        low=1,
        no_effect="batch consume queues are not served",
    )
    default_query_max_num: int = option(32, "Messages found by a unique key.", low=1)


class DelayOptions(Options):
    """Delayed messages."""

    message_delay_level: str = option(
        "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
        "Delays by level, 1 first; a number with s, m, h or d each.",
        effect=Effect.RESTART,
        check=checks.delays,
    )
    flush_delay_offset_interval: int = option(
        10000,
        "Time between writes of what was delivered.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    enable_schedule_message_stats: bool = option(True, "Count delayed messages when they are delivered.")
    max_delayed_per_tick: int = option(
        250,
        "Delayed messages delivered in one go before other work gets its turn.",
        low=1,
        ours=True,
        effect=Effect.RESTART,
    )


class LmqOptions(Options):
    """Light queues: consume queues that messages name beside their own."""

    enable_lmq: bool = option(
        False, "Give messages offsets in the light queues (%LMQ%) that they name.", effect=Effect.RESTART
    )
    enable_multi_dispatch: bool = option(
        False,
        "Fill the light queues. Needs enableLmq; lite topics need both.",
        effect=Effect.RESTART,
    )
    enable_lmq_quota: bool = option(False, "Refuse messages that would make one light queue too many.")
    max_lmq_consume_queue_num: int = option(20000, "Light queues there may be with enableLmqQuota.")


class StoreOptions(
    ReplicationOptions,
    LedgerOptions,
    TimerOptions,
    CompactionOptions,
    DelayOptions,
    LmqOptions,
    ReadOptions,
    RetentionOptions,
    FlushOptions,
    PathOptions,
):
    """All settings of the message store."""

    also_accepted = STORE_ACCEPTED
