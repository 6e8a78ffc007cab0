"""Compatibility scenarios: the official Java clients and tools against Apache's own server and ours.

The peer is the judge: a scenario runs against both servers, and one that Apache's server does not pass
is a wrong scenario. Run it from the project's root (it needs Maven and a JDK 17, and Docker or the
rights to start an engine)::

    python -m pytest compat_tests [--server=apache|ours|both] [--runtime=docker|local|auto] [-k NAME]

The way through it: ``artifacts`` fetches jars and compiles the Java programs of ``java/``;
``containers`` and ``runtime`` decide where clients run; ``servers`` starts the two servers; ``driver``
is the official client as Python objects and ``mqadmin`` the official tool; ``peers`` brings a server and
a client together for a scenario; ``overlap`` lets scenarios that wait wait at the same time. The
scenarios are the ``test_*`` files, one a subject.
"""
