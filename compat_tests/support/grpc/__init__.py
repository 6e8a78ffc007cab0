"""What the scenarios about the gRPC door stand on: official clients of version 5, and both doors.

``builds`` makes what drives the clients (Java, Python, Node; their sources are in ``programs/``); ``clients``
shows each as Python objects; ``doors`` starts a server with its door: Apache's proxy 5.5.0 before Apache's
broker, or ours; ``probe`` makes single calls with the generated stubs, and ``cases`` names those that fail.
"""
