"""Compatibility scenarios: the official Java and Go clients and tools against Apache's own server and ours.

The peer is the judge: a scenario runs against both servers, and one that Apache's server does not pass
is a wrong scenario. Run it from the project's root (it needs Maven, a JDK 17, Go, and Docker or the
rights to start an engine)::

    python -m pytest compat_tests [--server=apache|ours|both] [--runtime=docker|local|auto] [-k NAME]

The way through it: ``artifacts`` fetches jars and modules and compiles the programs of ``java/`` and ``go/``;
``containers`` and ``runtime`` decide where clients run; ``servers`` starts the two servers; ``driver`` is the
official Java client as Python objects, ``golang`` the Go client and ``mqadmin`` the official tool; ``peers``
brings a server and a client together for a scenario; ``overlap`` lets scenarios that wait wait at the same
time. The scenarios are the ``test_*`` files, one a subject.
"""
