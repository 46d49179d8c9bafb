// Answers questions as the site does, for tests/pages/test_local_answers.py: cases.json of a folder in, answers.json out.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { openModel } from "../../assets/web/compute/model_file.js";
import { localResponse } from "../../assets/web/site/local_responses.js";

const folder = process.argv[2];
const { templates, questions } = JSON.parse(readFileSync(join(folder, "cases.json"), "utf8"));
/** @type {Map<string, ReturnType<typeof openModel>>} */
const opened = new Map();
const models = {
  open: async (/** @type {string} */ name) => {
    if (!opened.has(name)) opened.set(name, openModel(readFileSync(join(folder, name))));
    return /** @type {ReturnType<typeof openModel>} */ (opened.get(name));
  },
  template: async (/** @type {string} */ name) => templates[name],
};
const answers = [];
for (const [route, query] of questions) {
  try {
    const bytes = await localResponse(route, new URLSearchParams(query), models);
    answers.push(Buffer.from(bytes).toString("base64"));
  } catch (error) {
    const { message, key } = /** @type {Error & {key?: string}} */ (error);
    answers.push({ sentence: message, key });
  }
}
writeFileSync(join(folder, "answers.json"), JSON.stringify(answers));
