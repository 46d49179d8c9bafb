// JSON values in sessionStorage or localStorage. A browser may refuse both, so every failure means "not stored".

/** @typedef {"localStorage" | "sessionStorage"} Where */

/** Read a value; null if there is none or if it is not JSON. @param {Where} area @param {string} key @returns {any} */
export function stored(area, key) {
  try {
    return JSON.parse(globalThis[area].getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** @param {Where} area @param {string} key @param {unknown} value null removes it */
export function store(area, key, value) {
  try {
    if (value === null) globalThis[area].removeItem(key);
    else globalThis[area].setItem(key, JSON.stringify(value));
  } catch {
    // storage is disabled or full
  }
}
