"""Queues are restored from the end of their last hole on."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqgateway.engine.tier.directory import TierDirectory
from mqgateway.engine.tier.format.index import SavedQueue
from mqgateway.engine.tier.holes import Holes
from mqgateway.engine.tier.loading import load_head
from tests.support.engine.tier.restoring import LostStore
from tests.support.engine.tier.saving import NAMES


class World:
    """A tier of several ranges, and what is known of its holes."""

    def __init__(self, folder: Path) -> None:
        self.lost = LostStore(folder)
        self.lost.set_topics("orders", "pay")
        for _ in range(3):
            self.lost.put(40)
            self.lost.save_all()
        self.holes = Holes(self.lost.objects, NAMES)

    def blocks(self) -> list[tuple[SavedQueue, int]]:
        """Find holes; return the blocks of a queue in order."""
        directory = TierDirectory(NAMES).updated(self.lost.objects)
        ranges = [each for _, each in sorted(directory.ranges.items())]
        self.holes.find(ranges, directory)
        heads = [load_head(self.lost.objects, each).head for each in ranges if each.header.records]
        queues = [queue for head in heads for queue in head.queues if (queue.topic, queue.queue_id) == QUEUE]
        return [(queue, number) for queue in queues for number in range(len(queue.blocks))]

    def left_out(self) -> list[bool]:
        """Return for each block of the queue whether it is not restored."""
        return [self.holes.is_before(*block) for block in self.blocks()]


QUEUE = ("orders", 0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    assert len(world.blocks()) >= 3
    return world


def test_sound_tier_has_none(world: World) -> None:
    assert not any(world.left_out())
    assert world.holes.reasons == []


def test_blocks_before_a_lost_one_are_left_out(world: World) -> None:
    blocks = world.blocks()
    world.holes.lose(*blocks[1], "it is damaged")
    assert world.left_out() == [True, True, *[False] * (len(blocks) - 2)]
    assert world.holes.reasons == ["it is damaged"]


def test_object_that_is_gone_is_a_hole(world: World) -> None:
    segments = sorted(name for name in world.lost.objects.objects if name.endswith(".seg"))
    world.lost.objects.delete(segments[-1])
    assert world.left_out()[-1]
    [reason] = world.holes.reasons
    assert reason == f"the object {segments[-1]} does not exist"


def test_range_that_is_missing_is_a_hole(world: World) -> None:
    blocks = world.blocks()
    assert [queue.block_end(number) for queue, number in blocks[:-1]] == [
        queue.blocks[number].first_offset for queue, number in blocks[1:]
    ]
    directory = TierDirectory(NAMES).updated(world.lost.objects)
    ranges = [each for _, each in sorted(directory.ranges.items())]
    middle = next(each for each in ranges[1:] if each.header.records)
    world.holes.find([each for each in ranges if each is not middle], directory)
    assert world.holes.is_before(*blocks[0]) and not world.holes.is_before(*blocks[-1])
