"""The forms for institutions say what the code does: evidence that exists, and every key that a browser stores."""

from __future__ import annotations

import re
from pathlib import Path

from mha_core.pretrained import bert, smollm2

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FORMS = ("vpat.md", "hecvat.md", "privacy.md", "model-cards.md")
SCRIPTS = {file: file.read_text("utf-8") for file in sorted((ROOT / "assets" / "web").glob("*/*.js"))}
LEVELS = ("Supports", "Partially supports", "Does not support", "Not applicable")
# WCAG 2.1 and 2.2 without what is AAA: guideline -> its criteria of level A, of level AA
CRITERIA = {
    "1.1": ("1", ""), "1.2": ("1 2 3", "4 5"), "1.3": ("1 2 3", "4 5"), "1.4": ("1 2", "3 4 5 10 11 12 13"),
    "2.1": ("1 2 4", ""), "2.2": ("1 2", ""), "2.3": ("1", ""), "2.4": ("1 2 3 4", "5 6 7 11"),
    "2.5": ("1 2 3 4", "7 8"), "3.1": ("1", "2"), "3.2": ("1 2 6", "3 4"), "3.3": ("1 2 7", "3 4 8"),
    "4.1": ("1 2", "3"),
}  # fmt: skip


def text(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def test_the_accessibility_report_has_every_criterion_with_its_level_and_evidence() -> None:
    report = text("vpat.md")
    _, first, second = re.split(r"^## Level AA?$", report, flags=re.MULTILINE)
    counts = dict.fromkeys(LEVELS, 0)
    for at, part in enumerate((first, second)):
        rows = re.findall(r"^\| (\d\.\d\.\d+) [^|]+ \| ([^|]+) \| ([^|]+) \|$", part, re.MULTILINE)
        wanted = [f"{guideline}.{number}" for guideline, levels in CRITERIA.items() for number in levels[at].split()]
        assert [number for number, _, _ in rows] == wanted
        for number, level, remark in rows:
            counts[level] += 1
            assert level == "Not applicable" or re.search(r"`tests/|access\.md", remark) or number == "4.1.1", number
    assert (
        "Of {} criteria {} are supported, {} in part, {} not, and {} do not apply.".format(
            sum(counts.values()), *counts.values()
        )
        in report
    )


def test_every_file_that_a_form_names_exists_and_what_it_is_takes_a_hundred_words() -> None:
    for form in FORMS:
        named = re.findall(r"`((?:tests|docs|assets|deploy|headlight|\.github)/[^`\s*]*)`", text(form))
        assert [name for name in named if not (ROOT / name).exists()] == [], form
    assert len(text("index.md").split("\n## What it is and is not\n")[1].split()) <= 100


def stored_keys() -> set[tuple[str, str]]:
    """Storage and key of everything that the browser's code keeps there; of a computed key its beginning."""
    keys = set[tuple[str, str]]()
    for script in SCRIPTS.values():
        names = dict(re.findall(r'const (\w+) = "([\w-]+)"', script))
        names |= dict(re.findall(r"const (\w+) = \(.*?=> `([a-zA-Z]+)-\$\{", script))
        direct = re.findall(r'\b(\w+Storage)\??\.(?:get|set|remove)Item\(\s*("[^"]+"|`[a-zA-Z]+|\w+)', script)
        by_module = re.findall(r'\bstored?\(\s*"(\w+Storage)",\s*("[^"]+"|`[a-zA-Z]+|\w+)', script)
        own = [("localStorage", key) for key in re.findall(r'\bstored\(("[^"]+")\)', script)]  # of boot.js
        for storage, key in (*direct, *by_module, *own):
            keys.add((storage, names.get(key, key.strip('"`'))))
    return {(storage, key) for storage, key in keys if key != "key"}  # a parameter, whose values boot.js reads


def test_privacy_lists_what_browsers_store() -> None:
    page = text("privacy.md")
    listed = re.findall(r"^\| `([\w-]+)`(?: …)? \| (\w+Storage) \|", page, re.MULTILINE)
    assert {(storage, key) for key, storage in listed} == stored_keys()
    cookies = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \| until the browser is closed \|$", page, re.MULTILINE)
    configuration = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
    ours = {*re.findall(r"\$cookie_(\w+)", configuration)}
    assert {*cookies} == {"_streamlit_xsrf", *ours}
    assert not [file.name for file, script in SCRIPTS.items() if re.search(r"document\.cookie|indexedDB", script)]
    python = [file for folder in ("headlight", "pages") for file in (ROOT / folder).rglob("*.py")]
    assert not [file.name for file in python if "set_cookie" in file.read_text("utf-8")]


def test_model_cards_have_the_files_that_are_loaded() -> None:
    cards = text("model-cards.md")
    folder = Path(bert.minilm()[0])
    for digest, file in ((bert.MINILM_SHA256, folder / "model.safetensors"), (smollm2.SMOLLM2_SHA256, smollm2.file())):
        assert f"`{digest}`" in cards
        assert f"{file.stat().st_size:,} bytes" in cards
