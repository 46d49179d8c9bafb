// The scripts that are built of assets/web: the app's own, and those that mha_core puts into an HTML file and a widget.
// `make scripts` writes them; `--check` tells whether they are what the sources give now.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";
import wabt from "wabt";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const WEB = join(ROOT, "assets/web");
const APART = /^(standalone|compute|site)\/|^frame\/boot\.js$/; // what no page of the app imports

const isCheck = process.argv.includes("--check");
let stale = 0;

/** Write a built file, or tell that it is not what the sources give now. @param {string} file @param {string} text */
function put(file, text) {
  if (!isCheck) writeFileSync(join(ROOT, file), text);
  else if (readFileSync(join(ROOT, file), "utf8") !== text) {
    console.error(`${file} is not what assets/web gives: make scripts`);
    stale = 1;
  }
}

/** A kernel in WebAssembly, as base64. @param {string} source @param {{simd: boolean, relaxed_simd: boolean}} features */
async function compiled(source, features) {
  const module = (await wabt()).parseWat("product.wat", source, features);
  module.validate(features);
  return Buffer.from(module.toBinary({}).buffer).toString("base64");
}

const PRODUCT = readFileSync(join(WEB, "compute/product.wat"), "utf8");
const SUM = /\(f32x4\.add \(f32x4\.mul (\(local\.get \$\w+\)) (\(local\.get \$\w+\))\) (\(local\.get \$\w+\))\)/g;
const plain = await compiled(PRODUCT, { simd: true, relaxed_simd: false });
const relaxed = await compiled(PRODUCT.replace(SUM, "(f32x4.relaxed_madd $1 $2 $3)"), {
  simd: true,
  relaxed_simd: true,
});
const KERNELS = `export const PLAIN =\n  "${plain}";\nexport const RELAXED =\n  "${relaxed}";\n`;
put("assets/web/compute/kernel.js", `// Built by \`make scripts\` from product.wat.\n\n${KERNELS}`);

const sources = readdirSync(WEB, { recursive: true, withFileTypes: false })
  .map((name) => String(name).replaceAll("\\", "/"))
  .filter((name) => /\/.*\.(js|css)$/.test(name))
  .sort();
const modules = sources.filter((name) => name.endsWith(".js") && !APART.test(name));
const digest = createHash("sha256");
for (const name of sources) digest.update(`${name}\0`).update(readFileSync(join(WEB, name)));

/** `import css from "./x.css" with { type: "css" }` as a sheet that is made when the module runs. */
const sheets = {
  name: "sheets",
  setup(/** @type {import("esbuild").PluginBuild} */ building) {
    building.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      const text = JSON.stringify(code.trim());
      return { contents: `const sheet = new CSSStyleSheet();\nsheet.replaceSync(${text});\nexport default sheet;` };
    });
  },
};

/** The modules of the app, for a script beside it: they are in the app's own script. */
const beside = {
  name: "beside",
  setup(/** @type {import("esbuild").PluginBuild} */ building) {
    building.onResolve({ filter: /\.js$/ }, ({ path, resolveDir }) => {
      const name = relative(WEB, join(resolveDir, path)).replaceAll("\\", "/");
      return modules.includes(name) ? { path: name, namespace: "app" } : undefined;
    });
    building.onLoad({ filter: /./, namespace: "app" }, ({ path }) => ({ contents: `module.exports = open("${path}");` }));
  },
};

// Each module runs when it is first asked for, so what a page does not show is not run.
const listed = modules.map((name) => `"${name}": () => require("./${name}")`).join(",\n");
const APP = `const modules = {${listed}};
const opened = {};
export const open = (name) => (opened[name] ??= modules[name]());
open("frame/first.js").begin(open);`;
const SITE = 'import { begin } from "./site/site.js";\nbegin(open);';
const SCRIPTS = {
  "assets/app.js": APP,
  "assets/site.js": SITE,
  "mha_core/show/standalone.js": 'export { open } from "./standalone/standalone.js";',
  "mha_core/show/live.js": 'export { open } from "./standalone/live.js";',
  "mha_core/show/widget.js": 'import { render } from "./standalone/widget.js";\nexport default { render };',
};
const BANNERS = {
  "assets/app.js": 'const ADDRESS=new URL("base/dom.js",import.meta.url).href;',
  "assets/site.js": 'import{open}from"./app.js";',
};

for (const [file, contents] of Object.entries(SCRIPTS)) {
  const ofApp = contents === APP;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: WEB },
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "none",
    charset: "utf8",
    write: false,
    plugins: contents === SITE ? [beside, sheets] : [sheets],
    // base/dom.js finds the app's files beside its own address; a file without a server has none
    define: ofApp ? { "import.meta.url": "ADDRESS" } : {},
    banner: { js: BANNERS[file] ?? "" },
  });
  const text = `// Built by \`make scripts\` from assets/web, sha256 ${digest.copy().digest("hex")}\n${outputFiles[0].text}`;
  put(file, text);
}
process.exitCode = stale;
