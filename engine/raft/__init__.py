"""Raft within a broker group, as in RocketMQ's DLedger; without sockets and clocks.

log         what a log of entries must do: entries, term and vote
settings    members of the group, times and limits; rules stricter than DLedger's
messages    requests and answers between members, and of clients
effects     requests and answers that a member wants to be sent
state       role, term and leader of a member
election    votes and heartbeats
follower    compares, truncates and appends what a leader pushes
dispatcher  a leader's side of replication to one follower
quorum      the index up to which a majority has the log, and the appends that wait for it
transfer    transfers of leadership
member      all of it: start here

A member raises its term, and never takes one over from a message: the other side repeats its request. A
leader compares its log with each follower's, from the end backwards, before it appends to it.
"""
