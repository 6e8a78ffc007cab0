"""Timer messages: delivered at a requested time, in RocketMQ's files on disk.

- `timers`: the facade; start here
- `acceptance`: which timers are set, and refused; `figures` for administrators
- `messages`: how a message is moved to the timer topic, restored, recalled
- `enqueue`, `dequeue`: into the wheel, out of it; `delivery` puts due messages
- `wheel`, `timer_log`, `checkpoint`, `metrics`: the files; `schema` declares them in construct
- `recovery`, `lost_files`: after a crash; `stability`: durable checkpoints before one
"""
