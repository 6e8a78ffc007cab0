"""`python -m tests.house.picture`: draws the rooms of the broker in docs/architecture.md.

An arrow leads from a room to one that it imports. The files beside the rooms are left out: those that put the
rooms together import all of them, and the others are what all of them share.
"""

from tests.house.source import ROOT, import_graph

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- the rooms of the broker -->", "<!-- end -->"
BROKER = "gateway.broker."


def arrows() -> dict[str, set[str]]:
    """From each room to those that it imports."""
    found: dict[str, set[str]] = {}
    for module, imported in import_graph(BROKER).items():
        if is_in_room(module):
            others = found.setdefault(room_of(module), set())
            others.update(room_of(one) for one in imported if is_in_room(one))
    return {room: others - {room} for room, others in found.items()}


def is_in_room(module: str) -> bool:
    """Whether a module lies in a room of the broker."""
    return module.startswith(BROKER) and (ROOT / "gateway" / "broker" / room_of(module)).is_dir()


def room_of(module: str) -> str:
    """The room's name."""
    return module.removeprefix(BROKER).partition(".")[0]


def drawing() -> str:
    """The picture as Mermaid reads it."""
    lines = ["```mermaid", "graph LR"]
    for room, others in sorted(arrows().items()):
        lines += [f"    {room} --> {other}" for other in sorted(others)] or [f"    {room}"]
    return "\n".join([*lines, "```"])


def drawn(text: str) -> str:
    """A page with the picture as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{drawing()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text()))
