// Where the drawings of flow and channels have their parts, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { barOf, layOutBars, orderOf, placeAt, runningSums } from "../../../assets/web/explore/channels_view.js";
import * as flows from "../../../assets/web/explore/flow_view.js";
import { isSame } from "./close.js";

const { layOutFlow, nodeAt, spotOf } = flows;

/** @param {number} count */
const words = (count) => Array.from({ length: count }, (_, at) => `w${at}`);

test("every node of a flow is found where it is drawn", () => {
  for (const [count, layers, width] of [
    [1, 1, 343],
    [13, 6, 343],
    [13, 6, 1200],
    [512, 30, 900],
  ]) {
    const layout = layOutFlow({ tokens: words(count), layers }, { width, height: 460 });
    assert.ok(layout.width <= Math.max(width, 82 + count), "it is as wide as the room, or a pixel a token");
    const seen = new Set();
    for (let level = 0; level <= layers; level += 1)
      for (let token = 0; token < count; token += 1) {
        const [x, y] = spotOf(layout, level, token);
        assert.deepEqual(nodeAt(layout, x, y), [level, token]);
        assert.ok(x > layout.left && x < layout.width && y > 0 && y < layout.height);
        seen.add(`${x} ${y}`);
        const { left, top, width: wide, height } = flows.boxOfNode(layout, [level, token]);
        assert.ok(left < x && x < left + wide && top < y && y < top + height);
      }
    assert.equal(seen.size, count * (layers + 1));
    assert.equal(nodeAt(layout, layout.left - 1, layout.top), null);
    assert.equal(nodeAt(layout, layout.left + 1, layout.height + 99), null);
  }
});

test("the output stands above the input, and a wider line carries more", () => {
  const layout = layOutFlow({ tokens: words(4), layers: 3 }, { width: 600, height: 300 });
  assert.ok(spotOf(layout, 3, 0)[1] < spotOf(layout, 0, 0)[1]);
  assert.deepEqual([0, 3].map(flows.levelName), ["input", "layer 2"]);
  assert.equal(flows.widthOf(1), 2 * flows.widthOf(0.5));
  assert.ok(flows.widthOf(1e-9) > 0);
});

test("channels in order and sorted, and the sum so far", () => {
  const products = Float32Array.of(1, -4, 2, 0.5);
  assert.deepEqual(orderOf(products, false), [0, 1, 2, 3]);
  assert.deepEqual(orderOf(products, true), [2, 0, 3, 1]);
  assert.deepEqual(runningSums(products, [2, 0, 3, 1]), [2, 3, 3.5, -0.5]);
  assert.deepEqual(runningSums(products, [0, 1, 2, 3]).at(-1), -0.5);
});

test("what is above 0 stands above the middle, what is below under it, within its strip", () => {
  const channels = { q: Float32Array.of(1, -2, 0), k: Float32Array.of(3, 1, 1), products: Float32Array.of(3, -2, 0) };
  const within = (/** @type {number} */ a, /** @type {number} */ b) => a <= b || isSame(a, b);
  const layout = layOutBars(channels, [0, 1, 2], { width: 362, height: 300 });
  assert.equal(layout.strips.length, 4);
  for (const strip of layout.strips)
    for (const value of strip.values) {
      const [top, long] = barOf(strip, value);
      if (value > 0) assert.ok(isSame(top + long, strip.zero));
      else assert.equal(top, strip.zero);
      assert.ok(within(strip.top, top) && within(top + long, strip.top + strip.height));
    }
  const last = layout.strips.at(-1);
  assert.ok(last && within(last.top + last.height, 300));
  for (const place of [0, 1, 2]) assert.equal(placeAt(layout, layout.left + (place + 0.5) * layout.wide), place);
  assert.deepEqual([placeAt(layout, layout.left - 1), placeAt(layout, layout.width + 1)], [null, null]);
  const still = new Float32Array(2);
  const none = layOutBars({ q: still, k: still, products: still }, [0, 1], { width: 100, height: 300 });
  assert.deepEqual(barOf(none.strips[2], 0)[1], 0, "nothing is divided by 0");
});
