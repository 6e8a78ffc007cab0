"""Draw the pictures of docs/architecture.md: `python -m tests.house.picture`.

The first shows the layers: a package imports its own layer and those below. The second shows the packages of
the broker: an arrow leads to a package that is imported. Files beside these packages are left out, because
those that assemble the broker import every package, and the others are shared by all.
"""

from collections.abc import Mapping

from tests.house.source import ROOT, import_graph

PAGE = ROOT / "docs" / "architecture.md"
END = "<!-- end -->"
LAYERS_BEGIN, BROKER_BEGIN = "<!-- the layers -->", "<!-- the packages of the broker -->"
BROKER = "gateway.broker."

LAYERS: Mapping[str, tuple[str, ...]] = {
    "commands": ("gateway.cli", "gateway.mqadmin", "gateway.resources", "gateway.migration"),
    "Spark, installed names": ("pipeline", "mqgateway", "gateway.pytest_plugin"),
    "front ends, metrics, test server": (
        "gateway.grpc",
        "gateway.kafka",
        "gateway.web",
        "gateway.front_ends",
        "gateway.front_end",
        "gateway.metrics",
        "gateway.tiering",
        "gateway.testing",
    ),
    "servers, client": (
        "gateway.namesrv",
        "gateway.broker",
        "gateway.controller",
        "gateway.container",
        "gateway.raft",
        "gateway.client",
        "gateway.doctor",
        "gateway.remedies",
    ),
    "access control": ("gateway.access",),
    "connections": ("gateway.remoting",),
    "bytes, event loop": ("gateway.codec", "gateway.runtime", "gateway.object_stores"),
    "tables, replication, elections": ("engine",),
    "log": ("engine.store", "engine.producers", "engine.record_batches"),
    "values, clock, disk, settings": (
        "engine.message",
        "engine.names",
        "engine.unique_keys",
        "engine.errors",
        "engine.options",
        "engine.clock",
        "engine.steady_clock",
        "engine.disk",
        "engine.real_disk",
        "engine.worker",
        "engine.steps",
        "engine.extension",
        "engine.inflating",
        "engine.lazy",
        "engine.lenient_json",
        "engine.java_types",
    ),
}
"""Packages by layer, the highest first. `engine` covers what no lower layer names."""


def layer_of(module: str) -> int | None:
    """Return the number of a module's layer, 0 for the highest; None for a package without a layer."""
    found = [
        (len(package), number)
        for number, packages in enumerate(LAYERS.values())
        for package in packages
        if f"{module}.".startswith(f"{package}.")
    ]
    return max(found)[1] if found else None


def arrows() -> dict[str, set[str]]:
    """Return for each package of the broker those that it imports."""
    found: dict[str, set[str]] = {}
    for module, imported in import_graph(BROKER).items():
        if is_in_package(module):
            others = found.setdefault(package_of(module), set())
            others.update(package_of(one) for one in imported if is_in_package(one))
    return {package: others - {package} for package, others in found.items()}


def is_in_package(module: str) -> bool:
    """Return True if a module is in a package of the broker."""
    return module.startswith(BROKER) and (ROOT / "gateway" / "broker" / package_of(module)).is_dir()


def package_of(module: str) -> str:
    """Return the name of a module's package in the broker."""
    return module.removeprefix(BROKER).partition(".")[0]


def picture_of_layers() -> str:
    """Return the layers as Mermaid reads them, with an arrow from each to the next lower one."""
    lines = ["```mermaid", "graph TD"]
    for number, (title, packages) in enumerate(LAYERS.items()):
        names = ", ".join(package.replace(".", "/") for package in packages)
        lines.append(f'    L{number}["{title}<br>{names}"]')
    lines += [f"    L{number} --> L{number + 1}" for number in range(len(LAYERS) - 1)]
    return "\n".join([*lines, "```"])


def picture_of_broker() -> str:
    """Return the packages of the broker as Mermaid reads them."""
    lines = ["```mermaid", "graph LR"]
    for package, others in sorted(arrows().items()):
        lines += [f"    {package} --> {other}" for other in sorted(others)] or [f"    {package}"]
    return "\n".join([*lines, "```"])


def drawn(text: str) -> str:
    """Return a page with the pictures as they are now."""
    for begin, picture in ((LAYERS_BEGIN, picture_of_layers()), (BROKER_BEGIN, picture_of_broker())):
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(END)
        text = f"{before}{begin}\n{picture}\n{END}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text()))
