"""Settings of POP, where the broker gives out messages one by one. Standard: `BrokerConfig`."""

from mqgateway.engine.options.option import LONG_MAX, Effect, option
from mqgateway.engine.options.option_set import Options


class PopOptions(Options):
    """What is popped, what waits, what comes again."""

    pop_polling_size: int = option(1024, "Pops that may wait on one queue of one group.", low=1)
    max_pop_polling_size: int = option(100000, "Pops that may wait at once; of notifications as many.", low=1)
    pop_from_retry_probability: int = option(
        20, "How often messages that come again are looked for first; otherwise last.", unit="%", high=100
    )
    pop_from_retry_probability_for_priority: int = option(
        0, "The same for topics with priorities.", unit="%", high=100
    )
    priority_order_asc: bool = option(
        True, "Messages in a queue with a higher number are given out before those in a lower one."
    )
    enable_retry_topic_v2: bool = option(
        False, "Retry topics join group and topic with +, which is in no name, not with _."
    )
    retrieve_message_from_pop_retry_topic_v1: bool = option(
        True, "With enableRetryTopicV2 look into the old retry topics too."
    )
    use_separate_retry_queue: bool = option(False, "Retry topics have as many queues as the topics.")
    pop_response_return_actual_retry_topic: bool = option(
        False, "Messages that come again say their retry topic, not their own."
    )
    init_pop_offset_by_check_msg_in_mem: bool = option(
        True, "A new group that wants the latest begins at the start of a queue that is still in memory."
    )
    enable_pop_message_threshold: bool = option(False, "Hold groups back that acknowledge too little.")
    pop_inflight_message_threshold: int = option(
        10000, "Messages of one queue that a group may have popped and not acknowledged.", high=LONG_MAX
    )
    enable_notify_after_pop_order_lock_release: bool = option(
        True, "Wake who waits for a queue when what was popped in order is visible again."
    )
    use_message_filter_for_notification: bool = option(
        True, "Tell only of messages that the asking client would be given."
    )
    max_message_filter_num_for_notification: int = option(
        64, "Messages of one queue that are compared for that; of more it is told at once."
    )
    revive_queue_num: int = option(8, "Queues of check points.", low=1, high=256, effect=Effect.RESTART)
    revive_interval: int = option(1000, "Time between looks for what is visible again.", unit="ms", low=1)
    skip_when_ck_re_put_reach_max_times: bool = option(
        False,
        "Give up messages that cannot be read after 17 attempts.",
        name="skipWhenCKRePutReachMaxTimes",
    )
    max_revived_per_tick: int = option(
        2000, "Check points, acknowledgements and messages that are dealt with in one go.", low=1, ours=True
    )
    max_ordered_queues: int = option(
        100000, "Queues that may be popped in order at once, counted for each group.", low=1, ours=True
    )
