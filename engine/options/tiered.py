"""Settings of long retention: ranges of the log in an object store."""

from mqgateway.engine.options.option import LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options


class TieredOptions(Options):
    """Place and time at which the log is saved, and the effect on local files."""

    tiered_store_path: str = option(
        "",
        "URL of the object store to which the log is saved for longer retention: file:///folder, "
        "s3://bucket/prefix, gs://bucket/prefix or az://container/prefix. Empty: it is not saved.",
        ours=True,
        effect=Effect.FIXED,
    )
    tiered_range_time: int = option(
        3_600_000,
        "Age of the oldest message that is not saved at which a part of a log file is saved. Whole files are "
        "saved at once.",
        unit="ms",
        low=1000,
        high=LONG_MAX,
        ours=True,
    )
    tiered_store_file_reserved_time: int = option(
        72,
        "Retention time in the object store of topics without one of their own, which is `reserve.time` or "
        "`retention.ms`.",
        unit="hours",
        low=1,
        high=LONG_MAX,
    )
    tiered_may_lose: bool = option(
        False,
        "Delete local log files by their own rules, saved or not. False: a file is deleted only once it is "
        "saved, and sends are refused when the disk is full.",
        ours=True,
    )
    tiered_read_threads: int = option(
        4,
        "Maximum of requests to the object store at a time, of readers of messages that the log has deleted.",
        low=1,
        high=64,
        ours=True,
        effect=Effect.FIXED,
    )
    tiered_read_cache_bytes: int = option(
        64 << 20,
        "Memory for messages from the object store that were read or will be read next.",
        unit="bytes",
        low=1 << 20,
        high=LONG_MAX,
        ours=True,
        effect=Effect.FIXED,
    )
