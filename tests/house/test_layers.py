"""Rules on imports between packages; the first rule whose package contains a module applies to it."""

import ast

from tests.house.source import (
    PACKAGES,
    import_graph,
    imported_modules,
    imports_as_written,
    module_name,
    nodes,
    python_files,
    source_files,
)

RESOURCE_COMMANDS = (
    "engine.message",
    "engine.names",
    "engine.unique_keys",
    "engine.errors",
    "engine.options",
    "engine.clock",
    "engine.steady_clock",
    "engine.disk",
    "engine.worker",
)

SERVERS = ("gateway.remoting", "gateway.runtime", "gateway.codec", "engine")
"""Packages that any server may import besides its own."""

# place -> what it may import of our own (a name covers everything below it).
LAYERS: dict[str, tuple[str, ...]] = {
    "engine.store": (
        "engine.store",
        "engine.producers",
        "engine.record_batches",
        "engine.steps",
        "engine.extension",
        *RESOURCE_COMMANDS,
    ),
    "engine.producers": ("engine.producers", "engine.record_batches", "engine.message"),
    "engine.message": ("engine.extension",),
    "engine.names": ("engine.message",),
    "engine.unique_keys": (),
    "engine.extension": (),
    "engine.errors": (),
    "engine.lazy": (),
    "engine.inflating": ("engine.message",),
    "engine.record_batches.mapping": (
        "engine.record_batches",
        "engine.extension",
        "engine.inflating",
        "engine.message",
    ),
    "engine.record_batches": ("engine.record_batches", "engine.extension", "engine.inflating"),
    "engine.clock": (),
    "engine.options": ("engine.options", "engine.errors", "engine.lazy"),
    "engine": ("engine",),
    "gateway.codec": (
        "gateway.codec",
        "engine.extension",
        "engine.java_types",
        "engine.lazy",
        "engine.lenient_json",
        "engine.message",
        "engine.steps",
    ),
    "gateway.runtime": ("gateway.runtime", "engine.clock", "engine.disk", "engine.steps", "engine.worker"),
    "gateway.remoting": (
        "gateway.remoting",
        "gateway.runtime",
        "gateway.codec",
        "engine.clock",
        "engine.errors",
        "engine.message",
        "engine.options",
        "engine.steps",
        "engine.worker",
    ),
    "gateway.access": (
        "gateway.access",
        "gateway.remoting.call",
        "gateway.runtime.outcomes",
        "gateway.codec",
        "engine.tables",
        "engine.lenient_json",
        "engine.json_members",
        "engine.steps",
        *RESOURCE_COMMANDS,
    ),
    "gateway.namesrv": ("gateway.namesrv", "gateway.access", *SERVERS),
    "gateway.object_stores": ("gateway.object_stores", "engine.errors", "engine.real_disk", "engine.tier"),
    "gateway.broker": (
        "gateway.broker",
        "gateway.access",
        "gateway.raft",
        "gateway.object_stores",
        *SERVERS,
    ),
    "gateway.controller": ("gateway.controller", "gateway.access", *SERVERS),
    "gateway.raft": ("gateway.raft", *SERVERS),
    "gateway.container": ("gateway.container", "gateway.access", *SERVERS),
    "gateway.tiering": (
        "gateway.tiering",
        "gateway.broker",
        "gateway.container.children",
        "gateway.runtime",
        "engine",
    ),
    "gateway.metrics": (
        "gateway.metrics",
        "gateway.kafka.group_names",
        "gateway.kafka.topics",
        "gateway.front_end",
        "gateway.front_ends",
        "gateway.broker",
        "gateway.container",
        "gateway.controller",
        "gateway.namesrv",
        "gateway.remoting",
        "gateway.runtime",
        "gateway.codec",
        "engine",
    ),
    "gateway.grpc.front_end": ("gateway.grpc", "gateway.front_end"),
    "gateway.grpc.spans": ("gateway.grpc", "gateway.metrics.spans", "gateway.runtime.outcomes"),
    "gateway.grpc.faults": ("gateway.grpc", "gateway.testing.faults", "gateway.codec"),
    "gateway.grpc": (
        "gateway.grpc",
        "gateway.access",
        "gateway.broker",
        "gateway.client.compression",
        "gateway.client.errors",
        *SERVERS,
    ),
    "gateway.kafka.codec": (
        "gateway.kafka.codec",
        "engine.extension",
        "engine.record_batches",
        "engine.steps",
    ),
    "gateway.kafka.pattern_syntax": (),
    "gateway.kafka.patterns": ("gateway.kafka.pattern_syntax", "engine.steps"),
    "gateway.kafka.consumer_groups": (
        "gateway.kafka.consumer_groups",
        "gateway.kafka.coordinator",
        "gateway.kafka.patterns",
        "gateway.kafka.pattern_syntax",
        "gateway.kafka.codec",
        "engine.record_batches",
        "engine.clock",
        "engine.steps",
    ),
    "gateway.kafka.coordinator": (
        "gateway.kafka.coordinator",
        "gateway.kafka.consumer_groups",
        "gateway.kafka.share_groups",
        "gateway.kafka.codec",
        "engine.record_batches",
        "engine.clock",
        "engine.steps",
    ),
    "gateway.kafka.quotas": (
        "gateway.kafka.quotas",
        "gateway.kafka.call",
        "gateway.kafka.codec",
        "engine.meters",
        "engine.tables.client_quotas",
    ),
    "gateway.kafka.share_partitions": (
        "gateway.kafka.share_partitions",
        "gateway.kafka.share_groups",
        "gateway.kafka.coordinator",
        "gateway.kafka.codec",
        "engine.record_batches",
        "engine.clock",
    ),
    "gateway.kafka.share_groups": (
        "gateway.kafka.share_groups",
        "gateway.kafka.coordinator",
        "gateway.kafka.codec",
        "engine.record_batches",
        "engine.clock",
        "engine.steps",
    ),
    "gateway.kafka.transactions": (
        "gateway.kafka.transactions",
        "gateway.kafka.coordinator",
        "gateway.kafka.codec",
        "engine.record_batches",
        "engine.clock",
        "engine.steps",
    ),
    "gateway.kafka.front_end": ("gateway.kafka", "gateway.front_end"),
    "gateway.kafka.faults": ("gateway.kafka", "gateway.testing.faults", "gateway.codec", "engine.steps"),
    "gateway.kafka": ("gateway.kafka", "gateway.access", "gateway.broker", *SERVERS),
    "gateway.web": (
        "gateway.web",
        "gateway.front_end",
        "gateway.doctor",
        "gateway.remedies",
        "gateway.metrics.health",
        "gateway.client.compression",
        "gateway.client.errors",
        "gateway.broker",
        "gateway.access",
        "gateway.namesrv",
        *SERVERS,
    ),
    "gateway.client": (
        "gateway.client",
        "gateway.access.signature",
        "gateway.remoting",
        "gateway.runtime",
        "gateway.codec",
        "engine.extension",
        "engine.filters.tags",
        "engine.inflating",
        "engine.lazy",
        "engine.tables.groups",
        "engine.tables.jsonfile",
        "engine.lenient_json",
        "engine.pop.names",
        "engine.pop.receipts",
        "engine.real_disk",
        "engine.store.client_elements",
        "engine.store.record",
        "engine.tables.topics",
        *RESOURCE_COMMANDS,
    ),
    "gateway.doctor": ("gateway.doctor", "gateway.codec", "engine.message"),
    "gateway.remedies": ("gateway.remedies", "engine.message"),
    "gateway.mqadmin": (
        "gateway.mqadmin",
        "gateway.access.signature",
        "gateway.cli.ending",
        "gateway.cli.explaining",
        "gateway.cli.plain",
        "gateway.cli.times",
        "gateway.client",
        "gateway.codec",
        "gateway.runtime.name_servers",
        "engine.lenient_json",
        "engine.static_topics",
        "engine.tables.groups",
        "engine.tables.topics",
        *RESOURCE_COMMANDS,
    ),
    "gateway.migration.kafka": (
        "gateway.migration",
        "gateway.access.scram",
        "gateway.kafka.codec",
        "gateway.mqadmin.connection",
        "gateway.client.errors",
        "gateway.runtime.name_servers",
        "engine.errors",
        "engine.options",
        "engine.record_batches",
    ),
    "gateway.migration": (
        "gateway.migration",
        "gateway.front_ends",
        "gateway.mqadmin.servers",
        "gateway.client",
        "gateway.codec",
        "gateway.runtime.name_servers",
    ),
    "gateway.resources": (
        "gateway.resources",
        "gateway.mqadmin",
        "gateway.doctor",
        "gateway.remedies",
        "gateway.cli.kafka_doctor",
        "gateway.cli.plain",
        "gateway.cli.times",
        "gateway.client",
        "gateway.codec",
        "engine.tables.topics",
        *RESOURCE_COMMANDS,
    ),
    "gateway.cli": ("gateway", "engine", "pipeline"),
    "gateway.testing": ("gateway", "engine"),
    "gateway.front_end": ("gateway", "engine"),
    "gateway": ("gateway",),
    "pipeline": ("pipeline", "gateway.client", "gateway.codec", "engine"),
    # The public modules name what the rest is for; nothing of ours imports them.
    "mqgateway": ("gateway.client", "gateway.testing", "pipeline"),
}


