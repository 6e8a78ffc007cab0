"""A storm by hand: our server as processes on a small disk, ended, paused, filled and misled about the time.

``python -m compat_tests.storm --help``. `nodes` are the processes and what befalls them, `load` sends and
consumes, `model` knows what must be true at the end, `clock.c` is the clock that the servers read.
"""
