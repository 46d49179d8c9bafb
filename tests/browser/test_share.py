"""Share, in the bar: by keyboard, following the address, and filled by what the routes answer."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Route, expect

from headlight.ui.web import PREFIX

from .conftest import NewTab
from .plain_pages import Glossary
from .server import Server
from .tab import Tab

TOO_LONG = "The link is too long for a QR code."
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'
CLASS = "http://10.0.0.9:8501/glossary"
START = "make run ARGS=--server.address=0.0.0.0"  # as the server of the tests is started
# What the script says of the page, as a server that a class can reach would say it.
TOLD = """async ([prefix, told]) => {
  const { open } = await import(`${prefix}/app.js`);
  open("frame/share.js").drawShare(told);
}"""

WRITE = "async ([prefix, s]) => (await import(`${prefix}/app.js`)).open('link/link.js').write({ s })"


def tell(tab: Tab, *kinds: str, address: str = "") -> None:
    tab.page.evaluate(TOLD, [PREFIX, {"page": "glossary", "address": address, "kinds": list(kinds), "start": START}])


def test_share_gives_the_link_its_code_and_how_it_was_computed(new_tab: NewTab, server: Server) -> None:
    assert server.log.read_text("utf-8").startswith(f"Headlight: {server.url}/\n")
    tab = new_tab(Glossary).open(s="how are you")
    assert tab.refused("png") == "There is no image to download on this page; use Print."
    expect(tab.page.locator(".take-along [data-kind=csv]")).to_be_hidden()
    tab.keys("Escape")

    # by keyboard
    opener = tab.house.get_by_role("button", name="Share", exact=True)
    press = tab.keys
    opener.focus()
    press("Enter")
    panel = tab.share()
    expect(opener).to_have_attribute("aria-expanded", "true")
    expect(panel).to_contain_text(f"Only this computer can open the link. For a class, start Headlight with {START}")
    press("Tab")
    assert tab.focused() == "copy link"
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    press("Enter")
    expect(panel.get_by_role("button", name="copied")).to_be_visible()
    assert tab.page.evaluate("navigator.clipboard.readText()") == tab.page.url
    tab.page.context.clear_permissions()
    press("Escape")
    expect(panel).to_be_hidden()
    expect(opener).to_be_focused()
    expect(opener).to_have_attribute("aria-expanded", "false")
    press(" ")
    expect(panel).to_be_visible()
    tab.page.locator(".question").click()
    expect(panel).to_be_hidden()

    # what was left aside of a model's files is a list, which fits a phone
    left = ["config.json: auto_map names code, which is not run.", f"model.safetensors: {'x' * 80} is not read."]
    about = {"facts": [[["model", ["tiny"]], ["left aside", left]]], "code": ""}
    tab.page.route("**/api/glossary.about?*", lambda route: route.fulfill(json=about))
    tab.page.set_viewport_size({"width": 375, "height": 800})
    tell(tab, "about")
    panel = tab.share()
    panel.get_by_text("How was this computed?").click()
    expect(panel.locator("dt:has-text('left aside') ~ dd")).to_have_text(left)
    assert panel.evaluate("it => it.scrollWidth <= it.clientWidth")
    tab.page.set_viewport_size({"width": 1280, "height": 800})
    tell(tab)
    tab.keys("Escape")

    # a class gets its link, and a picture for the camera
    codes: list[str] = []

    def answer_code(route: Route) -> None:
        (to,) = parse_qs(urlsplit(route.request.url).query)["to"]
        codes.append(to)
        if "too+long" in to:
            route.fulfill(status=422, content_type="text/plain", body=TOO_LONG)
        else:
            route.fulfill(status=200, content_type="image/svg+xml", body=SVG)

    tab.page.route("**/api/qr?*", answer_code)
    tell(tab, address=CLASS)
    assert codes == [], "nothing is requested before it is opened"
    panel = tab.share()
    assert panel.locator(".link code").all_text_contents() == [f"{CLASS}?s=how+are+you", tab.page.url]
    picture = panel.get_by_role("img", name=f"QR code of {CLASS}?s=how+are+you")
    expect(picture).to_be_visible()
    for is_large in (True, False):
        picture.click()
        tab.page.wait_for_function("is => Boolean(document.fullscreenElement) === is", arg=is_large)
    tab.page.evaluate(WRITE, [PREFIX, "too long"])
    expect(panel.get_by_role("status").first).to_have_text(TOO_LONG)
    expect(panel.get_by_role("img")).to_be_hidden()
    tab.page.evaluate(WRITE, [PREFIX, "it"])
    expect(panel.get_by_role("img", name=f"QR code of {CLASS}?s=it")).to_be_visible()
    assert codes == [f"{CLASS}?s={text}" for text in ("how+are+you", "too+long", "it")]

    # what the address cannot carry
    tab.page.evaluate(WRITE, [PREFIX, "ж" * 1000])
    told = "Too long for a link: the sentence. Use a file instead."
    assert panel.locator(".link code").all_text_contents() == [told, told]
    expect(panel.get_by_role("button", name="copy link").first).to_be_disabled()
    expect(panel.get_by_role("img")).to_be_hidden()
