// What stands on the page and can be had as shapes and texts, by its element.

/** @typedef {object} Drawing
 * @property {string} [name] where nothing else on the page names it
 * @property {boolean} isThere all of it is drawn
 * @property {string} whyNoSvg why it cannot be had as shapes, in a sentence; empty where it can
 * @property {() => SVGElement} svg it, as it was drawn last
 */

/** @type {WeakMap<Element, Drawing>} */
export const drawings = new WeakMap();
