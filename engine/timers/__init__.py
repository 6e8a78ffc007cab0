"""Messages that are delivered at a time of their own, in the standard's files on disk.

- `timers`: the face; start here
- `messages`: how a message is put aside, given back, taken back
- `enqueue`, `dequeue`: into the wheel, out of it; `delivery` puts what is due
- `wheel`, `timer_log`, `checkpoint`, `metrics`: the files; `schema` states them in construct
- `recovery`, `stability`: after a crash; before one
"""
