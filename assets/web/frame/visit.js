// Keeps the name of the visit in this browser, so that a page that is loaded anew finds what was trained in it
// (pages/kit/jobs/visit.py). The name is never in the address.

import { keep, kept } from "../base/kept.js";

const KEY = "headlight-visit";
const KEPT = 2 * 3600 * 1000; // ms after the last word of it, as long as the server keeps it
const NAME = /^[\w-]{22}$/;

/** The name that is kept here, is not old and not `gone`; what is of no use goes. @param {string} gone */
function known(gone) {
  const { name, at } = kept("localStorage", KEY) ?? {};
  if (NAME.test(name) && Math.abs(Date.now() - at) < KEPT && name !== gone) return name;
  keep("localStorage", KEY, null);
  return "";
}

/** `name`: of this session's visit; `gone`: what this browser said and no visit is called any more.
 * @param {{data: {name: string, gone: string}, setTriggerValue: (name: string, value: string) => void}} component
 */
export function visit({ data, setTriggerValue }) {
  const name = data.name ? "" : known(data.gone);
  if (data.name) keep("localStorage", KEY, { name: data.name, at: Date.now() });
  if (name) setTriggerValue("known", name);
}
