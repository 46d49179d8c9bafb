// The words of the field in a text: which pieces are marked, and with what.

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = { createElement: () => ({ append() {}, getAttribute: () => null, setAttribute() {} }) };
globalThis.addEventListener = () => {};

const { piecesOf } = await import("../../../assets/web/base/terms.js");

const marked = (text, used = new Set()) =>
  piecesOf(text, used).flatMap((piece) => (piece[1] ? [piece.join(": ")] : []));
const joined = (text) => piecesOf(text, new Set()).reduce((all, [piece]) => all + piece, "");

test("the pieces are the text", () => {
  for (const text of ["", "head", "Two heads, one mask.", "What a query looks for", "<b>head</b>\n head"])
    assert.equal(joined(text), text);
});

test("the first use is marked, and no later one, in no later text either", () => {
  const used = new Set();
  assert.deepEqual(marked("A head, then another head and a mask.", used), ["head: head", "mask: mask"]);
  assert.deepEqual(marked("Masks and heads, and a key.", used), ["key: key"]);
});

test("plurals and capitals are the word, a part of another word is not", () => {
  assert.deepEqual(marked("Queries and Values"), ["Queries: query", "Values: value"]);
  assert.deepEqual(marked("ahead, keyboard, a tokenizer, layer-wise"), []);
});

test("the longest name is the one", () => {
  for (const name of ["language model", "bag of words"]) assert.deepEqual(marked(`a ${name}`), [`${name}: ${name}`]);
});
