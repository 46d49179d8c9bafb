// The order of what the search box finds.

import assert from "node:assert/strict";
import { test } from "node:test";

import { hasOneTypo, search } from "../../../assets/web/frame/search_rank.js";

const entry = (title, also = [], text = "") => ({ title, also, text, page: "", link: "", target: "" });
const GROUPS = [
  {
    name: "Terms",
    carries: true,
    entries: [
      entry("causal", ["look-ahead mask"], "no later key"),
      entry("mask", ["attn_mask"]),
      entry("fused attention", ["SDPA", "FlashAttention"]),
      entry("Türme", [], "accents"),
      entry("score", [], "their product divided by √d"),
    ],
  },
  { name: "Pages", carries: true, entries: [entry("Masks", [], "Who may look at whom?")] },
];
const found = (query) => search(GROUPS, query).map(({ group, entries }) => [group.name, ...entries.map((one) => one.title)]);

test("the exact title is first, its group too, then synonyms and beginnings", () => {
  assert.deepEqual(found("mask"), [["Terms", "mask", "causal"], ["Pages", "Masks"]]);
});

test("synonyms, case, punctuation, accents and several words in any order", () => {
  assert.deepEqual(found("sdpa"), [["Terms", "fused attention"]]);
  assert.deepEqual(found("flash"), [["Terms", "fused attention"]]);
  assert.deepEqual(found("attn mask"), [["Terms", "mask"]]);
  assert.deepEqual(found("turme"), [["Terms", "Türme"]]);
  assert.deepEqual(found("key causal"), [["Terms", "causal"]]);
});

test("plurals, the words around a question and √ written as sqrt", () => {
  assert.deepEqual(found("masks")[0], ["Terms", "mask", "causal"]);
  assert.deepEqual(found("what is fused attention"), [["Terms", "fused attention"]]);
  assert.deepEqual(found("why sqrt d"), [["Terms", "score"]]);
  assert.deepEqual(found("who"), [["Pages", "Masks"]]);
});

test("one typo is forgiven where nothing fits as typed", () => {
  assert.deepEqual(found("attnetion"), [["Terms", "fused attention"]]);
  for (const typed of ["casual", "causl", "causall", "cousal"]) assert.ok(hasOneTypo(typed, "causal"), typed);
  for (const typed of ["cau", "cosual", "mask"]) assert.ok(!hasOneTypo(typed, "causal"), typed);
});

test("nothing typed and nothing known find nothing", () => {
  for (const query of ["", " / ", "xyzzy", "mask xyzzy"]) assert.deepEqual(found(query), []);
});
