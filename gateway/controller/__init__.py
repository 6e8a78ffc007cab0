"""The controller as brokers and tools see it; what it decides is `engine.controller`.

peers      who the controllers are, out of the settings; pure
context    what request functions see
requests   one function a request
etcd, etcd_client, shared_place   what several controllers have in common: bytes, connections, settings
service    the table of requests, timers, sockets: start here
"""
