// Keys: what they ask of a lesson and at the words, and which belong to the browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isTyped, lettersAct, switchLetters, walked, wordOf } from "../../../assets/web/base/grid_keys.js";
import { wishOf as ofLesson } from "../../../assets/web/lessons/lesson_keys.js";
import { KEYS } from "../../../assets/web/picture/projector_bar.js";
import { storageOf } from "./storage.js";

Object.assign(globalThis, { HTMLElement: class {}, Element: class {} });

const pressed = (/** @type {string} */ key, more = {}) =>
  /** @type {any} */ ({ key, composedPath: () => [null], getModifierState: () => false, ...more });

test("no key is the bar's and a lesson's", () => {
  const letters = ["A", "B", "C", "D"];
  for (const key of KEYS) assert.equal(ofLesson(pressed(key), letters), null, key);
  for (const key of [..."abcd1234rw.?", " ", "PageDown", "Backspace"]) {
    assert.notEqual(ofLesson(pressed(key), letters), null, key);
    assert.ok(!KEYS.includes(key), key);
  }
});

test("single letters and signs are keys until they are switched off", () => {
  const items = /** @type {Map<string, string>} */ (new Map());
  Object.defineProperty(globalThis, "localStorage", { configurable: true, value: storageOf(items) });
  const keys = ["p", "N", "7", ".", "?", "é", " ", "Escape", "ArrowLeft", "PageDown"];
  const typed = () => keys.filter((key) => isTyped(pressed(key)));
  assert.deepEqual([lettersAct(), typed()], [true, []]);
  switchLetters();
  assert.deepEqual([lettersAct(), typed()], [false, ["p", "N", "7", ".", "?", "é"]]);
  assert.equal(ofLesson(pressed("n"), []), null);
  assert.notEqual(ofLesson(pressed("PageDown"), []), null);
  switchLetters();
  assert.deepEqual([lettersAct(), typed(), items.size], [true, [], 0]);
});

const TIRED = "[CLS] the animal didn ' t cross the street because it was too tired [SEP]".split(" ");

/** The place that keys lead to, one after another, as `hearWords` reads them. @param {string} keys @param {number} at */
function typedAt(keys, at) {
  let typed = "";
  for (const key of keys) {
    typed = [typed + key, key].find((text) => wordOf(text, TIRED, at) !== null) ?? "";
    at = typed ? /** @type {number} */ (wordOf(typed, TIRED, at)) : at;
  }
  return at;
}

test("every word is two keys away, so its strongest key four: Tab, Tab, and these", () => {
  const it = TIRED.indexOf("it");
  const letters = { a: 2, ti: 13, th: 1, tt: 13, ttt: 1, T: 12, s: 8, z: it, ax: 2 };
  const reached = { ...letters, "[": 14, "[c": 0, 7: 7, 12: 12, 19: 9, 99: 9 };
  for (const [keys, at] of Object.entries(reached)) assert.equal(typedAt(keys, it), at, keys);
  for (let from = 0; from < TIRED.length; from += 1)
    for (let to = 0; to < TIRED.length; to += 1) assert.equal(typedAt(String(to), from), to);
  const hundred = Array.from({ length: 100 }, (_, at) => `##w${at}`);
  for (let at = 0; at < 100; at += 1) assert.equal(wordOf(String(at), hundred, 5), at);
  assert.equal(wordOf("w9", hundred, 5), 9, "marks of a piece of a word are no letters");
});

test("arrows walk a grid, with the shift key ten cells at a time, and never out of it", () => {
  const to = (/** @type {string} */ key, shiftKey = false) => walked({ key, shiftKey }, [5, 20], [0, 30], [0, 40]);
  const reached = { ArrowRight: [5, 21], ArrowUp: [4, 20], Home: [5, 0], End: [5, 40], a: null };
  for (const [key, at] of Object.entries(reached)) assert.deepEqual(to(key), at, key);
  assert.deepEqual(to("ArrowRight", true), [5, 30]);
  assert.deepEqual(to("ArrowUp", true), [0, 20]);
});
