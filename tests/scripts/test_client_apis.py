"""The blocking and the asyncio classes of the client are those that the script generates from the core."""

from __future__ import annotations

from scripts.client_apis import generated


def test_script_generates_the_committed_files() -> None:
    for path, text in generated().items():
        assert path.read_text() == text, f"{path.name}: run scripts/client_apis.py"
