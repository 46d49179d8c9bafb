"""What a notebook's cell shows, in a page without a server: the frame of `run.show()` and the widget."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator

import pytest
from IPython.core.formatters import HTMLFormatter
from playwright.sync_api import Browser, Page, expect

from mha_core import Run, load_model
from mha_core.show import widget

from .conftest import OPTIONS

# What anywidget gives a module: an element, and a model of the shared state that tells of changes.
SHARED_STATE = """([code, message, state]) => {
  const bytes = Uint8Array.from(atob(message), (one) => one.charCodeAt(0));
  const calls = [], shared = Object.keys(state);
  const values = { ...state, message: new DataView(bytes.buffer) };
  window.saved = [];
  const model = {
    get: (name) => values[name],
    set: (name, value) => { values[name] = value; },
    save_changes: () => window.saved.push(Object.fromEntries(shared.map((name) => [name, values[name]]))),
    on: (names, call) => calls.push(call),
    off: (names, call) => calls.splice(calls.indexOf(call), 1),
  };
  window.fromPython = (change) => { Object.assign(values, change); for (const call of calls) call(); };
  window.listening = () => calls.length;
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const el = document.body.appendChild(document.createElement("div"));
  return import(url).then(({ default: kind }) => { window.away = kind.render({ model, el }); });
}"""


@pytest.fixture(scope="module")
def run() -> Run:
    return load_model("minilm").run("The animal didn't cross the street because it was too tired")


@pytest.fixture
def cell(browser: Browser, watched: Callable[[Page, str], Page]) -> Iterator[Page]:
    """A page that is no one's, offline."""
    context = browser.new_context(**OPTIONS, offline=True)
    yield watched(context.new_page(), "")
    context.close()


def test_the_widget_and_the_frame_show_the_run_and_the_widget_follows_python(cell: Page, run: Run) -> None:
    cell.set_content("<style>h2 { color: red } .chip { display: none }</style><h2>a notebook</h2>")
    state = widget(run, layer=3, head=1, row=10).get_state()
    message = base64.b64encode(bytes(state["message"])).decode()
    shared = {name: state[name] for name in ("layer", "head", "row", "key")}
    cell.evaluate(SHARED_STATE, [state["_esm"], message, shared])
    view = cell.locator(".standalone")
    expect(view.locator("h2").first).to_contain_text("“it” attends most to “animal”: 0.64")
    expect(view.locator("h2").first).not_to_have_css("color", "rgb(255, 0, 0)")
    assert cell.locator("body").evaluate("body => getComputedStyle(body).margin") == "8px"

    view.locator(".chip").nth(2).click()
    view.get_by_role("group", name="Layer", exact=True).get_by_role("button", name="5").click()
    assert cell.evaluate("saved.at(-1)") == {"layer": 5, "head": 1, "row": 2, "key": None}

    saved = cell.evaluate("saved.length")
    cell.evaluate("fromPython({ layer: 0, head: 2, row: 3 })")
    expect(view).to_have_attribute("data-layer", "0")
    expect(view).to_have_attribute("data-head", "2")
    best = int(run.weights[0, 2, 3].argmax())
    expect(view.locator("h2").first).to_contain_text(f"“{run.tokens[3]}” attends")
    expect(view.locator("h2").first).to_contain_text(f"“{run.tokens[best]}”")
    assert cell.evaluate("saved.length") == saved
    cell.evaluate("away()")
    assert cell.evaluate("listening()") == 0

    # the frame of a changed run
    changed = load_model("minilm").run("how are you", mask="causal", heads_off=[(3, 2)])
    cell.set_content(str(HTMLFormatter()(changed.show(layer=3, height=760))))
    assert cell.locator("iframe").evaluate("frame => frame.getBoundingClientRect().height") == 760
    view = cell.frame_locator("iframe").locator(".standalone")
    expect(view.locator(".top")).to_contain_text("mask causal, 1 head off")
    expect(view.locator('[data-head="3.2"]')).to_have_attribute("aria-label", "layer 3 head 2, ablated")
    view.get_by_role("button", name="table", exact=True).click()
    expect(view.get_by_role("cell", name="blocked by the mask")).to_have_count(10)
    for weight in changed.weights[3, 0, -1].tolist():
        expect(view.get_by_role("table").first).to_contain_text(f"{weight:.4f}")
