"""The controller's rules: which replicas a broker set has, which of them are in sync, which one is master.

events       what changes a broker set, called as in the standard's log
broker_set   one set: replicas, master, set in sync, epochs; and what an event makes of it
liveness     who is heard of, by the newest connection and the monotonic clock
election     who becomes master
decisions    each request as a function of the sets: an answer, a refusal, an event
state        where sets are kept: what a place must be able to do
local_state  the place for one controller alone: a table with a journal on disk
key_values   what a place in common must be able to do: keys, revisions, leases
shared_state the place for several controllers: one leads, and proves it with every write
counts       elections and changes, for metrics
controller   requests one after another, elections when a master is lost: start here
"""
