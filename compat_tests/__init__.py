"""Compatibility scenarios: the official Java and Go clients and tools against Apache's own server and ours.

The peer is the judge: a scenario runs against both servers, and one that Apache's server does not pass
is a wrong scenario. Run it from the project's root (it needs Maven, a JDK 17, Go, and Docker or the
rights to start an engine)::

    python -m pytest compat_tests [--server=apache|ours|both] [--runtime=docker|local|auto] [-k NAME]

The scenarios are the ``test_*`` files, one a subject. What they stand on is in ``support``. ``official`` is
Apache's own integration tests and ``storm`` an hour of bad weather; each is run by hand, too.
"""
