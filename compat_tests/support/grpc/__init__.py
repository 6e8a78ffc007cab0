"""Support of the gRPC scenarios: official clients of version 5, and the gRPC front ends of both servers.

``builds`` builds the drivers of the clients (Java, Python, Node, Go; sources in ``programs/``); ``clients``
has each as Python objects; ``doors`` starts a server with its front end: Apache's proxy 5.5.0 with Apache's
broker, or ours; ``probe`` makes single calls with the generated stubs, and ``cases`` lists calls to compare.
"""
