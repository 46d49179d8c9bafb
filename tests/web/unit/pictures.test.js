// What a view makes of the bytes that come: layers of a long text, other maps, file names, colours, spellings.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Progress } from "../../../assets/web/explore/progress.js";
import { fileNameOf } from "../../../assets/web/link/changes.js";
import { level, standingOut } from "../../../assets/web/base/colour.js";
import { nextMoved } from "../../../assets/web/picture/next_bars.js";
import { mapsOf, pooled, specials, unpack } from "../../../assets/web/wire/packets.js";
import { gave, short, shortSigned, story } from "../../../assets/web/base/words.js";

/** A message as the server packs it. @param {object} header @param {...Uint8Array} bodies */
function packed(header, ...bodies) {
  let text = JSON.stringify(header);
  text += " ".repeat((4 - (text.length % 4)) % 4);
  const length = new Uint8Array(new Uint32Array([text.length]).buffer);
  const all = [length, new TextEncoder().encode(text), ...bodies];
  return Uint8Array.from(all.flatMap((one) => [...one]));
}

const TOKENS = ["[CLS]", "a", "b"];
const MAPS = { digest: "x", tokens: TOKENS, ends: [1, 0], layers: 1, heads: 2, fullLayers: [0], thumbnail: 0 };
const CELLS = Uint8Array.of(9, 1, 2, 3, 9, 1, 2, 3, 9, 0, 0, 0, 7, 0, 0, 1, 8, 5);

test("the layers of a long text one after another", () => {
  const way = Object.assign(Object.create(Progress.prototype), { digest: "", run: "" });
  const of = (/** @type {string} */ text) => new URLSearchParams(text);
  const come = (first, done, digest = "x") => {
    const header = { ...MAPS, digest, layers: 3, fullLayers: [], thumbnail: 2, first, done };
    const body = Uint8Array.from({ length: 8 * (done - first) }, (_, at) => 10 * first + at);
    return way.take(packed(header, body), of("s=a&at=1.0&part=1"));
  };
  assert.ok(!come(0, 1).isHere(1));
  assert.equal(way.run, "s=a", "wherever in it is looked");
  const two = come(1, 2);
  assert.deepEqual([two.isHere(1), two.isHere(2)], [true, false]);
  assert.deepEqual([...two.map(0, 1).bytes, ...two.map(1, 0).bytes], [4, 5, 6, 7, 10, 11, 12, 13]);
  assert.equal(way.done, 2);
  way.isStopped = true;
  come(0, 1, "another");
  assert.ok(!way.isStopped, "it was another text that was stopped");
  come(1, 3, "another");
  assert.equal(way.run, "", "all are here");
  way.comes(1, 3, of("s=a"));
  assert.equal(way.run, "s=a", "the server had to make room for others");
  way.take(packed(MAPS, CELLS), of("s=short"));
  assert.equal(way.run, "");
});

test("maps of tokens that look at others", () => {
  const header = { ...MAPS, columns: ["x", "y"] };
  const cells = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
  const maps = mapsOf(unpack(packed(header, cells)));
  assert.deepEqual([maps.n, maps.keys], [3, ["x", "y"]]);
  assert.deepEqual([...maps.map(0, 1).bytes], [7, 8, 9, 10, 11, 12]);
  assert.deepEqual([...maps.row({ layer: 0, head: 1, row: 2 })], [11, 12]);
  const hidden = { nospecials: true, nofirst: true };
  assert.deepEqual(specials(maps, hidden), [0, 0], "the model’s own tokens stand at one side alone");
  const wide = pooled({ size: 3, bytes: Uint8Array.from({ length: 12 }, (_, at) => at) }, 2);
  assert.deepEqual([wide.size, ...wide.bytes], [2, 5, 7, 9, 11]);
});

