"""Rules of the controller: the replicas of each broker set, its in-sync set, and its master.

- `events`: changes of a broker set, named as in RocketMQ's log
- `broker_set`: one set: replicas, master, in-sync set, epochs; and the result of an event
- `liveness`: live brokers, by the newest connection and the monotonic clock
- `election`: choice of the master
- `decisions`: each request as a function of the sets: an answer, a refusal, an event
- `state`: storage of the sets: the interface
- `local_state`: storage for a single controller: a table with a journal on disk
- `key_values`: interface of a shared store: keys, revisions, leases
- `shared_state`: storage for several controllers: one leads, and proves it with every write
- `counts`: elections and changes, for metrics
- `controller`: requests one after another, elections when a master is lost: start here
"""
