"""Metrics that rocketmq-exporter derives from request 28: suffixes, keys and meanings."""

RUNTIME = {
    "msg_put_total_today_now": (
        "msgPutTotalTodayNow",
        "Messages stored since start, without system topics.",
    ),
    "msg_gettotal_today_now": (
        "msgGetTotalTodayNow",
        "Messages delivered since start, without system topics.",
    ),
    "msg_gettotal_yesterdaymorning": (
        "msgGetTotalYesterdayMorning",
        "Value of msg_gettotal_today_now at the local midnight before the last.",
    ),
    "msg_puttotal_yesterdaymorning": (
        "msgPutTotalYesterdayMorning",
        "Value of msg_put_total_today_now at the local midnight before the last.",
    ),
    "msg_gettotal_todaymorning": (
        "msgGetTotalTodayMorning",
        "Value of msg_gettotal_today_now at the last local midnight.",
    ),
    "msg_puttotal_todaymorning": (
        "msgPutTotalTodayMorning",
        "Value of msg_put_total_today_now at the last local midnight.",
    ),
    "dispatch_behind_bytes": (
        "dispatchBehindBytes",
        "Bytes of the commit log that are not dispatched to consume queues yet.",
    ),
    "dispatch_maxbuffer": (
        "dispatchMaxBuffer",
        "Largest number of undispatched bytes of the commit log since start.",
    ),
    "put_message_size_total": (
        "putMessageSizeTotal",
        "Bytes of the records stored since start.",
    ),
    "put_message_average_size": (
        "putMessageAverageSize",
        "Mean size of a record stored since start, in bytes.",
    ),
    "putmessage_times_total": (
        "putMessageTimesTotal",
        "Messages stored since start.",
    ),
    "putmessage_entire_time_max": (
        "putMessageEntireTimeMax",
        "Longest time to store a message since start, in milliseconds.",
    ),
    "getmessage_entire_time_max": (
        "getMessageEntireTimeMax",
        "Longest time to read messages for one request since start, in milliseconds.",
    ),
    "put_latency_99": (
        "putLatency99",
        "99th percentile of the time to store recent messages, in milliseconds.",
    ),
    "put_latency_999": (
        "putLatency999",
        "99.9th percentile of the time to store recent messages, in milliseconds.",
    ),
    "query_threadpool_queue_capacity": (
        "queryThreadPoolQueueCapacity",
        "Configured capacity of the query queue, in requests. It has no effect.",
    ),
    "send_threadpoolqueue_capacity": (
        "sendThreadPoolQueueCapacity",
        "Configured capacity of the send queue, in requests. It has no effect.",
    ),
    "pull_threadpoolqueue_capacity": (
        "pullThreadPoolQueueCapacity",
        "Configured capacity of the pull queue, in requests. It has no effect.",
    ),
    "send_threadpool_queue_size": (
        "sendThreadPoolQueueSize",
        "Sends that wait for a thread. Always 0: there are no thread pools.",
    ),
    "pull_threadpoolqueue_size": (
        "pullThreadPoolQueueSize",
        "Pulls that wait for a thread. Always 0: there are no thread pools.",
    ),
    "query_threadpoolqueue_size": (
        "queryThreadPoolQueueSize",
        "Queries that wait for a thread. Always 0: there are no thread pools.",
    ),
    "send_threadpoolqueue_headwait_timemills": (
        "sendThreadPoolQueueHeadWaitTimeMills",
        "Time that the first waiting send has waited, in milliseconds. Always 0.",
    ),
    "pull_threadpoolqueue_headwait_timemills": (
        "pullThreadPoolQueueHeadWaitTimeMills",
        "Time that the first waiting pull has waited, in milliseconds. Always 0.",
    ),
    "query_threadpoolqueue_headwait_timemills": (
        "queryThreadPoolQueueHeadWaitTimeMills",
        "Time that the first waiting query has waited, in milliseconds. Always 0.",
    ),
    "remain_transientstore_buffer_numbs": (
        "remainTransientStoreBufferNumbs",
        "Free buffers of the transient store pool. Always 2147483647: there is no such pool.",
    ),
    "earliest_message_timestamp": (
        "earliestMessageTimeStamp",
        "Store time of the oldest message, in milliseconds since the epoch.",
    ),
    "start_accept_sendrequest_time": (
        "startAcceptSendRequestTimeStamp",
        "Time before which sends are refused, in milliseconds since the epoch. 0: none.",
    ),
    "pagecache_lock_time_mills": (
        "pageCacheLockTimeMills",
        "Time that a write has waited for the page cache lock, in milliseconds. Always 0.",
    ),
    "commitlog_disk_ratio": (
        "commitLogDiskRatio",
        "Used share of the commit log's file system, 0 to 1.",
    ),
    "consumequeue_disk_ratio": (
        "consumeQueueDiskRatio",
        "Used share of the consume queues' file system, 0 to 1.",
    ),
    "commitlog_maxoffset": (
        "commitLogMaxOffset",
        "End offset of the commit log, in bytes.",
    ),
    "commitlog_minoffset": (
        "commitLogMinOffset",
        "First offset of the commit log, in bytes.",
    ),
}
"""Suffixes of rocketmq_brokeruntime_*, with the key of request 28 and the meaning."""

RATES = {
    "getfound": ("getFoundTps", "Reads that found messages"),
    "gettotal": ("getTotalTps", "Reads"),
    "gettransfered": ("getTransferredTps", "Messages read"),
    "getmiss": ("getMissTps", "Reads that found no message"),
    "put": ("putTps", "Messages stored"),
}
"""Rates: prefix of the suffix, with the key of request 28 and the meaning."""

WINDOWS = (10, 60, 600)
"""Seconds over which the three rates of a key are means."""

PUT_TIMES = {
    "0ms": "less than 1 ms",
    "0to10ms": "1 to 10 ms",
    "10to50ms": "10 to 50 ms",
    "50to100ms": "50 to 100 ms",
    "100to200ms": "100 to 200 ms",
    "200to500ms": "200 to 500 ms",
    "500to1s": "500 ms to 1 s",
    "1to2s": "1 to 2 s",
    "2to3s": "2 to 3 s",
    "3to4s": "3 to 4 s",
    "4to5s": "4 to 5 s",
    "5to10s": "5 to 10 s",
    "10stomore": "10 s or more",
}
"""Suffixes of rocketmq_brokeruntime_pmdt_* and ranges, in the order of putMessageDistributeTime."""
