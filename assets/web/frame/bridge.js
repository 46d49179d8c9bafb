// What a page's script and this browser tell each other beside the picture: what is new, whether it is projected, and the visit.

import { store, stored } from "../base/storage.js";

const VISIT = "headlight-visit"; // where its name is kept, which is never in the address
const KEPT = 2 * 3600 * 1000; // ms after the last word of it, as long as the server keeps it (headlight/jobs/workspace.py)
const NAME = /^[\w-]{22}$/;

/** The number of news that was asked for last. */
let request = "";

/** Ask for what has changed, once for each number that the server says is new (pages/frame/canvas.py, rerun_when).
 * @param {{data: {number: string}, setTriggerValue: (name: string, value: string) => void}} component
 */
export function news({ data, setTriggerValue }) {
  if (!data.number || data.number === request) return;
  request = data.number;
  setTriggerValue("asked", data.number);
}

/** Report to a page's script whether the projector is on: charts have larger letters then.
 * @param {{data: [boolean], setStateValue: (name: string, value: boolean) => void}} component data: what the script knows
 */
export function projected({ data: [known], setStateValue }) {
  const tell = () => {
    const large = document.documentElement.classList.contains("projector");
    if (large !== known) setStateValue("large", large);
  };
  tell();
  addEventListener("headlight-projector", tell);
  return () => removeEventListener("headlight-projector", tell);
}

/** The name that is kept here, is not old and not `gone`; what is of no use goes. @param {string} expired */
function storedVisit(expired) {
  const { name, at } = stored("localStorage", VISIT) ?? {};
  if (NAME.test(name) && Math.abs(Date.now() - at) < KEPT && name !== expired) return name;
  store("localStorage", VISIT, null);
  return "";
}

/** Keep the name of the visit in this browser, so that a page that is loaded anew finds what was trained in it.
 * `name`: of this session's visit; `gone`: what this browser said and no visit is called any more.
 * @param {{data: {name: string, gone: string}, setTriggerValue: (name: string, value: string) => void}} component
 */
export function visit({ data, setTriggerValue }) {
  const name = data.name ? "" : storedVisit(data.gone);
  if (data.name) store("localStorage", VISIT, { name: data.name, at: Date.now() });
  if (name) setTriggerValue("known", name);
}
