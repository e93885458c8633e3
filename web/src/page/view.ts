import { element } from "../dom";
import type { Chart, View } from "../document";
import { figures, type Choices } from "./figure";
import { foldedTable } from "./table";

/** Tables up to this long are open from the start. */
const SHORT_TABLE = 14;

function families(charts: Chart[]): Chart[][] {
  const groups = new Map<string, Chart[]>();
  for (const chart of charts) {
    const key = chart.family || chart.id;
    const group = groups.get(key);
    if (group) {
      group.push(chart);
    } else {
      groups.set(key, [chart]);
    }
  }
  return [...groups.values()];
}

export function isEmpty(view: View): boolean {
  return view.charts.length === 0 && view.tables.length === 0;
}

export function viewSection(view: View, choices: Choices): HTMLElement {
  const section = element(
    "section",
    { id: view.id, class: isEmpty(view) ? "view empty" : "view", "aria-labelledby": `${view.id}-heading`, tabindex: "-1" },
    element("h2", { id: `${view.id}-heading` }, element("a", { href: `#${view.id}`, class: "anchor" }, view.title)),
  );
  if (isEmpty(view)) {
    section.append(element("p", { class: "missing" }, "Nothing to show yet. ", view.missing));
    return section;
  }
  for (const charts of families(view.charts)) section.append(figures(charts, choices));
  if (view.notes.length > 0) {
    section.append(element("ul", { class: "notes" }, ...view.notes.map((note) => element("li", {}, note))));
  }
  for (const table of view.tables) section.append(foldedTable(table, table.rows.length <= SHORT_TABLE));
  return section;
}
