// Keeps the name of the visit in this browser, so that a page that is loaded anew finds what was trained in it
// (pages/kit/jobs/visit.py). The name is never in the address.

const KEY = "headlight-visit";
const KEPT = 2 * 3600 * 1000; // ms after the last word of it, as long as the server keeps it
const NAME = /^[\w-]{22}$/;

/** Does something with what this browser keeps; one that keeps nothing has nothing to come back to.
 * @param {(kept: Storage) => string} act
 */
function tried(act) {
  try {
    return act(localStorage);
  } catch {
    return "";
  }
}

/** The name in what is kept, unless it is old. @param {string | null} text */
function nameIn(text) {
  try {
    const { name, at } = JSON.parse(text ?? "{}");
    return NAME.test(name) && Math.abs(Date.now() - at) < KEPT ? name : "";
  } catch {
    return ""; // somebody else's
  }
}

/** The name that is kept here and is not `gone`; what is of no use goes. @param {string} gone */
const kept = (gone) =>
  tried((storage) => {
    const name = nameIn(storage.getItem(KEY));
    if (name && name !== gone) return name;
    storage.removeItem(KEY);
    return "";
  });

/** @param {string} name */
const keep = (name) =>
  tried((storage) => {
    storage.setItem(KEY, JSON.stringify({ name, at: Date.now() }));
    return name;
  });

/** `name`: of this session's visit; `gone`: what this browser said and no visit is called any more.
 * @param {{data: {name: string, gone: string}, setTriggerValue: (name: string, value: string) => void}} component
 */
export function visit({ data, setTriggerValue }) {
  if (data.name) keep(data.name);
  else {
    const name = kept(data.gone);
    if (name) setTriggerValue("known", name);
  }
}
