// Where the drawings of flow and channels have their parts, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { orderOf, runningSums } from "../../../assets/web/explore/channels_view.js";
import * as flows from "../../../assets/web/explore/flow_view.js";

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

test("channels in order and sorted, and the sum so far", () => {
  const products = Float32Array.of(1, -4, 2, 0.5);
  assert.deepEqual(orderOf(products, false), [0, 1, 2, 3]);
  assert.deepEqual(orderOf(products, true), [2, 0, 3, 1]);
  assert.deepEqual(runningSums(products, [2, 0, 3, 1]), [2, 3, 3.5, -0.5]);
  assert.deepEqual(runningSums(products, [0, 1, 2, 3]).at(-1), -0.5);
});
