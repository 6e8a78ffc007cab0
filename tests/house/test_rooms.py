"""The rooms of the broker, and the arrows between them: none leads back to where it came from."""

import re
from pathlib import PurePath

import pytest

from tests.house.picture import PAGE, drawn, layer_of
from tests.house.source import ROOT, circles, import_graph, imported_modules, source_files

BROKER = "gateway.broker."
PROTOCOLS = ("gateway.remoting", "gateway.codec.command", "gateway.codec.codes", "gateway.codec.headers")
"""Known only to protocol code, and to packages that speak to other servers."""
TO_OTHERS = ("acting", "clients", "cluster", "controlled", "replication")
"""Rooms that call clients, name servers, controllers and other brokers, which speak remoting."""


def room_of(module: str) -> str:
    """The room a module of the broker lies in; the module itself where it lies in the hall."""
    room, _, rest = module.removeprefix(BROKER).partition(".")
    return room if rest else f"{room}.py"


def rooms() -> dict[str, set[str]]:
    """The rooms of the broker and its files beside them, and what each imports of the others."""
    arrows: dict[str, set[str]] = {}
    for module, imported in import_graph(BROKER).items():
        if module.startswith(BROKER):
            arrows.setdefault(room_of(module), set()).update(
                map(room_of, (one for one in imported if one.startswith(BROKER)))
            )
    return {room: others - {room} for room, others in arrows.items()}


def test_imports_have_no_circle(capsys: pytest.CaptureFixture[str]) -> None:
    """Not even for types."""
    graph, broker = import_graph(), rooms()
    found = circles(graph)
    arrows = sum(map(len, graph.values()))
    folders = {PurePath(path).parent for path in source_files()}
    text = (
        f"{len(folders)} rooms, {len(graph)} files, {arrows} import arrows, {len(found)} circles; "
        f"in the broker {len(broker)} rooms and files beside them, {sum(map(len, broker.values()))} arrows"
    )
    with capsys.disabled():
        print(f"\n{text}")
    assert not found


def test_requests_modules_are_imported_by_shared_modules_only() -> None:
    """Rooms meet in operations and in what they keep, never in what a protocol is turned into."""
    wrong = [
        f"{module} imports {one}"
        for module, imported in import_graph(BROKER).items()
        for one in imported
        if one.endswith("requests") and room_of(one) != room_of(module) and "." in module.removeprefix(BROKER)
    ]
    assert not wrong


def test_operations_know_no_protocol() -> None:
    """In the rooms of what a broker can do, only the files of the door do."""
    wrong = [
        f"{path} imports {name}"
        for path in source_files()
        if path.parts[:2] == ("gateway", "broker") and len(path.parts) == 4
        if path.parts[2] not in TO_OTHERS and not path.stem.endswith("requests")
        for name in imported_modules(path)
        if name.startswith(PROTOCOLS)
    ]
    assert not wrong


def test_pictures_are_as_the_code() -> None:
    """`python -m tests.house.picture` draws them."""
    text = PAGE.read_text()
    assert drawn(text) == text


def test_imports_lead_down_the_layers_of_the_picture() -> None:
    wrong = []
    for module, imported in import_graph().items():
        layer = layer_of(module)
        if layer is None:
            assert not imported, f"{module} is in no layer"
            continue
        for one in imported:
            other = layer_of(one)
            if other is not None and other < layer:
                wrong.append(f"{module} imports {one}")
    assert not wrong


def test_page_of_the_store_names_every_module() -> None:
    text = (ROOT / "docs" / "store.md").read_text()
    named = set(re.findall(r"`([\w/]+)`", text))
    folder = ROOT / "engine" / "store"
    modules = {str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.py")}
    assert {module for module in modules if not module.endswith("__init__")} <= named


BY_OFFSET = (".record_at(", ".look_up(", ".transactions.find(")
OF_QUEUES = {"gateway/broker/cluster/route_cache.py"}
"""Files that look up something else."""


def test_records_are_read_by_offset_in_one_place() -> None:
    """There the caller's rights on the record itself are checked."""
    reading = {
        path.as_posix()
        for path in source_files()
        if path.parts[0] == "gateway" and path.parts[1] in ("broker", "grpc", "web")
        if any(call in (ROOT / path).read_text() for call in BY_OFFSET)
    }
    assert reading - OF_QUEUES == {"gateway/broker/records.py"}
