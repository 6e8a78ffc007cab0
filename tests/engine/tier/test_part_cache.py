from typing import NamedTuple

from mqgateway.engine.tier.part_cache import PartCache


class _Part(NamedTuple):
    weight: int


def test_parts_used_longest_ago_are_dropped_beyond_the_limit() -> None:
    cache = PartCache(100)
    for name in "abc":
        cache.put(name, _Part(30))
    assert cache.get("a") == _Part(30)
    cache.put("d", _Part(30))
    assert [name for name in "abcd" if name in cache] == ["a", "c", "d"] and cache.weight == 90


def test_larger_part_than_the_limit_is_the_only_one() -> None:
    cache = PartCache(100)
    cache.put("a", _Part(30))
    cache.put("b", _Part(500))
    assert "a" not in cache and cache.get("b") == _Part(500)
    cache.put("c", _Part(1))
    assert "b" not in cache and cache.weight == 1


def test_replaced_part_counts_once() -> None:
    cache = PartCache(100)
    cache.put("a", _Part(30))
    cache.put("a", _Part(50))
    assert cache.weight == 50 and cache.get("a") == _Part(50)
