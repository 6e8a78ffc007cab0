"""Settings of timers: messages delivered at a time of their own. Standard: `MessageStoreConfig`."""

from mqgateway.engine.options.option import Effect, option
from mqgateway.engine.options.option_set import Options


class TimerOptions(Options):
    """Messages delivered at a time of their own."""

    timer_wheel_enable: bool = option(
        True, "Take messages that are to be delivered at a time of their own.", effect=Effect.RESTART
    )
    timer_precision_ms: int = option(
        1000,
        "Step of time by which they are delivered, never early; takes effect when none waits.",
        unit="ms",
        low=1,
        high=60_000,
        effect=Effect.RESTART,
    )
    timer_max_delay_sec: int = option(
        259200, "Longest time until the delivery; a year is 31536000.", unit="s", low=1
    )
    timer_roll_window_slot: int = option(
        172800,
        "Steps after which a message that waits longer is written anew, so that its file may go; "
        "half of fileReservedTime at most.",
        low=2,
        effect=Effect.RESTART,
    )
    timer_flush_interval_ms: int = option(
        1000,
        "Time between flushes of the files of timers.",
        unit="ms",
        low=1,
        effect=Effect.RESTART,
    )
    timer_congest_num_each_slot: int = option(
        2147483647, "Messages of one step above which some more are refused, and all above twice as many."
    )
    timer_stop_enqueue: bool = option(False, "Leave new timers in their topic for the time being.")
    timer_stop_dequeue: bool = option(False, "Deliver nothing for the time being.")
    timer_skip_unknown_error: bool = option(
        False, "Leave out messages that cannot be delivered for an unknown reason, rather than try again."
    )
    mapped_file_size_timer_log: int = option(
        100 * 1024**2,
        "Size of a file of the timer log.",
        unit="bytes",
        low=4096,
        effect=Effect.RESTART,
    )
    append_topic_for_timer_delete_key: bool = option(
        False, "Name the topic with the key when a message is called back, as before version 5.4."
    )
    max_timers_per_tick: int = option(
        500, "Timers read, and delivered, in one go before other work gets its turn.", low=1, ours=True
    )
