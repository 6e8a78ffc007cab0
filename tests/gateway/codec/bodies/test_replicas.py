"""Replicas and replication."""

from mqgateway.gateway.codec.bodies import (
    ElectMasterResponseBody,
    EpochEntry,
    EpochEntryCache,
    HARuntimeInfo,
    SyncStateSet,
)


def test_ha_info() -> None:
    assert HARuntimeInfo(master=True).encode() == (
        b'{"haClientRuntimeInfo":{"activated":false,"lastReadTimestamp":0,"lastWriteTimestamp":0,'
        b'"masterFlushOffset":0,"maxOffset":0,"transferredByteInSecond":0},"haConnectionInfo":[],'
        b'"inSyncSlaveNums":0,"master":true,"masterCommitLogMaxOffset":0}'
    )


def test_a_sync_state_set() -> None:
    assert SyncStateSet({2, 1}, 3).encode() == b'{"syncStateSet":[1,2],"syncStateSetEpoch":3}'


def test_election_without_winner() -> None:
    assert ElectMasterResponseBody().encode() == b"{}"
    assert ElectMasterResponseBody.decode(b'{"syncStateSet":[1]}').sync_state_set == {1}


def test_epochs() -> None:
    cache = EpochEntryCache("c", "b", 1, [EpochEntry(1, 0, 500), EpochEntry(2, 500)], 900)
    assert EpochEntryCache.decode(cache.encode()) == cache
    assert b'"endOffset":9223372036854775807' in cache.encode()
