// @ts-check
// What the script of a form page has to say to the address: which of its keys could not be used.

import { write } from "./link.js";

/** @param {{data: [import("./link.js").Values]}} component */
export default function address({ data: [values] }) {
  write(values);
}
