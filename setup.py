"""The parts of the distribution that must be computed; the others are in setup.cfg.

With MQGATEWAY_COMPILE=1 in the environment, mypyc compiles the modules that every send and pull passes
through, from the same sources, into extensions that Python prefers to the sources beside them. `native*.c`
are compiled too; see docs/decisions. `native` compiles those files alone; `sanitized` does so for tests that
search for memory errors. Without the variable nothing is compiled. MQGATEWAY_OPT_LEVEL is the C compiler's
optimization level for mypyc's output, 2 if it is not set; tests build with 0, which takes a fraction of the
time.

The page on a package index is the README. A link to a file of this repository leads nowhere there, so it
becomes the file's name in the source distribution.
"""

import os
import re
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.editable_wheel import editable_wheel
from setuptools.config.setupcfg import read_configuration

HERE = Path(__file__).parent

HOT_MODULES = [
    "mqgateway/engine/message.py",
    "mqgateway/engine/meters.py",
    "mqgateway/engine/names.py",
    "mqgateway/engine/producers/batch.py",
    "mqgateway/engine/producers/fences.py",
    "mqgateway/engine/producers/markers.py",
    "mqgateway/engine/producers/state.py",
    "mqgateway/engine/producers/transactions.py",
    "mqgateway/engine/record_batches/batches.py",
    "mqgateway/engine/record_batches/ordinary.py",
    "mqgateway/engine/record_batches/reader.py",
    "mqgateway/engine/record_batches/walk.py",
    "mqgateway/engine/record_batches/writer.py",
    "mqgateway/engine/store/batch_answer.py",
    "mqgateway/engine/store/batch_consume_queue.py",
    "mqgateway/engine/store/batch_reading.py",
    "mqgateway/engine/store/batch_records.py",
    "mqgateway/engine/store/client_batch.py",
    "mqgateway/engine/store/client_elements.py",
    "mqgateway/engine/store/cold.py",
    "mqgateway/engine/store/commit_log.py",
    "mqgateway/engine/store/consume_queue.py",
    "mqgateway/engine/store/dispatch.py",
    "mqgateway/engine/store/dispatch_request.py",
    "mqgateway/engine/store/expansion.py",
    "mqgateway/engine/store/file_queue.py",
    "mqgateway/engine/store/flush.py",
    "mqgateway/engine/store/group_commit.py",
    "mqgateway/engine/store/index.py",
    "mqgateway/engine/store/index_file.py",
    "mqgateway/engine/store/inspection.py",
    "mqgateway/engine/store/key_hashes.py",
    "mqgateway/engine/store/log.py",
    "mqgateway/engine/store/log_on_files.py",
    "mqgateway/engine/store/message_store.py",
    "mqgateway/engine/store/property_choice.py",
    "mqgateway/engine/store/read_windows.py",
    "mqgateway/engine/store/reader.py",
    "mqgateway/engine/store/record.py",
    "mqgateway/engine/store/results.py",
    "mqgateway/engine/store/statistics.py",
    "mqgateway/engine/store/store_reading.py",
    "mqgateway/engine/store/unit_queue.py",
    "mqgateway/engine/store/views/index.py",
    "mqgateway/engine/store/views/producers.py",
    "mqgateway/engine/store/views/queues.py",
    "mqgateway/engine/store/views/snapshot.py",
    "mqgateway/engine/store/views/starts.py",
    "mqgateway/engine/store/views/transactions.py",
    "mqgateway/engine/store/views/view.py",
    "mqgateway/engine/store/whole_batches.py",
    "mqgateway/engine/store/writer.py",
    "mqgateway/engine/tables/offsets.py",
    "mqgateway/engine/unique_keys.py",
    "mqgateway/engine/upkeep/ledger.py",
    "mqgateway/gateway/access/control.py",
    "mqgateway/gateway/access/signature.py",
    "mqgateway/gateway/broker/cold.py",
    "mqgateway/gateway/broker/consume/initial_offset.py",
    "mqgateway/gateway/broker/consume/long_polling.py",
    "mqgateway/gateway/broker/consume/pull.py",
    "mqgateway/gateway/broker/consume/pull_checks.py",
    "mqgateway/gateway/broker/consume/pull_request.py",
    "mqgateway/gateway/broker/consume/requests.py",
    "mqgateway/gateway/broker/new_message.py",
    "mqgateway/gateway/broker/operations/batch_copies.py",
    "mqgateway/gateway/broker/operations/batch_fences.py",
    "mqgateway/gateway/broker/operations/batch_producers.py",
    "mqgateway/gateway/broker/operations/batch_queues.py",
    "mqgateway/gateway/broker/operations/batches.py",
    "mqgateway/gateway/broker/operations/consume.py",
    "mqgateway/gateway/broker/operations/gate.py",
    "mqgateway/gateway/broker/operations/produce.py",
    "mqgateway/gateway/broker/parked.py",
    "mqgateway/gateway/broker/parked_pops.py",
    "mqgateway/gateway/broker/produce/durability.py",
    "mqgateway/gateway/broker/produce/put.py",
    "mqgateway/gateway/broker/produce/requests.py",
    "mqgateway/gateway/broker/produce/send.py",
    "mqgateway/gateway/broker/produce/send_checks.py",
    "mqgateway/gateway/broker/replication/role_requests.py",
    "mqgateway/gateway/broker/static_topics/messages.py",
    "mqgateway/gateway/broker/stats.py",
    "mqgateway/gateway/broker/translated.py",
    "mqgateway/gateway/broker/waking.py",
    "mqgateway/gateway/client/answers.py",
    "mqgateway/gateway/client/asking.py",
    "mqgateway/gateway/client/batches.py",
    "mqgateway/gateway/client/faults.py",
    "mqgateway/gateway/client/identity.py",
    "mqgateway/gateway/client/publishing.py",
    "mqgateway/gateway/client/routes.py",
    "mqgateway/gateway/client/sending.py",
    "mqgateway/gateway/client/tries.py",
    "mqgateway/gateway/codec/binary_header.py",
    "mqgateway/gateway/codec/command.py",
    "mqgateway/gateway/codec/frame.py",
    "mqgateway/gateway/codec/json_header.py",
    "mqgateway/gateway/grpc/conversation.py",
    "mqgateway/gateway/grpc/frames.py",
    "mqgateway/gateway/grpc/header_blocks.py",
    "mqgateway/gateway/grpc/header_lists.py",
    "mqgateway/gateway/grpc/http2.py",
    "mqgateway/gateway/grpc/http2_answers.py",
    "mqgateway/gateway/grpc/service/caller.py",
    "mqgateway/gateway/grpc/service/names.py",
    "mqgateway/gateway/grpc/service/properties.py",
    "mqgateway/gateway/grpc/service/sending.py",
    "mqgateway/gateway/grpc/wire.py",
    "mqgateway/gateway/kafka/api/fetch.py",
    "mqgateway/gateway/kafka/api/produce.py",
    "mqgateway/gateway/kafka/api/single_produce.py",
    "mqgateway/gateway/kafka/call.py",
    "mqgateway/gateway/kafka/codec/fetch.py",
    "mqgateway/gateway/kafka/codec/headers.py",
    "mqgateway/gateway/kafka/codec/kinds.py",
    "mqgateway/gateway/kafka/codec/plain.py",
    "mqgateway/gateway/kafka/codec/plans.py",
    "mqgateway/gateway/kafka/codec/produce.py",
    "mqgateway/gateway/kafka/codec/single_batch.py",
    "mqgateway/gateway/kafka/connection.py",
    "mqgateway/gateway/kafka/dispatch.py",
    "mqgateway/gateway/kafka/topics.py",
    "mqgateway/gateway/kafka/validation.py",
    "mqgateway/gateway/metrics/rpc.py",
    "mqgateway/gateway/remoting/call.py",
    "mqgateway/gateway/remoting/client.py",
    "mqgateway/gateway/remoting/dispatch.py",
    "mqgateway/gateway/remoting/exchange.py",
    "mqgateway/gateway/remoting/protocol.py",
    "mqgateway/gateway/remoting/connection_settings.py",
    "mqgateway/gateway/remoting/turn.py",
]
"""Modules that every send and pull passes through, and one whose base class is in such a module."""


