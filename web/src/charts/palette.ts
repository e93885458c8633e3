/**
 * Colours that people with the common kinds of colour blindness can distinguish from each other and from
 * the background; a test computes it. They are CSS variables, so that a change of theme needs no new
 * drawing. Lines also differ in their symbols, so that nothing depends on colour alone.
 */
export const COLOURS = [
  "var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)", "var(--c7)", "var(--c8)",
];

/** Symbols of points, each with the character that stands for it in a legend. */
export const SYMBOLS = [
  ["circle", "●"], ["square", "■"], ["triangle", "▲"], ["diamond", "◆"], ["star", "★"], ["hexagon", "⬢"], ["cross", "✚"], ["times", "✖"],
] as const;

/** Phases keep their colour on every chart. */
const PHASES: Record<string, string> = {
  "input": "var(--p-input)",
  "host to device": "var(--p-copy)",
  "compute": "var(--p-forward)",
  "forward": "var(--p-forward)",
  "backward": "var(--p-backward)",
  "communication": "var(--p-transfer)",
  "comm: wait": "var(--p-wait)",
  "comm: transfer": "var(--p-transfer)",
  "optimizer": "var(--p-optimizer)",
  "other": "var(--p-other)",
};

export function phaseColour(name: string, at: number): string {
  return PHASES[name] ?? colour(at);
}

export function colour(at: number): string {
  return COLOURS[at % COLOURS.length] ?? "currentColor";
}

/** Where colours begin again, symbols are one off: no two of many lines look the same. */
function symbolAt(at: number): (typeof SYMBOLS)[number] {
  return SYMBOLS[(at + Math.floor(at / COLOURS.length)) % SYMBOLS.length] ?? SYMBOLS[0];
}

export function symbol(at: number): (typeof SYMBOLS)[number][0] {
  return symbolAt(at)[0];
}

export function glyph(at: number): string {
  return symbolAt(at)[1];
}

/** Names in order of first appearance. */
export function distinct(names: Iterable<string>): string[] {
  return [...new Set(names)];
}

/** In the order of the phases of a step; what is no phase comes last. */
export function byPhase(names: string[]): string[] {
  const order = Object.keys(PHASES);
  const place = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...names].sort((a, b) => place(a) - place(b));
}
