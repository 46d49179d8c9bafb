// What the browser keeps for us, as JSON: in this tab, or until it is taken away. One may keep nothing.

/** @typedef {"localStorage" | "sessionStorage"} Where */

/** Null where there is nothing, or what is somebody else's. @param {Where} area @param {string} key @returns {any} */
export function stored(area, key) {
  try {
    return JSON.parse(globalThis[area].getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** @param {Where} area @param {string} key @param {unknown} value null takes it away */
export function store(area, key, value) {
  try {
    if (value === null) globalThis[area].removeItem(key);
    else globalThis[area].setItem(key, JSON.stringify(value));
  } catch {
    // the browser keeps nothing
  }
}
