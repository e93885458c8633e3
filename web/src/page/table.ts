import { announce, element, replace } from "../dom";
import type { Cell, Table } from "../document";
import { copyText } from "./clipboard";
import { cellText, compareCells, tableCsv, tableMarkdown } from "./table_text";

/** Longer tables show this many rows first. */
const FIRST_ROWS = 100;

/** What a reader has done to a table; kept by the code that redraws the table. */
export interface TableState {
  order: { column: number; down: boolean } | null;
  all: boolean;
}

export interface TableOptions {
  /** Extra cells at the start of each row, made from its number in the document. */
  lead?: (row: Cell[]) => Node;
  state?: TableState;
}

class SortableTable {
  private readonly state: TableState;
  private readonly body = element("tbody");
  private readonly heads: HTMLTableCellElement[] = [];
  private readonly more = element("button", { type: "button", class: "quiet", click: () => this.showAll() });

  constructor(
    private readonly table: Table,
    private readonly options: TableOptions,
  ) {
    this.state = options.state ?? { order: null, all: false };
  }

  rows(): Cell[][] {
    const order = this.state.order;
    if (!order) return this.table.rows;
    const sorted = [...this.table.rows].sort((a, b) => {
      const way = compareCells(a[order.column], b[order.column]);
      const unknown = (a[order.column] ?? null) === null || (b[order.column] ?? null) === null;
      return order.down && !unknown ? -way : way;
    });
    return sorted;
  }

  private showAll(): void {
    this.state.all = true;
    this.fill();
  }

  private sortBy(column: number): void {
    const order = this.state.order;
    const down = order?.column === column ? !order.down : false;
    this.state.order = { column, down };
    this.markHeads();
    announce(`Sorted by ${this.table.columns[column]?.header ?? ""}, ${down ? "descending" : "ascending"}`);
    this.fill();
  }

  private markHeads(): void {
    const order = this.state.order;
    this.heads.forEach((head, at) => {
      head.setAttribute("aria-sort", at !== order?.column ? "none" : order.down ? "descending" : "ascending");
    });
  }

  private fill(): void {
    const rows = this.rows();
    const shown = this.state.all ? rows : rows.slice(0, FIRST_ROWS);
    replace(this.body);
    for (const row of shown) {
      const line = element("tr");
      if (this.options.lead) line.append(element("td", { class: "lead" }, this.options.lead(row)));
      row.forEach((cell, at) => {
        const column = this.table.columns[at];
        const whole = typeof cell === "string" ? cell : cell === null || cell[0] === String(cell[1]) ? undefined : String(cell[1]);
        line.append(
          element("td", { class: column?.align === "left" ? "left" : "right", title: whole }, cellText(cell)),
        );
      });
      this.body.append(line);
    }
    this.more.hidden = shown.length === rows.length;
    this.more.textContent = `Show all ${rows.length} rows`;
  }

  make(): HTMLElement {
    const head = element("tr");
    if (this.options.lead) head.append(element("th", { scope: "col", class: "lead" }, element("span", { class: "offscreen" }, "Select")));
    this.table.columns.forEach((column, at) => {
      const label = column.unit ? `${column.header} (${column.unit})` : column.header;
      const cell = element(
        "th",
        { scope: "col", class: column.align, "aria-sort": "none", title: column.definition || undefined },
        element("button", { type: "button", "data-key": `sort-${at}`, click: () => this.sortBy(at) }, label),
      );
      this.heads.push(cell);
      head.append(cell);
    });
    this.markHeads();
    this.fill();
    const scroller = element(
      "div",
      { class: "scroller", tabindex: "0", role: "region", "aria-label": `Table: ${this.table.title}` },
      element("table", {}, element("caption", { class: "offscreen" }, this.table.title), element("thead", {}, head), this.body),
    );
    const notes = this.table.notes.map((note) => element("p", { class: "note" }, note));
    return element("div", { class: "table" }, this.buttons(), scroller, this.more, this.meanings(), ...notes);
  }

  /** What short headers stand for: a hint that shows on hovering helps no finger. */
  private meanings(): HTMLElement | null {
    const told = this.table.columns.filter((column) => column.definition);
    if (told.length === 0) return null;
    const list = element("dl", {});
    for (const column of told) list.append(element("dt", {}, column.header), element("dd", {}, column.definition));
    return element("details", { class: "meanings" }, element("summary", {}, "What the columns mean"), list);
  }

  private buttons(): HTMLElement {
    const copy = (name: string, text: () => string): HTMLElement => {
      const button = element(
        "button",
        { type: "button", class: "quiet", "data-copy": name, click: () => void copyText(text(), button) },
        `Copy ${name}`,
      );
      return button;
    };
    return element(
      "div",
      { class: "tools" },
      copy("CSV", () => tableCsv(this.table, this.rows())),
      copy("Markdown", () => tableMarkdown(this.table, this.rows())),
    );
  }
}

export function sortableTable(table: Table, options: TableOptions = {}): HTMLElement {
  return new SortableTable(table, options).make();
}

/** A table behind its title. It is made when it is opened: pages may hold many and long ones. */
export function foldedTable(table: Table, open: boolean): HTMLElement {
  const count = table.rows.length === 1 ? "1 row" : `${table.rows.length} rows`;
  const details = element(
    "details",
    { class: "folded", open },
    element("summary", {}, table.title, element("span", { class: "count" }, count)),
  );
  let made = false;
  const fill = (): void => {
    if (made || !details.open) return;
    made = true;
    details.append(sortableTable(table));
  };
  details.addEventListener("toggle", fill);
  fill();
  return details;
}
