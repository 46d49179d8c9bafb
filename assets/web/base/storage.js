// What the browser keeps for us, as JSON: in this tab, or until it is taken away. One may keep nothing.

/** @typedef {"localStorage" | "sessionStorage"} Where */

/** Null where there is nothing, or what is somebody else's. @param {Where} where @param {string} key @returns {any} */
export function stored(where, key) {
  try {
    return JSON.parse(globalThis[where].getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** @param {Where} where @param {string} key @param {unknown} value null takes it away */
export function store(where, key, value) {
  try {
    if (value === null) globalThis[where].removeItem(key);
    else globalThis[where].setItem(key, JSON.stringify(value));
  } catch {
    // the browser keeps nothing
  }
}
