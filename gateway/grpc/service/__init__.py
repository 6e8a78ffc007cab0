"""The methods of apache.rocketmq.v2.MessagingService, over the broker's operations.

    messaging     the service: which method answers which path, and what stands before all of them
    caller        who calls: what a call's headers say, and the call as a connection
    access        whether the caller is who it says, and may do what it asks
    status        errors as statuses in answers
    names         what names and values of requests are checked for
    properties    a client's message as it is stored, and back
    bodies        compressed bodies, digests
    handles       receipt handles
    routes        where queues are, and who answers there
    sending       SendMessage, RecallMessage
    receiving     ReceiveMessage
    acks          AckMessage, ChangeInvisibleDuration, ForwardMessageToDeadLetterQueue
    renewals      what was received and stays invisible by itself
    transactions  EndTransaction
    lite          SyncLiteSubscription
    offsets       PullMessage, UpdateOffset, GetOffset, QueryOffset
    sessions      the clients and their settings
    settings      what clients are told of those
    telemetry     Telemetry, Heartbeat, NotifyClientTermination
    pushes        what the broker says to clients of its own accord

They know nothing of HTTP/2 (`gateway.grpc.call`). Standard: the packages of `proxy.grpc.v2`.
"""
