"""Settings of timers: messages delivered at a given time. Standard: `MessageStoreConfig`."""

from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options


class TimerOptions(Options):
    """Messages delivered at a given time."""

    timer_wheel_enable: bool = option(
        True, "Accept timer messages, which are delivered at a given time.", effect=Effect.RESTART
    )
    timer_precision_ms: int = option(
        1000,
        "Precision of timers: delivery is up to this much late, never early. A change takes effect once "
        "no timer waits.",
        unit="ms",
        low=1,
        high=60_000,
        effect=Effect.RESTART,
    )
    timer_max_delay_sec: int = option(
        259200, "Maximum delay of a timer message. A year is 31536000 s.", unit="s", low=1
    )
    timer_roll_window_slot: int = option(
        172800,
        "Number of timerPrecisionMs steps after which a waiting message is written to the log again, so "
        "that its old file can be deleted. The maximum is half of fileReservedTime.",
        low=2,
        effect=Effect.RESTART,
    )
    timer_flush_interval_ms: int = option(
        1000,
        "Interval between flushes of the timer files.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    timer_congest_num_each_slot: int = option(
        2147483647,
        "Number of messages in one timerPrecisionMs step above which some new timers are refused. Above "
        "twice the number all are refused.",
    )
    timer_stop_enqueue: bool = option(False, "Pause the transfer of new timer messages to the timer wheel.")
    timer_stop_dequeue: bool = option(False, "Pause the delivery of timer messages.")
    timer_skip_unknown_error: bool = option(
        False, "Skip timer messages whose delivery fails for an unknown reason. False: retry."
    )
    mapped_file_size_timer_log: int = option(
        100 * 1024**2,
        "Size of a file of the timer log.",
        unit="bytes",
        low=4096,
        effect=Effect.RESTART,
    )
    append_topic_for_timer_delete_key: bool = option(
        False, "Identify a recalled timer by topic and key, as before version 5.4."
    )
    max_timers_per_tick: int = option(
        500, "Maximum number of timers read or delivered before other work gets its turn.", low=1, ours=True
    )
