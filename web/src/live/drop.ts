import { announce, element } from "../dom";
import type { Feed } from "./feed";
import { readingPanel, type Reading } from "./reading";

interface Answer extends Partial<Reading> {
  added?: number;
  known?: number;
  error?: string;
  hint?: string;
}

/** Sends the file; with `explain` nothing is stored. Throws what the server answers to a file it cannot read. */
async function send(file: File, explain: boolean): Promise<Answer> {
  const answer = await fetch(`/api/import?${explain ? "explain=1&" : ""}name=${encodeURIComponent(file.name)}`, {
    method: "POST",
    headers: { "X-Lockstep": "1", "Content-Type": "application/octet-stream" },
    body: file,
  });
  const said = (await answer.json()) as Answer;
  if (!answer.ok) throw new Error(`${said.error ?? answer.statusText}${said.hint ? ` (${said.hint})` : ""}`);
  return said;
}

/** Logs and tables of other tools, dropped anywhere on the page or chosen from the disk. Each file is shown as it was
 *  understood; only what the reader of the page then stores is in the store. */
export function dropPanel(feed: Feed): HTMLElement {
  const status = element("p", { class: "status", role: "status", id: "import-status" });
  const choose = element("input", { type: "file", multiple: true, id: "import-file", "aria-label": "Files to import" });
  const box = element(
    "div",
    { class: "drop", id: "drop" },
    element("span", {}, "Drop logs, traces or tables here to import them, or choose files: "),
    choose,
    status,
  );
  const readings = element("div", { id: "readings" });
  const lines: string[] = [];
  const report = (line: string): void => {
    lines.push(line);
    status.textContent = lines.join("; ");
    announce(line);
  };
  const store = async (file: File): Promise<void> => {
    try {
      const said = await send(file, false);
      const known = said.known ? `, ${said.known} already imported` : "";
      report(`${file.name}: ${said.added ?? 0} run${said.added === 1 ? "" : "s"} added${known}`);
    } catch (problem) {
      report(`${file.name}: ${(problem as Error).message}`);
    }
    await feed.fetchAll();
  };
  const take = async (files: Iterable<File>): Promise<void> => {
    lines.length = 0;
    for (const file of files) {
      status.textContent = [...lines, `Reading ${file.name}`].join("; ");
      try {
        const { summary = "", lines: rows = [], hidden = 0 } = await send(file, true);
        readings.append(
          readingPanel(file.name, { summary, lines: rows, hidden }, () => store(file), () => report(`${file.name}: discarded`)),
        );
        report(`${file.name}: read, not stored yet`);
      } catch (problem) {
        report(`${file.name}: ${(problem as Error).message}`);
      }
    }
  };
  choose.addEventListener("change", () => void take([...(choose.files ?? [])]));
  const over = (event: DragEvent, inside: boolean): void => {
    event.preventDefault();
    box.classList.toggle("over", inside);
  };
  document.addEventListener("dragover", (event) => over(event, true));
  document.addEventListener("dragleave", (event) => over(event, false));
  document.addEventListener("drop", (event) => {
    over(event, false);
    void take([...(event.dataTransfer?.files ?? [])]);
  });
  return element(
    "section",
    { id: "import", class: "panel view", tabindex: "-1" },
    element("h2", {}, "Import"),
    box,
    readings,
  );
}
