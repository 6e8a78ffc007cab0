"""The distribution is described in setup.cfg; this adds the compiled form of the modules on the hot roads.

With MQGATEWAY_COMPILE=1 in the environment they are compiled by mypyc, from the same sources, into extensions
that Python prefers to the sources beside them; see docs/decisions. Without it nothing is compiled.
"""

import os

from setuptools import setup

HOT_MODULES = [
    "engine/message.py",
    "engine/store/batch_consume_queue.py",
    "engine/store/cold.py",
    "engine/store/commit_log.py",
    "engine/store/consume_queue.py",
    "engine/store/dispatch.py",
    "engine/store/file_queue.py",
    "engine/store/flush.py",
    "engine/store/index_file.py",
    "engine/store/read_windows.py",
    "engine/store/reader.py",
    "engine/store/record.py",
    "engine/store/results.py",
    "engine/store/statistics.py",
    "engine/store/unit_queue.py",
    "engine/store/writer.py",
    "gateway/broker/accepting.py",
    "gateway/broker/durable.py",
    "gateway/broker/longpoll.py",
    "gateway/broker/pull.py",
    "gateway/broker/send.py",
    "gateway/broker/stats.py",
    "gateway/codec/command.py",
    "gateway/codec/frame.py",
    "gateway/remoting/call.py",
    "gateway/remoting/dispatch.py",
    "gateway/remoting/exchange.py",
    "gateway/remoting/protocol.py",
]
"""What every send and every pull passes through."""

extensions = []
if os.environ.get("MQGATEWAY_COMPILE") == "1":
    from mypyc.build import mypycify

    extensions = mypycify(HOT_MODULES, opt_level="2", debug_level="0")

setup(ext_modules=extensions)
