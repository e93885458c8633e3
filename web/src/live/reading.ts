import { element } from "../dom";

/** A file as it was understood: what `lockstep import --explain` prints. */
export interface Reading {
  summary: string;
  lines: { line: number; part: number; words: string; text: string }[];
  hidden: number;
}

const RUN_COLOURS = 6;

/** The file's summary and its lines beside their meaning, with the decision to store it or not. Removes itself then. */
export function readingPanel(
  name: string,
  reading: Reading,
  store: () => Promise<void>,
  discard: () => void,
): HTMLElement {
  const rows = reading.lines.map((line) =>
    element(
      "tr",
      {},
      element("td", {}, String(line.line)),
      element("td", { class: `part${line.part % RUN_COLOURS}` }, line.words),
      element("td", {}, line.text),
    ),
  );
  const table = element(
    "div",
    { class: "lines", tabindex: "0", role: "region", "aria-label": `Lines of ${name}` },
    element(
      "table",
      {},
      element(
        "thead",
        {},
        element("tr", {}, element("th", {}, "line"), element("th", {}, "meaning"), element("th", {}, "text")),
      ),
      element("tbody", {}, ...rows),
    ),
  );
  const keep = element("button", { type: "button", class: "button store" }, "Store these runs");
  const drop = element("button", { type: "button", class: "button discard" }, "Discard");
  const panel = element(
    "article",
    { class: "reading", "aria-label": `How ${name} was read` },
    element("h3", {}, `${name}: is this right?`),
    element("pre", {}, reading.summary),
    rows.length > 0 && table,
    reading.hidden > 0 && element("p", { class: "status" }, `${reading.hidden} more lines were read.`),
    element("p", { class: "decide" }, keep, " ", drop),
  );
  keep.addEventListener("click", () => {
    keep.disabled = drop.disabled = true;
    void store().finally(() => panel.remove());
  });
  drop.addEventListener("click", () => {
    panel.remove();
    discard();
  });
  return panel;
}
