"""The changes of CONTRIBUTING.md, applied to a copy of the project and tried."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.closeness import SAME_FUNCTION

ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Recipes\n")[2]
CHANGES = re.findall(r"^### (.+?)\n.*?```diff\n(.*?)```", RECIPES, re.S | re.M)

TRIED = {
    "A glossary term": """
from headlight.ui.terms import MARKED
assert "logit" in MARKED
""",
    "A head measure": """
import torch
from mha_core.heads.measures import head_measures
measures = head_measures(torch.eye(3).expand(2, 4, 3, 3), [5, 6, 7])
assert measures.values["largest"].tolist() == [[1] * 4] * 2 and measures.rows["largest"] == 3
""",
    "A mask rule": """
from mha_core import masks
assert masks.allow(masks.parse("causal & every:2"), 3, 3)[0, 0].tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 1]]
shown("", mask="every", gap="2")
""",
    "A positional encoding": """
from mha_core import load_model
weights = load_model("minilm", device="cpu").run("the cat saw the dog", position="near").weights
assert float(weights.diagonal(dim1=2, dim2=3).mean()) > .3
shown("", pos="near")
""",
    "An implementation": """
import torch
from mha_core import IMPLEMENTATIONS
new = IMPLEMENTATIONS["bare"](24, 3)
old = IMPLEMENTATIONS["fused"](24, 3).load(new.save())
x, allow = torch.randn(2, 5, 24).double(), torch.ones(5, 5).tril().bool()
for ours, theirs in zip(new.double()(x, allow=allow), old.double()(x, allow=allow)):
    assert ours.dtype == torch.float64 and (ours - theirs).norm() <= SAME_FUNCTION * theirs.norm()
shown("shapes", impl="bare")
shown("implementations")
""",
    "A kind of model": """
from headlight.registry import available, get_source
assert available()["random:minilm"] == ("Random weights", "Pretrained", "6 × 12 heads, untrained")
assert get_source("random:minilm").load("cpu").run("how are you").weights.shape == (6, 12, 5, 5)
shown("", model="random:minilm")
""",
    "A control": """
page = shown("by-hand", ex="scaled dot product", echo="true", qs="2, 3, 7")
assert "2, 3, 7" in text_of(page, "echo_sheet")
""",
    "A quantity, and a lesson that asks for it": """
from headlight.lessons.evaluate import truth
from headlight.lessons.grammar import parse
from headlight.lessons.quantities.scene import page_scene
assert truth(parse("widest[0,2] < 2"), page_scene("explore", {"s": "how are you"}))
""",
    "A data route": """
from pages.handlers import HANDLERS
assert HANDLERS["counted"](b"s=how+are+you") == b"5"
""",
    "A page": """
assert "Hello." in text_of(shown("hello"), "hello")
""",
    "A view that the browser draws": """
page = shown("hello")
assert "dots_view" in str(page.get("bidi_component"))
""",
}
OPENING = (
    f"SAME_FUNCTION = {SAME_FUNCTION}"
    + """
import sys
from pathlib import Path
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

def shown(page, **link):
    app = AppTest.from_file(str(Path("pages/frame/shell.py").resolve()), default_timeout=120)
    for key, value in link.items():
        app.query_params[key] = value
    app._page_hash = calc_hash(page) if page else ""
    app.run()
    assert not app.exception and not app.error, (app.exception, app.error)
    return app

def text_of(app, key):
    return "".join(str(one.proto) for one in app.get("bidi_component") if one.proto.id.endswith("-" + key))
"""
)


def applied(change: str, folder: Path) -> None:
    """Applies a change: `--- file`, then pieces parted by @@; their lines without a plus stand in the file already."""
    for name, body in re.findall(r"^--- (\S+)\n(.*?)(?=^--- |\Z)", change, re.S | re.M):
        file = folder / name
        for piece in re.split(r"^@@\n", body, flags=re.M):
            lines = piece.splitlines()
            before = "\n".join(line[1:] for line in lines if line[:1] in " -")
            after = "\n".join(line[1:] for line in lines if line[:1] in " +")
            if not before:
                file.parent.mkdir(exist_ok=True)
                file.write_text(after + "\n", "utf-8")
                continue
            text = file.read_text("utf-8")
            assert before in text, f"{name} has no lines\n{before}"
            file.write_text(text.replace(before, after, 1), "utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project with every change in it."""
    for part in ("mha_core", "headlight", "pages", "assets", ".streamlit"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "tutorial.ipynb", tmp_path / "docs")
    for _, change in CHANGES:
        applied(change, tmp_path)
    return tmp_path


def test_every_change_fits_the_project_is_tried_and_takes_at_most_ten_lines(project: Path) -> None:
    """Lines of code: no blank ones, imports, docstrings."""
    assert (project / "pages" / "hello" / "page.py").is_file()
    assert [name for name, _ in CHANGES] == list(TRIED)
    for name, change in CHANGES:
        added = [line[1:].strip() for line in change.splitlines() if line.startswith("+")]
        code = [line for line in added if line and not line.startswith(("from ", "import ", '"""'))]
        assert len(code) <= 10 or "view" in name, (name, code)


@pytest.mark.thorough("another process imports the changed copy of the project and opens its pages")
def test_changes_work(project: Path) -> None:
    """All in one process, which says where it is: what it imports takes longer than what it does."""
    program = OPENING + "".join(f"print({name!r})\n{code}" for name, code in TRIED.items())
    command = [sys.executable, "-B", "-c", program]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=110)
    assert not done.returncode, done.stdout + done.stderr[-3000:]
