"""Classic groups, and the committed offsets of all groups, without sockets, timers or anything of the broker.

- `deadlines`: what is to happen at a time; nothing happens before `tick`.
- `settings`: timeouts, and limits of the tables that clients grow.
- `member`, `group`, `group_table`: the state of groups.
- `rebalance`, `membership`: how groups change: the requests of members, and what time does.
- `offsets`, `commits`: committed offsets and the requests about them.
- `pending`, `transactional`: offsets that are committed in transactions.
- `records`, `journal`, `records_log`: what must survive a restart, as records of Kafka's own schemas.
- `coordinator`: all of it together, and its start.

Time is a `Clock` that is passed in. A request that waits has a function that its answer is given to.
"""
