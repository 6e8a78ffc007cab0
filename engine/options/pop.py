"""Settings of POP, where the broker delivers messages one by one. Standard: `BrokerConfig`."""

from mqgateway.engine.options.option import LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options


class PopOptions(Options):
    """Popping, long polling and redelivery."""

    pop_polling_size: int = option(
        1024, "Maximum number of pops of one group in long polling on one queue.", low=1
    )
    max_pop_polling_size: int = option(
        100000, "Maximum number of pops in long polling, and of notification requests.", low=1
    )
    pop_from_retry_probability: int = option(
        20,
        "Share of pops that read the retry topic before the topic. The others read it afterwards.",
        unit="%",
        high=100,
    )
    pop_from_retry_probability_for_priority: int = option(
        0, "Share of pops that read the retry topic first, for topics with priorities.", unit="%", high=100
    )
    priority_order_asc: bool = option(
        True, "Deliver messages of queues with a higher number first, for topics with priorities."
    )
    enable_retry_topic_v2: bool = option(
        False, "Separate group and topic by + in the names of POP retry topics. False: by _."
    )
    retrieve_message_from_pop_retry_topic_v1: bool = option(
        True, "With enableRetryTopicV2, also read the retry topics named with _."
    )
    use_separate_retry_queue: bool = option(False, "Give each POP retry topic as many queues as its topic.")
    pop_response_return_actual_retry_topic: bool = option(
        False, "Return retried messages with their retry topic. False: with their original topic."
    )
    init_pop_offset_by_check_msg_in_mem: bool = option(
        True,
        "Start a new group that reads from the latest offset at the first offset if that part of the "
        "queue is still in memory.",
    )
    enable_pop_message_threshold: bool = option(
        False, "Throttle groups with too many unacknowledged messages, see popInflightMessageThreshold."
    )
    pop_inflight_message_threshold: int = option(
        10000,
        "Maximum number of unacknowledged messages of a group in one queue, with enablePopMessageThreshold.",
        high=LONG_MAX,
    )
    enable_notify_after_pop_order_lock_release: bool = option(
        True, "Wake waiting pops when messages popped in order become visible again."
    )
    use_message_filter_for_notification: bool = option(
        True, "Notify a waiting client only of messages that its filter selects."
    )
    max_message_filter_num_for_notification: int = option(
        64,
        "Maximum number of messages of a queue that are compared with the filter. With more, the client "
        "is notified without a comparison.",
    )
    revive_queue_num: int = option(
        8,
        "Number of revive queues, which store checkpoints and acknowledgements.",
        low=1,
        high=256,
        effect=Effect.RESTART,
    )
    revive_interval: int = option(
        1000, "Interval between checks for messages whose invisible time has passed.", unit="ms", low=1
    )
    skip_when_ck_re_put_reach_max_times: bool = option(
        False,
        "Discard messages that cannot be read after 17 attempts.",
        name="skipWhenCKRePutReachMaxTimes",
    )
    max_revived_per_tick: int = option(
        2000,
        "Maximum number of checkpoints, acknowledgements and messages that are processed before other "
        "work gets its turn.",
        low=1,
        ours=True,
    )
    max_ordered_queues: int = option(
        100000, "Maximum number of (group, queue) pairs that are popped in order.", low=1, ours=True
    )
