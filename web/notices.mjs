// The copyright notices and licences of the packages whose code is in a bundle, as their licences ask:
// each licence text once, below the copyright lines of the packages that use it.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

// "node_modules/@observablehq/plot/src/plot.js" -> "node_modules/@observablehq/plot".
function packageFolder(path) {
  const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path);
  return match?.[1];
}

async function licenceOf(folder) {
  const name = (await readdir(folder)).find((file) => /^licen[sc]e/i.test(file));
  if (!name) throw new Error(`${folder}: no licence file, so it cannot be bundled`);
  return (await readFile(join(folder, name), "utf8")).trim();
}

/** One comment for the bundle that esbuild's metafile describes. */
export async function notices(metafile) {
  const bundled = Object.values(metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs).filter(([, part]) => part.bytesInOutput > 0).map(([path]) => path));
  const folders = [...new Set(bundled.map(packageFolder).filter(Boolean))].sort();
  const users = new Map();
  for (const folder of folders) {
    const about = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const paragraphs = (await licenceOf(folder)).split(/\n\s*\n/);
    const holders = paragraphs.filter((text) => /^\s*Copyright/.test(text) || /\nCopyright/.test(text)).join("\n");
    const terms = paragraphs.filter((text) => !holders.includes(text)).join("\n\n").replace(/[ \t]+$/gm, "");
    const entry = users.get(terms) ?? [];
    entry.push(`${about.name} ${about.version} (${about.license}): ${holders.replace(/\s+/g, " ").trim()}`);
    users.set(terms, entry);
  }
  const text = [...users].map(([terms, lines]) => `${lines.join("\n")}\n\n${terms}`).join("\n\n---\n\n");
  return `/*!\nThis page contains code of these packages:\n\n${text.replaceAll("*/", "* /").replaceAll("</", "< /")}\n*/`;
}
