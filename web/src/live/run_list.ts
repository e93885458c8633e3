import { element, replace } from "../dom";
import type { Cell, Table } from "../document";
import { digits } from "../format";
import { sortableTable, type TableState } from "../page/table";
import type { Feed } from "./feed";
import type { Run } from "./run";

const COLUMNS: Table["columns"] = [
  { key: "id", header: "run", unit: "", align: "right", definition: "" },
  { key: "state", header: "state", unit: "", align: "left", definition: "" },
  { key: "started", header: "started", unit: "", align: "left", definition: "" },
  { key: "study", header: "study", unit: "", align: "left", definition: "" },
  { key: "recipe", header: "recipe", unit: "", align: "left", definition: "" },
  { key: "data", header: "data", unit: "", align: "left", definition: "" },
  { key: "workers", header: "N", unit: "", align: "right", definition: "workers, one device each" },
  { key: "batch_per_worker", header: "b", unit: "", align: "right", definition: "batch per worker" },
  { key: "global_batch", header: "B", unit: "", align: "right", definition: "global batch" },
  { key: "strategy", header: "strategy", unit: "", align: "left", definition: "" },
  { key: "epochs", header: "epochs", unit: "", align: "right", definition: "finished" },
  { key: "examples_per_s", header: "examples/s", unit: "", align: "right", definition: "of all workers" },
  { key: "val_accuracy", header: "val accuracy", unit: "", align: "right", definition: "of the last epoch" },
  { key: "total_s", header: "total", unit: "s", align: "right", definition: "" },
];

function number(value: number | null | undefined, text?: string): Cell {
  return value === null || value === undefined ? null : [text ?? digits(value), value];
}

/** Logs and tables of other tools lack some facts: they have 0 there. */
function known(value: number): Cell {
  return value > 0 ? number(value) : null;
}

function row(run: Run): Cell[] {
  return [
    number(run.id, String(run.id)), run.state, run.started.slice(0, "2026-11-18 17:00".length) || null, run.study || null, run.recipe,
    run.synthetic ? `${run.data} (synthetic)` : run.data || null, known(run.workers), known(run.batch), known(run.global_batch),
    run.strategy || null, known(run.epochs_done),
    number(run.examples_per_s, run.examples_per_s === null ? undefined : digits(Math.round(run.examples_per_s))),
    number(run.val_accuracy), number(run.total_s),
  ];
}

function text(run: Run): string {
  return [run.id, run.state, run.study, run.recipe, run.data, `${run.workers}x${run.batch}`, run.strategy].join(" ").toLowerCase();
}

/** Redraws a list without losing focus or scroll position. */
function keepingPlace(place: HTMLElement, draw: () => void): void {
  const key = place.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset["key"] : undefined;
  const left = place.querySelector(".scroller")?.scrollLeft ?? 0;
  draw();
  const scroller = place.querySelector(".scroller");
  if (scroller) scroller.scrollLeft = left;
  if (key) place.querySelector<HTMLElement>(`[data-key="${key}"]`)?.focus({ preventScroll: true });
}

/** Every run of the store; those that are ticked can be compared. */
export function runList(feed: Feed): HTMLElement {
  const chosen = new Set<number>();
  const search = element("input", { type: "search", id: "filter", placeholder: "Filter: fashion done 2x128", "aria-label": "Filter runs" });
  const state = element("select", { id: "filter-state", "aria-label": "State" });
  for (const name of ["any state", "running", "done", "failed", "interrupted", "killed"]) state.append(element("option", {}, name));
  const compare = element("a", { class: "button", id: "compare", role: "link", "aria-disabled": "true" }, "Compare");
  const count = element("span", { class: "status" });
  const place = element("div");
  const kept: TableState = { order: null, all: false };
  const showChoice = (): void => {
    compare.textContent = chosen.size > 1 ? `Compare ${chosen.size} runs` : chosen.size === 1 ? "Show this run" : "Tick runs to compare them";
    if (chosen.size > 0) {
      compare.setAttribute("href", `/?runs=${[...chosen].join(",")}`);
      compare.removeAttribute("aria-disabled");
    } else {
      compare.removeAttribute("href");
      compare.setAttribute("aria-disabled", "true");
    }
  };
  const tick = (cells: Cell[]): Node => {
    const id = Number(cells[0]?.[1]);
    const box = element("input", { type: "checkbox", "aria-label": `Run ${id}`, "data-key": `run-${id}` });
    box.checked = chosen.has(id);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(id);
      else chosen.delete(id);
      showChoice();
    });
    return box;
  };
  const show = (): void => {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word);
    const runs = [...feed.runs.values()].filter(
      (run) => (state.selectedIndex === 0 || run.state === state.value) && words.every((word) => text(run).includes(word)),
    );
    count.textContent = `${runs.length} of ${feed.runs.size}`;
    const table: Table = { title: "Runs", columns: COLUMNS, rows: runs.reverse().map(row), notes: [] };
    const nothing = feed.runs.size > 0 ? "No run matches the filter." : "This store has no runs yet.";
    keepingPlace(place, () => {
      replace(place, runs.length > 0 ? sortableTable(table, { lead: tick, state: kept }) : element("p", { class: "missing" }, nothing));
    });
    showChoice();
  };
  let drawn = 0;
  let known = -1;
  feed.onChange((changed) => {
    // A list that is being read or ticked must not jump at every step of a run.
    const grown = feed.runs.size !== known || changed.some((run) => run.state !== "running");
    if (!grown && Date.now() - drawn < 5000) return;
    drawn = Date.now();
    known = feed.runs.size;
    show();
  });
  search.addEventListener("input", show);
  state.addEventListener("change", show);
  return element(
    "section",
    { id: "runs", class: "panel view", tabindex: "-1" },
    element("h2", {}, "Runs"),
    element("div", { class: "filters" }, search, state, count, compare),
    place,
  );
}
