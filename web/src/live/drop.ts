import { announce, element } from "../dom";
import type { Feed } from "./feed";

interface Answer {
  added?: number;
  known?: number;
  error?: string;
  hint?: string;
}

async function send(file: File): Promise<string> {
  const answer = await fetch(`/api/import?name=${encodeURIComponent(file.name)}`, {
    method: "POST",
    headers: { "X-Lockstep": "1", "Content-Type": "application/octet-stream" },
    body: file,
  });
  const said = (await answer.json()) as Answer;
  if (!answer.ok) return `${file.name}: ${said.error ?? answer.statusText}${said.hint ? ` (${said.hint})` : ""}`;
  const known = said.known ? `, ${said.known} already imported` : "";
  return `${file.name}: ${said.added ?? 0} run${said.added === 1 ? "" : "s"} added${known}`;
}

/** Logs and tables of other tools, dropped anywhere on the page or chosen from the disk. */
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
  const take = async (files: Iterable<File>): Promise<void> => {
    const lines: string[] = [];
    for (const file of files) {
      status.textContent = `Importing ${file.name}`;
      try {
        lines.push(await send(file));
      } catch (problem) {
        lines.push(`${file.name}: ${(problem as Error).message}`);
      }
      status.textContent = lines.join("; ");
    }
    announce(lines.join("; "));
    await feed.fetchAll();
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
  return element("section", { id: "import", class: "panel view", tabindex: "-1" }, element("h2", {}, "Import"), box);
}