def inside(module: str, place: str) -> bool:
    return module == place or module.startswith(place + ".")


def law_for(module: str) -> tuple[str, ...]:
    place = next(place for place in LAYERS if inside(module, place))
    return LAYERS[place]


def test_imports_keep_the_layers() -> None:
    """Each file imports only what its layer allows."""
    wrong = []
    for path in source_files():
        module = module_name(path)
        allowed = law_for(module)
        ours = {name for name in imported_modules(path) if any(inside(name, one) for one in PACKAGES)}
        # A bare package ("engine") names no file: the names taken from it are judged by themselves.
        wrong += [
            f"{module} may not import {name}"
            for name in sorted(ours - set(PACKAGES))
            if not any(inside(name, place) for place in allowed)
        ]
    assert not wrong


def test_everything_is_imported_from_the_one_package_that_is_installed() -> None:
    """`engine`, `gateway` and `pipeline` by themselves would be a second copy, or a foreign package."""
    users = ("bench", "compat_tests", "helm_tests", "spark_tests", "tests")
    wrong = [
        f"{path} imports {name}"
        for path in (*source_files(), *(path for folder in users for path in python_files(folder)))
        for name in imports_as_written(path)
        if name.partition(".")[0] in PACKAGES
    ]
    assert not wrong


def test_the_engine_knows_no_network() -> None:
    """No Twisted and no sockets below the gateway (resource commands pack addresses with `socket`)."""
    banned = {"twisted", "asyncio", "selectors", "threading"}
    wrong = [
        f"{path} imports {name}"
        for path in source_files()
        if path.parts[0] == "engine"
        for name in imported_modules(path)
        if name.split(".")[0] in banned
    ]
    assert not wrong


