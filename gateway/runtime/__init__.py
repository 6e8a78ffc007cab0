"""Shared access of all services to Twisted.

loop           interfaces of the reactor and its transports; reactors with the monotonic clock
schedule       delayed and periodic calls
outcomes       results that are available at once, or by a Deferred
threads        blocking work, on other threads
service        services: start, stop, rollback of a failed start
http           sites of pages for people and probes
name_servers   addresses of name servers, and queries of one after the other
"""
