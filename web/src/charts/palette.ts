/**
 * Colours that people with the common kinds of colour blindness tell apart (after Paul Tol's bright
 * and muted sets). They are CSS variables, so that a change of theme needs no new drawing. Lines
 * also differ in their symbols, so that nothing hangs on colour alone.
 */
export const COLOURS = [
  "var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)",
  "var(--c7)", "var(--c8)", "var(--c9)", "var(--c10)", "var(--c11)", "var(--c12)",
];

export const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross", "times"] as const;

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

export function symbol(at: number): (typeof SYMBOLS)[number] {
  return SYMBOLS[at % SYMBOLS.length] ?? "circle";
}

/** Names in order of first appearance. */
export function distinct(names: Iterable<string>): string[] {
  return [...new Set(names)];
}
