// Keeps the site in this browser for use without a network, once the first page is drawn and the browser is idle.

import { facts } from "./facts.js";

const idle = () => new Promise((done) => (globalThis.requestIdleCallback ?? setTimeout)(done));

export async function keepOffline() {
  try {
    await idle();
    const { serviceWorker } = navigator; // missing without HTTPS
    await serviceWorker?.register("./sw.js", { updateViaCache: "none" });
    const { active } = (await serviceWorker?.ready) ?? {};
    await idle();
    const { saveData } = /** @type {any} */ (navigator).connection ?? {};
    if (!saveData) active?.postMessage(facts.answers);
  } catch {
    // the browser stores nothing: the site needs its network then
  }
}
