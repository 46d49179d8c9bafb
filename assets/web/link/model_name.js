// A model's name in a link: its own, and behind "~" the kind of attention that is shown of it. headlight/registry/foreign.py
// says what stands for one of this machine.

const GROUP = /~(encoder|decoder|cross|\d{1,2})$/; // of a recording its number

/** Without the kind of attention. @param {string} name */
export const baseOf = (name) => name.replace(GROUP, "");

/** Tell whether the model is one of this machine, which no list need have. @param {string} name */
export const isForeign = (name) => name.startsWith("hf:") || name.startsWith("folder:");

/** Tell whether the model is a recording, which reads no text. @param {string} name */
export const isRecording = (name) => name.startsWith("recording:");

/** The title of a model for people. @param {string} name */
export const titleOf = (name) =>
  name.startsWith("hf:")
    ? baseOf(name)
        .slice(3)
        .replace(/@[0-9a-f]+$/, "")
    : isRecording(name)
      ? "a recording"
      : "a folder of this machine";
