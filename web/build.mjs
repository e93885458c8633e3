// Bundles the page and writes it as a C++ source, so that it becomes part of the program.
// usage: node build.mjs OUTPUT.cpp
import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { notices } from "./notices.mjs";

const output = process.argv[2];
if (!output) {
  console.error("usage: node build.mjs OUTPUT.cpp");
  process.exit(2);
}

// Plot puts a style sheet into every chart, which our content security policy forbids; style.css
// has those rules. A version of Plot that does it otherwise must not pass unnoticed.
const withoutInlineStyle = {
  name: "without-inline-style",
  setup(bundle) {
    bundle.onLoad({ filter: /@observablehq[\\/]plot[\\/]src[\\/]plot\.js$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const changed = source.replace(/svg\.append\("style"\)\.text\(\s*`[^`]*`\s*\)/, "svg");
      if (changed === source) throw new Error(`${path}: the inline style sheet was not found`);
      return { contents: changed, loader: "js" };
    });
  },
};

const options = { bundle: true, absWorkingDir: new URL(".", import.meta.url).pathname, minify: true, write: false, metafile: true, legalComments: "none", logLevel: "warning" };
const here = (path) => new URL(path, import.meta.url).pathname;
const [script, style] = await Promise.all([
  build({ ...options, entryPoints: [here("src/main.ts")], target: "es2021", format: "iife", plugins: [withoutInlineStyle] }),
  build({ ...options, entryPoints: [here("src/style.css")] }),
]);

const text = (result) => result.outputFiles[0].text.trimEnd();
const hash = (content) => `sha256-${createHash("sha256").update(content).digest("base64")}`;

// The standard limits a string literal to 64 KiB; GCC takes more, but pieces compile faster.
function literal(content) {
  const bytes = Buffer.from(content);
  const pieces = [];
  for (let at = 0; at < bytes.length; at += 4096) {
    let piece = "";
    for (const byte of bytes.subarray(at, at + 4096)) {
      if (byte === 0x22 || byte === 0x5c) piece += `\\${String.fromCharCode(byte)}`;
      else if (byte === 0x3f) piece += "\\?"; // no trigraphs
      else if (byte >= 0x20 && byte < 0x7f) piece += String.fromCharCode(byte);
      else piece += `\\${byte.toString(8).padStart(3, "0")}`;
    }
    pieces.push(`    "${piece}"`);
  }
  return pieces.join("\n") || '    ""';
}

// esbuild names its inputs relative to the working directory.
process.chdir(here("."));
const assets = { script: `${await notices(script.metafile)}\n${text(script)}`, style: text(style) };
if (assets.script.includes("</script") || assets.style.includes("</style")) {
  throw new Error("the bundle holds a closing tag and cannot stand inside a page");
}
const source = `// Made by web/build.mjs from web/src; not to be edited.
#include "lockstep/report/page/assets.h"

namespace lockstep::report {
namespace {

constexpr char kScript[] =
${literal(assets.script)};
constexpr char kStyle[] =
${literal(assets.style)};

}  // namespace

std::optional<PageAssets> page_assets() {
  return PageAssets{{kScript, sizeof kScript - 1}, {kStyle, sizeof kStyle - 1}, "${hash(assets.script)}", "${hash(assets.style)}"};
}

}  // namespace lockstep::report
`;
await writeFile(`${output}.part`, source);
await rename(`${output}.part`, output);
console.log(`page: ${Math.round((assets.script.length + assets.style.length) / 1000)} kB`);
