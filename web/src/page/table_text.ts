import type { Cell, Table } from "../document";

function shown(cell: Cell): string {
  if (cell === null) return "";
  return typeof cell === "string" ? cell : cell[0];
}

/** The value behind a cell, unrounded where there is a number. */
function exact(cell: Cell): string {
  if (cell === null) return "";
  return typeof cell === "string" ? cell : String(cell[1]);
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** RFC 4180, with the keys of the columns as header: what `lockstep report --csv` would give. */
export function tableCsv(table: Table, rows: Cell[][]): string {
  const lines = [table.columns.map((column) => csvField(column.key)).join(",")];
  for (const row of rows) lines.push(row.map((cell) => csvField(exact(cell))).join(","));
  return `${lines.join("\n")}\n`;
}

export function tableMarkdown(table: Table, rows: Cell[][]): string {
  const escape = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("|", "\\|");
  const header = table.columns.map((column) => escape(column.unit ? `${column.header} (${column.unit})` : column.header));
  const rule = table.columns.map((column) => (column.align === "left" ? ":--" : "--:"));
  const lines = [`| ${header.join(" | ")} |`, `|${rule.join("|")}|`];
  for (const row of rows) lines.push(`| ${row.map((cell) => escape(shown(cell)) || "-").join(" | ")} |`);
  return `${lines.join("\n")}\n`;
}

/** Numbers by value, text by alphabet with its digits as numbers; unknown cells come last. */
export function compareCells(a: Cell | undefined, b: Cell | undefined): number {
  const left = a ?? null;
  const right = b ?? null;
  if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1;
  if (typeof left !== "string" && typeof right !== "string") return left[1] - right[1];
  return shown(left).localeCompare(shown(right), "en", { numeric: true });
}

export function cellText(cell: Cell): string {
  return cell === null ? "–" : shown(cell);
}
