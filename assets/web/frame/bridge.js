// Messages between a page's script and this browser outside the views: news, projector mode, the link, and the session.

import { store, stored } from "../base/storage.js";
import { read } from "../link/link.js";

const VISIT = "headlight-visit"; // storage key of the session, whose name is never in the address
const KEPT = 2 * 3600 * 1000; // ms since its last use, as on the server (headlight/jobs/workspace.py)
const NAME = /^[\w-]{22}$/;

/** The number of the news requested last. */
let request = "";

/** Request a rerun, once for each number of news that the server announces (pages/frame/canvas.py, rerun_when).
 * @param {{data: {number: string}, setTriggerValue: (name: string, value: string) => void}} component
 */
export function news({ data, setTriggerValue }) {
  if (!data.number || data.number === request) return;
  request = data.number;
  setTriggerValue("request", data.number);
}

/** Make a component that reports a value to a page's script, now and at each event.
 * @template Value @param {string} name @param {string} event @param {() => Value} current
 * @returns {(component: {data: [Value], setStateValue: (name: string, value: Value) => void}) => () => void} data: the value that the script has
 */
const reporter = (name, event, current) => {
  return ({ data: [known], setStateValue }) => {
    const tell = () => current() !== known && setStateValue(name, current());
    tell();
    addEventListener(event, tell);
    return () => removeEventListener(event, tell);
  };
};

/** Whether the projector is on: charts then have larger letters. */
const isLarge = () => document.documentElement.classList.contains("projector");
export const projected = reporter("large", "headlight-projector", isLarge);

/** The query of the link, which what a script draws below a view follows. */
export const link = reporter("link", "headlight-address", () => `?${read()}`);

/** The stored session, unless it has expired; removes an unusable one. @param {string} expired */
function storedVisit(expired) {
  const { name, at } = stored("localStorage", VISIT) ?? {};
  if (NAME.test(name) && Math.abs(Date.now() - at) < KEPT && name !== expired) return name;
  store("localStorage", VISIT, null);
  return "";
}

/** Store the session in this browser, so that a reloaded page finds the models trained in it. `name`: the current
 * session; `gone`: a session from this browser that no longer exists.
 * @param {{data: {name: string, gone: string}, setTriggerValue: (name: string, value: string) => void}} component
 */
export function visit({ data, setTriggerValue }) {
  const name = data.name ? "" : storedVisit(data.gone);
  if (data.name) store("localStorage", VISIT, { name: data.name, at: Date.now() });
  if (name) setTriggerValue("known", name);
}