test("spellings", () => {
  const [, key, value] = story(["it"], 0, Float32Array.of(0.25, 0.75), ["it", "no word"]);
  assert.equal(key, "what each word offers. None matches this query well.");
  assert.equal(value, "what is passed on, with a total weight of 0.25 on the words.");
  assert.equal(short(0.004), "");
  assert.deepEqual([-0.6, 0.6, -1, 0.004].map(shortSigned), ["−.60", "+.60", "−1", ""]);
});

test("a change in words", () => {
  assert.equal(gave("it", "animal", 0.6397, 0.04), "Attention from “it” to “animal” fell from 0.64 to 0.04.");
  assert.equal(gave("cross", "t", 0.9999, 0.0009), "Attention from “cross” to “t” fell from 1.00 to <0.01.");
  assert.equal(gave("it", "Drive", 0.5, 0.5), "Attention from “it” to “Drive” is still 0.50.");
  assert.equal(gave("it", "a", 1, 0, true), "Attention from “it” to “a” is 1.00 on the left and 0.00 on the right.");
  assert.equal(gave("it", "a", 0.1, 0.1, true), "Attention from “it” to “a” is 0.10 on both sides.");
  const next = [
    { label: "Road", chance: 0.4, baseline: 0.06 },
    { label: "Drive", chance: 0.3, baseline: 0.84 },
  ];
  assert.equal(nextMoved(next), "The most likely next word is now “Road”: 0.40 (before: “Drive”, 0.84).");
  assert.equal(nextMoved(next.slice(1)), "The most likely next word is still “Drive”: 0.30 (before: 0.84).");
  assert.equal(nextMoved([{ ...next[0], baseline: null }]) + nextMoved([]), "");
});

test("a file is named after what it shows", () => {
  const named = (title, link) => fileNameOf("explore", title, new URLSearchParams(link));
  assert.equal(named("“it” attends most to “animal”: 0.64", "pos=none"), "it-animal-no-positions");
  assert.equal(named("“[CLS]” attends most to “'”: 0.99", "mask=causal&off=L3+H1"), "cls-causal-mask-l3-h1-off");
  const parts = "off=L0+H1&off=L3+MLP&off=L2&off=L4";
  assert.equal(named("The mean", parts), "headlight-explore-l0-h1-l3-mlp-2-layers-off");
  const changed = "t=2&off=L0+H1&off=L0+H2&pos=rotary";
  assert.equal(named("The mean", changed), "headlight-explore-rotary-positions-temperature-2-2-heads-off");
  assert.equal(named("“../../etc” “日本語” “<b>”", ""), "etc-日本語-b");
  assert.ok(named(`“${"a".repeat(999)}”`, "").length <= 60);
});

test("with strong contrast whatever is more than 0 stands out from the ground by 3 : 1", () => {
  const light = ([r, g, b]) =>
    [r, g, b]
      .map((part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  for (const end of [0, 255]) {
    const usual = Array.from({ length: 256 }, (_, at) => /** @type {any} */ (Array(3).fill(end ? 255 - at : at)));
    const [ground, ...others] = standingOut(usual).map(light);
    for (const one of others) {
      const [low, high] = [one, ground].sort((a, b) => a - b);
      assert.ok((high + 0.05) / (low + 0.05) >= 3);
    }
    assert.deepEqual(
      others,
      [...others].sort((a, b) => (end ? b - a : a - b)),
      "still the larger, the farther",
    );
    assert.equal(others.at(-1), light(usual[255]));
  }
});

test("how far up the ramp a weight lies: by its root, by itself, or by the largest of its map", () => {
  const laws = { root: [0, Math.sqrt(0.2), Math.sqrt(0.4), 1], linear: [0, 0.2, 0.4, 1], own: [0, 0.5, 1, 2.5] };
  for (const [law, wanted] of Object.entries(laws))
    [0, 51, 102, 255].forEach((byte, at) => assert.equal(level(byte, law, 102), wanted[at], `${law} ${byte}`));
  assert.equal(level(0, "own", 0), 0, "a map of nothing");
});
