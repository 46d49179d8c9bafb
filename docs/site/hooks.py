"""Pages of the site that do not stand in docs/: the top-level documents and the notebooks."""

import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.formatters import HtmlFormatter

ROOT = Path(__file__).parents[2]
TOP_LEVEL = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
NOTEBOOKS = {"tutorial.ipynb": "tutorial.md", "study/comparison.ipynb": "study/comparison.md"}
STYLES = {"light": "default", "dark": "github-dark"}  # of Pygments, by theme
MAX_OUTPUT_CHARS = 2000  # of one cell of the notebook
_LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the top-level documents and the notebooks as pages."""
    for source, name in TOP_LEVEL.items():
        files.append(File.generated(config, name, content=_from_root((ROOT / source).read_text("utf-8"))))
    for source, name in NOTEBOOKS.items():
        notebook = json.loads((ROOT / "docs" / source).read_text("utf-8"))
        files.append(File.generated(config, name, content=_markdown(notebook)))
    css = (
        HtmlFormatter(style=style).get_style_defs(f'[data-bs-theme="{theme}"] .highlight')
        for theme, style in STYLES.items()
    )
    files.append(File.generated(config, "site/code.css", content="\n".join(css)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Rewrite links to documents outside docs/ into links to their pages."""
    up = "../" * page.file.src_uri.count("/")
    for source, name in TOP_LEVEL.items():
        markdown = markdown.replace(f"]({up}../{source}", f"]({up}{name}")
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)+((?:deploy|headlight|mha_core|pages|assets)/[^)]*)\)", r"`\2`", markdown)


def _from_root(text: str) -> str:
    """Rewrite the links of a document in the root into those of a page in docs/."""

    def target(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        if path in TOP_LEVEL:
            return TOP_LEVEL[path] + anchor
        return path.removeprefix("docs/") + anchor

    return _LINK.sub(target, text)


def _markdown(notebook: dict[str, list[dict[str, object]]]) -> str:
    """Write the cells of a notebook, with their text outputs, as Markdown."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])  # type: ignore[arg-type]
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):  # type: ignore[attr-defined]
            text = "".join(output.get("text", output.get("data", {}).get("text/plain", [])))
            if text:
                parts.append(f"```text\n{text[:MAX_OUTPUT_CHARS].rstrip()}\n```")
    return "\n\n".join(parts)
