"""What every service needs of Twisted, once.

loop           what is needed of the reactor and its transports; reactors that go by the monotonic clock
schedule       calls later, once or again and again
threads        work that may block, elsewhere
service        services: how they start and stop, and how a start that fails is undone
http           sites of pages for people and probes
name_servers   who they are, and one asked after the other
"""
