"""Replication between a master and its slaves, in the standard's stream: no socket is known here, and no
clock.

- `frames`: the bytes of both directions
- `flow`: how much may be sent in a second, and how much was
- `feed`: a master's side of one connection: where it starts, what goes out next, what was acknowledged
- `replicas`: all slaves of a master, and who waits for how many of them
- `follow`: a slave's side: what it reports, what it takes, when it gives its connection up
- `place`: whether a slave's log is the beginning of its master's
- `adoption`: which of the master's tables a slave takes over, and what it keeps of its own
- `members`: who has the smallest id of a group, and whether a slave acts for its master
- `role`: who this broker is now, and whom that concerns
- `online`: what a member does before name servers hear of it
- `escape`: what a slave that acts delivers through other brokers
- `tail`: what a log got since some place in it

Each part takes bytes and times in ms of a clock that never goes back, and says what to do. The log itself is
`engine.store.raw_log`; sockets and timers are in `gateway.broker`. Standard: `DefaultHAService`,
`DefaultHAConnection`, `DefaultHAClient`, `GroupTransferService`, `SlaveSynchronize`,
`BrokerPreOnlineService`, `EscapeBridge`.
"""
