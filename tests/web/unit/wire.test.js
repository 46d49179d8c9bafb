// The wire: which answer is taken when several are under way.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiClient } from "../../../assets/web/wire/api_client.js";

test("an answer that a newer one has overtaken is not taken", async () => {
  const answers = /** @type {((bytes: number) => void)[]} */ ([]);
  globalThis.fetch = () =>
    new Promise((done) => answers.push((byte) => done(new Response(Uint8Array.of(byte), { status: 200 }))));
  const taken = /** @type {[number, string][]} */ ([]);
  const wire = new ApiClient({ take: ([byte], question) => taken.push([byte, question]), refuse: assert.fail });
  const arrives = async (/** @type {number} */ at) => {
    answers[at](at);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  };
  for (const s of ["a", "b", "b", "c", "d"]) wire.ask("maps", new URLSearchParams({ s }), "");
  assert.equal(answers.length, 4, "what was asked last is not asked again");
  await arrives(2); // the one before the newest comes first, and is shown meanwhile
  await arrives(0); // nobody waits for it any more
  await arrives(3);
  for (const s of ["e", "f"]) wire.ask("maps", new URLSearchParams({ s }), "");
  await arrives(5);
  await arrives(4);
  assert.deepEqual(taken, [
    [2, "maps?s=c"],
    [3, "maps?s=d"],
    [5, "maps?s=f"],
  ]);
  wire.stop();
});

test("what is too long to be sent is refused with a sentence, and by the name of what is long", () => {
  const said = /** @type {string[]} */ ([]);
  const wire = new ApiClient({ take: assert.fail, refuse: (...why) => said.push(why.join(" ")) });
  wire.ask("maps", new URLSearchParams({ at: "1.1", s: "ж".repeat(11_000) }), "");
  assert.deepEqual(said, ["This is too long to send. At most 60,000 bytes are allowed; shorten it. s 0"]);
});
