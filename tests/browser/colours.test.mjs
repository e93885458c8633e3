// The colours of web/src/style.css: legible, and apart for colour-blind eyes. Needs no browser.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const css = readFileSync(join(process.env.WEB, "src/style.css"), "utf8");
const themes = [...css.matchAll(/\{[^{}]*--paper:[^{}]*\}/g)].map(([block]) =>
  Object.fromEntries([...block.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value])));
const LINES = [1, 2, 3, 4, 5, 6, 7, 8].map((at) => `c${at}`);
const PHASES = ["input", "copy", "forward", "backward", "wait", "transfer", "optimizer", "other"].map((name) => `p-${name}`);

const linear = (hex) => [1, 3, 5].map((at) => {
  const part = parseInt(hex.slice(at, at + 2), 16) / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
});
const luminance = (hex) => linear(hex).reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
/** Of WCAG 2. */
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};

/** What eyes without one kind of cones see (Machado, Oliveira and Fernandes 2009, severity 1). */
const EYES = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
/** CIE L*a*b* of a colour as these eyes see it. */
function lab(hex, eyes) {
  const source = linear(hex);
  const [r, g, b] = eyes.map((row) => Math.min(1, Math.max(0, row.reduce((sum, part, at) => sum + part * source[at], 0))));
  const [x, y, z] = [
    (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
  ].map((part) => (part > 0.008856 ? Math.cbrt(part) : 7.787 * part + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function closest(theme, names) {
  let found = { apart: Infinity };
  for (const [kind, eyes] of Object.entries(EYES)) {
    names.forEach((a, at) => {
      for (const b of names.slice(at + 1)) {
        const [p, q] = [lab(theme[a], eyes), lab(theme[b], eyes)];
        const apart = Math.hypot(...p.map((part, i) => part - q[i]));
        if (apart < found.apart) found = { apart, kind, a, b };
      }
    });
  }
  return found;
}

test("there is a light and a dark theme, the dark one twice", () => {
  assert.equal(themes.length, 3);
  assert.deepEqual(themes[1], themes[2]);
});

for (const [name, theme] of [["light", themes[0]], ["dark", themes[1]]]) {
  test(`${name}: text is legible on every background`, () => {
    for (const ink of ["ink", "ink-2", "ink-3", "accent", "warn", "good", "bad"]) {
      for (const paper of ["paper", "panel"]) assert.ok(contrast(theme[ink], theme[paper]) >= 4.5, `${ink} on ${paper}`);
    }
  });
  test(`${name}: lines and phases stand out from the background`, () => {
    for (const colour of [...LINES, ...PHASES]) assert.ok(contrast(theme[colour], theme.panel) >= 2.95, colour);
  });
  test(`${name}: colour-blind eyes tell lines and phases apart`, () => {
    // 2.3 is just noticeable beside each other; a legend needs several times that.
    for (const names of [LINES, PHASES]) {
      const found = closest(theme, names);
      assert.ok(found.apart > 12, JSON.stringify(found));
    }
  });
}
