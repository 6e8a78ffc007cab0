"""Raft within a broker group, as the standard's DLedger has it: no socket is known here, and no clock.

log         what a member keeps: entries, term and vote; and what keeps them must be able to do
settings    how the group is made up, times and limits; in what a member is more careful than the standard's
messages    what members and clients say to one another
effects     what a member wants done
state       who a member is: role, term, leader
election    votes and heart beats
follower    what a leader pushes is compared, cut or appended
dispatcher  a leader's side of replication to one follower
quorum      up to where a majority has the log, and who waits for that
transfer    leadership is handed over
member      all of it: start here

A term is raised, never taken over from a message: the other side asks twice. Whoever leads compares its log
with each follower's, from the end backwards, before it appends to it.
"""