def test_codec_is_pure() -> None:
    """The codecs do bytes only: no Twisted, no time, no files."""
    for path in source_files():
        if path.as_posix().startswith(("gateway/codec/", "gateway/kafka/codec/", "engine/record_batches/")):
            wrong = imported_modules(path) & {"time", "os", "io", "pathlib", "socket"}
            assert not wrong, f"{path} imports {sorted(wrong)}"
            assert not any(name.startswith("twisted") for name in imported_modules(path)), path


FRONT_ENDS = ("gateway.grpc", "gateway.kafka", "gateway.web", "gateway.testing")
OPERATIONS = "gateway.broker.operations"
INSIDE = {"gateway.testing.nodes": 1, "gateway.testing.server": 1}
"""Modules of front ends that import other modules of the broker than its operations, and how many.

The test server is no front end: as a command does, it makes the broker's service, and it shows tests the
broker from inside.
"""


def test_front_ends_import_only_operations_of_the_broker() -> None:
    """The table of exceptions only shrinks."""
    graph = import_graph()
    inside_of = {
        module: sorted(
            name for name in graph[module] if inside(name, "gateway.broker") and not inside(name, OPERATIONS)
        )
        for module in graph
        if any(inside(module, place) for place in FRONT_ENDS)
    }
    assert {module: len(names) for module, names in inside_of.items() if names} == INSIDE, inside_of


DECLARED = ("gateway.grpc", "gateway.web")
USERS = {"gateway.front_ends": 2}
"""Modules outside a declared front end that import modules of it, and how many."""


def test_front_ends_are_imported_by_their_list_only() -> None:
    """A further protocol is a folder and an entry of the list."""
    graph = import_graph()
    users = {
        module: sum(
            any(inside(name, place) and not inside(module, place) for place in DECLARED)
            for name in graph[module]
        )
        for module in graph
    }
    assert {module: count for module, count in users.items() if count} == USERS


def test_permits_are_made_by_the_gate() -> None:
    making = {
        str(path)
        for path in source_files()
        for node in nodes(path, ast.Call)
        if ast.unparse(node.func).rpartition(".")[2] == "Permit"
    }
    assert making == {"gateway/broker/operations/gate.py"}
