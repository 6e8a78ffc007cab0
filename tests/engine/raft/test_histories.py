"""Generated histories of groups; `python -m tests.sim.raft` runs more of them."""

import pytest

from tests.support.engine.raft.history import History


@pytest.mark.parametrize("count", [3, 4, 5])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_acknowledged_is_lost(seed: int, count: int) -> None:
    history = History(seed, count)
    history.run(25)
    assert history.group.acknowledged


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_lost_on_disks(seed: int) -> None:
    history = History(100 + seed, 3, files=True)
    history.run(15)
    assert history.group.acknowledged