def build_requirements() -> list[str]:
    """Return the build requirements of compilation besides a C compiler: mypyc, and the packages whose types
    it reads."""
    description = read_configuration(HERE / "setup.cfg")
    return ["mypy >= 1.13", *description["options"]["install_requires"]]


def native_files(ending: str) -> list[str]:
    """Return the C files of the extension whose names end with `ending`."""
    return sorted(f"mqgateway/engine/{part.name}" for part in HERE.glob(f"mqgateway/engine/native{ending}"))


def page(readme: str) -> str:
    """Return the README for a package index: links to files become the names of the files."""

    def named(link: re.Match[str]) -> str:
        text, file = link.groups()
        return f"`{file}`" if text == file else f"{text} (`{file}`)"

    return re.sub(r"\[([^]]+)]\((?!https?://|#)([^)]+)\)", named, readme)


class EditableWheel(editable_wheel):
    """An editable installation that type checkers see.

    The packages are found through a folder on the path that has only links to them. Setuptools' own choice
    for this layout, an import hook, is invisible to tools that do not import.
    """

    def finalize_options(self) -> None:
        """Set the folder in which the packages are found."""
        super().finalize_options()
        self.package_dir = {"": "packaging/editable"}


PLAIN_FLAGS = ["-O2", "-g0"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
SANITIZED_FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-wrapv", *SANITIZERS]
"""Flags with which a memory error, or undefined behaviour in C, ends the process with a report."""


def native(compile_flags: list[str], link_flags: list[str]) -> Extension:
    """Return the extension in C."""
    return Extension(
        "mqgateway.engine.native",
        native_files("*.c"),
        depends=native_files("*.h"),
        extra_compile_args=compile_flags,
        extra_link_args=link_flags,
    )


GENERATED_FLAGS = [] if sys.platform == "win32" else ["-Wno-misleading-indentation"]
"""For C code that mypyc wrote: GCC's check of indentation takes five minutes for its one large file."""


def compiled_modules() -> list[Extension]:
    """Return the extensions that mypyc makes of the modules."""
    from mypyc.build import mypycify

    level = os.environ.get("MQGATEWAY_OPT_LEVEL", "2")
    extensions = mypycify(HOT_MODULES, opt_level=level, debug_level="0")
    for extension in extensions:
        extension.extra_compile_args += GENERATED_FLAGS
    return extensions


extensions = []
form = os.environ.get("MQGATEWAY_COMPILE")
is_compiled = form == "1"
# Front ends query requirements and metadata with these commands, before requirements are installed, too.
is_query = not {"egg_info", "dist_info"}.isdisjoint(sys.argv)
if form == "native":
    extensions = [native(PLAIN_FLAGS, [])]
elif form == "sanitized":
    extensions = [native(SANITIZED_FLAGS, SANITIZERS)]
elif is_compiled and not is_query:
    extensions = [*compiled_modules(), native(PLAIN_FLAGS, [])]

setup(
    cmdclass={"editable_wheel": EditableWheel},
    ext_modules=extensions,
    long_description=page((HERE / "README.md").read_text()),
    long_description_content_type="text/markdown",
    setup_requires=build_requirements() if is_compiled else [],
)
