"""Replication between a master and its slaves, in RocketMQ's stream; without sockets and clocks.

- `frames`: the bytes of both directions
- `flow`: rate limit and rate of a connection
- `feed`: a master's side of one connection: start offset, next transfer, acknowledged offset
- `replicas`: all slaves of a master, and sends that wait for acknowledgements
- `follow`: a slave's side: reports, appends, timeouts
- `log_prefix`: whether a slave's log is a prefix of its master's
- `adoption`: which of the master's tables a slave copies, and which values it keeps
- `member_group`: the member with the smallest id, and whether a slave acts for its master
- `role`: the role of this broker, and subscribers to its changes
- `online`: steps of a member before it registers with name servers
- `admission`: which connections may receive the log
- `agreed_replicas`, `authority`, `in_sync_set`, `identity`: a master and its slaves under a controller
- `epochs`, `epoch_frames`, `epoch_feed`, `epoch_follow`: logs with epochs, and their stream
- `escape`: messages that an acting slave delivers through other brokers

Each part takes bytes and times in ms of a monotonic clock, and returns what to do. The log itself is
`engine.store.raw_log`; sockets and timers are in `gateway.broker`. RocketMQ: `DefaultHAService`,
`DefaultHAConnection`, `DefaultHAClient`, `GroupTransferService`, `SlaveSynchronize`,
`BrokerPreOnlineService`, `EscapeBridge`.
"""
