"""The controller as brokers and tools see it; what it decides is `engine.controller`.

peers      who the controllers are, out of the settings; pure
context    what request functions see
requests   one function a request
service    the table of requests, timers, sockets: start here
"""
