/** What a browser keeps for a page or a tab, of texts by their keys. @param {Map<string, string>} items */
export const storageOf = (items) => ({
  getItem: (/** @type {string} */ key) => items.get(key) ?? null,
  setItem: (/** @type {string} */ key, /** @type {string} */ value) => items.set(key, value),
  removeItem: (/** @type {string} */ key) => items.delete(key),
});
