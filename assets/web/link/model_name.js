// Model names in links: the name, and after "~" the kind of attention. headlight/registry/foreign.py names local
// models.

const GROUP = /~(encoder|decoder|cross|\d{1,2})$/; // a number: the index of a recording

/** The name without the kind of attention. @param {string} name */
export const baseOf = (name) => name.replace(GROUP, "");

/** Return whether the model is a local one, which need not be in the list. @param {string} name */
export const isForeign = (name) => name.startsWith("hf:") || name.startsWith("folder:");

/** Return whether the model is a recording, which takes no text. @param {string} name */
export const isRecording = (name) => name.startsWith("recording:");

/** Title, and size and files, of local models, by name. @type {Map<string, string[]>} */
export const descriptions = new Map();

/** The display title of a model. @param {string} name */
export const titleOf = (name) => descriptions.get(baseOf(name))?.[0] ?? plainTitle(name);

/** @param {string} name */
const plainTitle = (name) =>
  name.startsWith("hf:")
    ? baseOf(name)
        .slice(3)
        .replace(/@[0-9a-f]+/, "")
    : isRecording(name)
      ? "a recording"
      : "a folder of this machine";
