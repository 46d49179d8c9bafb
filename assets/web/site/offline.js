// Keeps the site in this browser for use without a network, once the first page is drawn and the browser is idle.

import { urlOf } from "../base/dom.js";
import { facts } from "./facts.js";
import { isLarge } from "./models.js";

const idle = () => new Promise((done) => (globalThis.requestIdleCallback ?? setTimeout)(done));

export async function keepOffline() {
  try {
    await idle();
    const { serviceWorker } = navigator; // missing without HTTPS
    await serviceWorker?.register("./sw.js", { updateViaCache: "none" });
    const { active } = (await serviceWorker?.ready) ?? {};
    await idle();
    const { saveData } = /** @type {any} */ (navigator).connection ?? {};
    const small = Object.keys(facts.files).filter((name) => !isLarge(name));
    const models = small.map((name) => urlOf(facts.files[name].file).href);
    if (!saveData) active?.postMessage([...facts.answers, ...models]);
  } catch {
    // the browser stores nothing: the site needs its network then
  }
}
