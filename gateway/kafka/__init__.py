"""Kafka's protocol on the broker's log.

codec        messages and headers as bytes and values
call         a request, and what its functions are given
dispatch     a frame to a request, the answer back to bytes
connection   frames cut from a connection, answers in the order of requests
server       the port, its time, and what is loaded when
front_end    the declaration
faults       faults of the test server
errors       errors of the broker as Kafka's error codes
node         how this broker appears to Kafka clients
topics       topics by Kafka's names and ids
coordinator  consumer groups
api          the functions of the APIs, one module a subject
"""

NAME = "kafka"
