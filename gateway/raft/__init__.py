"""The protocol between members of a DLedger group: `engine.raft` on a port.

wire      what members say, as bodies of requests and answers
service   a port, connections to the others, timers and syncs
"""
