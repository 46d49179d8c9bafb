// The link: what the address says, what it has no room for, and that nothing is lost.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const heard = [];
const browser = { href: "", entries: [] };
globalThis.location = {
  get href() {
    return browser.href;
  },
  get search() {
    return new URL(browser.href).search;
  },
};
globalThis.history = {
  state: null,
  pushState(state, _, url) {
    browser.entries.push(String(url));
    this.replaceState(state, _, url);
  },
  replaceState(state, _, url) {
    this.state = state;
    browser.href = String(new URL(url, browser.href));
  },
};
globalThis.dispatchEvent = (event) => heard.push(event.type);

const { leftOut, read, write } = await import("../../../assets/web/link/link.js");
const { LONGEST_LINK } = await import("../../../assets/web/base/facts.js");

beforeEach(() => {
  Object.assign(browser, { href: "http://here/masks?s=hi&off=L1+H2&off=L0+H0", entries: [] });
  history.state = null;
  heard.length = 0;
});

test("what is written is read, and the other keys stay as they are", () => {
  write({ mask: "causal", off: ["L3 H1"], at: null });
  assert.equal(String(read()), "s=hi&mask=causal&off=L3+H1");
  write({ s: null, mask: null, off: [] });
  assert.equal(location.href, "http://here/masks");
  assert.equal(browser.entries.length, 0, "no act makes an entry of the history");
});

test("what has no room stays in the entry of the history, in the order that is said", () => {
  const long = "ж".repeat(600); // six bytes each
  write({ s: long, pin: long });
  assert.deepEqual(leftOut(), ["pin"]);
  assert.ok(location.search.length <= LONGEST_LINK + 1);
  assert.equal(read().get("pin"), long);
  assert.equal(read().get("s"), long);
  write({ s: "short" });
  assert.deepEqual(leftOut(), []);
  assert.equal(read().get("pin"), long);
});
