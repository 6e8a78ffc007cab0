import gzip
import hashlib
import json
import re

from mqgateway.engine.options.option import options_of
from mqgateway.gateway.doctor.texts import TEXTS
from mqgateway.gateway.web.files import FOLDER, PAGE, content_policy, static_files
from mqgateway.gateway.web.setting_groups import GROUPS, SETTINGS

STATIC = FOLDER


def test_all_files_are_served_and_nothing_else() -> None:
    files = static_files()
    assert files[PAGE].kind == "text/html; charset=utf-8"
    assert files["vendor/preact.js"].kind == "text/javascript; charset=utf-8"
    assert all((STATIC / name).read_bytes() == file.body for name, file in files.items())
    assert "vendor/LICENSE.preact" not in files


def test_vendor_files_match_their_manifest() -> None:
    manifest = json.loads((STATIC / "vendor" / "manifest.json").read_text())
    named = set()
    for package in manifest["packages"]:
        assert package["version"] and package["license"]
        for name, digest in package["files"].items():
            assert hashlib.sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() == digest, name
            named.add(name)
    assert named | {"manifest.json"} == {path.name for path in (STATIC / "vendor").iterdir()}


def test_pages_load_nothing_from_elsewhere_and_run_nothing_inline() -> None:
    policy = content_policy(static_files())
    assert "unsafe" not in policy and "frame-ancestors 'none'" in policy and "default-src 'self'" in policy
    page = (STATIC / PAGE).read_text()
    scripts = re.findall(r"<script([^>]*)>", page)
    assert [script for script in scripts if "src=" not in script] == [' type="importmap"']
    own = [path for path in STATIC.rglob("*") if path.is_file() and "vendor" not in path.parts]
    for path in own:
        text = path.read_text()
        assert not re.findall(r"""(?:src|href|from|import|url)\s*[=(]?\s*["'(]https?:""", text), path
        assert "eval(" not in text and "innerHTML" not in text and 'style="' not in text, path


def test_every_word_of_the_pages_is_there_in_chinese_too() -> None:
    table, _, from_broker = (STATIC / "zh.js").read_text().partition("export const BROKER")
    entry = re.compile(r'^  "((?:[^"\\]|\\.)*)": "[^"]', re.MULTILINE)
    translated = set(entry.findall(table))
    used: set[str] = set()
    for path in [*STATIC.glob("*.js"), *STATIC.glob("pages/*.js")]:
        text = path.read_text()
        used |= set(re.findall(r'\bt\("((?:[^"\\]|\\.)*)"\)', text))
    pages = re.findall(
        r'\["[a-z-]+", "([^"]+)", "(?:viewer|reader|operator|admin)"', (STATIC / "app.js").read_text()
    )
    assert len(pages) == 15
    used |= {*pages, "producer", "consumer"}
    assert used == translated
    sent = set(entry.findall(from_broker))
    units = {option.unit for option in sum(map(options_of, SETTINGS), ()) if option.unit}
    assert not sent & translated
    assert {*GROUPS, *units} <= sent | translated


def test_all_of_it_is_small() -> None:
    assert sum(len(gzip.compress(file.body)) for file in static_files().values()) < 250_000


def test_every_finding_of_the_doctor_has_a_chinese_text_with_its_values() -> None:
    table = (STATIC / "pages" / "findings.js").read_text()
    chinese = {
        check: sentences
        for check, *sentences in re.findall(r'^  "([a-z-]+)": \["(.+)", "(.+)"\],$', table, re.MULTILINE)
    }
    assert chinese.keys() == TEXTS.keys()
    for check, english in TEXTS.items():
        for mine, theirs in zip(chinese[check], english, strict=True):
            assert set(re.findall(r"{.*?}", mine)) == set(re.findall(r"{.*?}", theirs)), check
