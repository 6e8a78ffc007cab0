from pathlib import Path

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tier.object_folder import ObjectFolder
from mqgateway.engine.tier.object_store import ObjectStoreUnavailable
from mqgateway.gateway.object_stores.opening import open_for_writing, open_object_store
from mqgateway.gateway.object_stores.remote import RemoteObjects


def test_folder_is_opened_by_its_url_and_made_by_a_writer(tmp_path: Path) -> None:
    url = (tmp_path / "a folder").as_uri()
    store = open_object_store(url)
    assert isinstance(store, ObjectFolder)
    with pytest.raises(ObjectStoreUnavailable, match="is not an object store"):
        store.head("a")
    open_for_writing(url, 0).create("a", b"1")
    assert store.head("a") == 1 and (tmp_path / "a folder" / "a").is_file()


def test_folder_that_has_objects_already_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(ObjectStoreUnavailable, match="is its file system mounted"):
        open_for_writing((tmp_path / "tier").as_uri(), 0, is_new=False)
    assert not (tmp_path / "tier").exists()


@pytest.mark.parametrize("url", ["s3://bucket", "s3://bucket/a/b?endpoint=http://127.0.0.1:1&region=x"])
def test_bucket_is_opened_by_its_url(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert isinstance(open_object_store(url), RemoteObjects)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("/mnt/tier", "no object store has the URL '/mnt/tier': file:///folder, s3://bucket/prefix"),
        ("http://host/bucket", "no object store has the URL"),
        ("oss://bucket", "no object store has the URL"),
        ("file://host/folder", "names no folder of this machine: write file:///path"),
        ("file:///", "names no folder of this machine"),
        ("file:///folder?region=x", "has a part after the path that means nothing"),
        ("s3://bucket/a#b", "has a part after the path that means nothing"),
        ("s3:///prefix", "names no object store: it has no bucket"),
        ("s3://bucket/../x", "names no object store: '../x' is not a name of an object"),
        ("s3://bucket?endpint=x", "has the unknown setting endpint: known are endpoint, region"),
        ("s3://[", "is not a URL"),
        ("s3://key:secret@bucket/a", "has credentials .*: set them in the environment"),
    ],
)
def test_wrong_url_is_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        open_object_store(url)
    assert "secret" not in str(caught.value)
