"""The methods of apache.rocketmq.v2.MessagingService, over the broker's operations.

    messaging     the service: paths of the methods, and the checks before all of them
    caller        the caller: headers of a call, and the call as a connection
    access        authentication and needs of a call
    status        errors as statuses in answers
    names         checks of names and values in requests
    properties    a client's message as it is stored, and back
    bodies        compressed bodies, digests
    handles       receipt handles
    routes        queues of a topic, and the endpoints of their brokers
    sending       SendMessage, RecallMessage
    receiving     ReceiveMessage
    acks          AckMessage, ChangeInvisibleDuration, ForwardMessageToDeadLetterQueue
    renewals      received messages that the broker keeps invisible
    transactions  EndTransaction
    lite          SyncLiteSubscription
    offsets       PullMessage, UpdateOffset, GetOffset, QueryOffset
    sessions      the clients and their settings
    settings      settings that the broker sends to clients
    telemetry     Telemetry, Heartbeat, NotifyClientTermination
    pushes        commands that the broker sends to clients

They do not depend on HTTP/2 (`gateway.grpc.call`). RocketMQ: the packages of `proxy.grpc.v2`.
"""
