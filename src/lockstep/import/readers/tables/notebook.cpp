#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/import/model/stated_facts.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/readers/tables/frame_runs.h"
#include "lockstep/import/readers/tables/printed_output.h"
#include "lockstep/import/reported_figures.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kLargestNotebook = 256 * 1024 * 1024;

/// What one cell printed.
struct CellOutput {
  std::size_t cell = 0;         ///< from 0, of all cells
  std::int64_t execution = -1;  ///< the number of its prompt; -1 = not stored
  std::string text;
  bool command = false;  ///< the first line is the command that the cell ran
};

/// Text in a notebook is one string or a list of pieces of it.
void append_text(const nlohmann::json& value, std::string& text) {
  if (value.is_string()) {
    text += value.get_ref<const std::string&>();
  } else if (value.is_array()) {
    for (const nlohmann::json& piece : value) {
      if (piece.is_string()) text += piece.get_ref<const std::string&>();
    }
  }
}

/// The rows of the tables in `html`, one line each, their cells apart by bars: how the Trainer of
/// Hugging Face and fastai show their epochs.
std::string table_lines(std::string_view html) {
  std::string lines;
  while (true) {
    const std::size_t open = html.find('<');
    if (open == std::string_view::npos) return lines;
    html.remove_prefix(open + 1);
    const bool cell = html.starts_with("th>") || html.starts_with("td>") ||
                      html.starts_with("th ") || html.starts_with("td ");
    if (html.starts_with("/tr") || html.starts_with("/table")) lines += '\n';
    if (!cell) continue;
    const std::size_t close = html.find('>');
    if (close == std::string_view::npos) return lines;
    html.remove_prefix(close + 1);
    if (!lines.empty() && lines.back() != '\n') lines += " | ";
    lines += trim(html.substr(0, html.find('<')));
  }
}

/// Streams, plain results and tables. Errors are not output of a run, pictures no text.
std::string output_text(const nlohmann::json& outputs) {
  std::string text;
  for (const nlohmann::json& output : outputs) {
    if (!output.is_object()) continue;
    if (output.contains("text")) {
      append_text(output["text"], text);
    } else if (output.contains("data") && output["data"].is_object() &&
               output["data"].contains("text/plain")) {
      std::string plain;
      append_text(output["data"]["text/plain"], plain);
      if (plain == "<IPython.core.display.HTML object>" && output["data"].contains("text/html")) {
        std::string html;
        append_text(output["data"]["text/html"], html);
        plain = table_lines(html);
      }
      text += plain;
      if (!text.empty() && text.back() != '\n') text += '\n';
    }
  }
  return text;
}

/// "!torchrun --nproc_per_node=2 train.py": the command that a cell ran, which states workers and
/// batch as a job script does. Empty where the cell ran none or several.
std::string command_of(const nlohmann::json& cell) {
  const auto source = cell.find("source");
  if (source == cell.end()) return {};
  std::string text;
  append_text(*source, text);
  const bool shell = trim(text).starts_with("%%bash") || trim(text).starts_with("%%sh");
  std::string command;
  std::string joined;
  for_each_line(text, [&](std::string_view line) {
    line = trim(line);
    joined += line;
    if (line.ends_with('\\')) {  // it goes on in the next line
      joined.back() = ' ';
      return;
    }
    std::string_view whole = joined;
    const bool runs = shell || whole.starts_with('!') || whole.starts_with("%run ");
    whole = whole.substr(0, whole.find(" #"));
    if (runs && !whole.starts_with('#') &&
        contains_any<"python", "torchrun", "mpirun", "horovodrun", "deepspeed ", "accelerate ",
                     "srun ", "%run ">(whole))
      command = command.empty() ? std::string(whole) : " ";
    joined.clear();
  });
  return command == " " ? std::string() : command;
}

std::vector<CellOutput> outputs_of(const nlohmann::json& notebook) {
  std::vector<CellOutput> outputs;
  if (!notebook.contains("cells") || !notebook["cells"].is_array()) return outputs;
  std::size_t number = 0;
  std::int64_t last = -1;
  for (const nlohmann::json& cell : notebook["cells"]) {
    CellOutput found{number++, last, {}, false};  // without a count it ran where it stands
    if (!cell.is_object() || !cell.contains("outputs") || !cell["outputs"].is_array()) continue;
    const auto count = cell.find("execution_count");
    if (count != cell.end() && count->is_number_integer())
      found.execution = count->get<std::int64_t>();
    last = found.execution;
    found.text = output_text(cell["outputs"]);
    if (trim(found.text).empty()) continue;
    if (const std::string command = command_of(cell); !command.empty()) {
      found.text = command + "\n" + found.text;
      found.command = true;
    }
    outputs.push_back(std::move(found));
  }
  std::stable_sort(outputs.begin(), outputs.end(), [](const CellOutput& a, const CellOutput& b) {
    return a.execution < b.execution;
  });
  return outputs;
}

/// "Number of devices: 2", "World size: 4": the workers that a cell printed for those below it.
/// Not "Number of GPUs: 2", which may be those of the machine.
std::set<std::int64_t> workers_stated(std::string_view text) {
  std::set<std::int64_t> counts;
  std::vector<StatedFact> facts;
  for_each_line(text, [&](std::string_view line) {
    facts.clear();
    find_facts(line, facts);
    for (const StatedFact& fact : facts) {
      const bool devices =
          fact.key == FactKey::kDevices && contains(lower(line), "number of devices");
      if (fact.key == FactKey::kWorldSize || devices) counts.insert(fact.number);
    }
  });
  return counts;
}

/// Reads what the cells of a Jupyter notebook printed, cell by cell, with the readers of text.
class NotebookReader final : public Reader {
 public:
  explicit NotebookReader(const std::vector<std::unique_ptr<Reader>>& readers)
      : readers_(readers) {}

  std::string_view name() const override { return "notebook"; }
  std::string_view description() const override {
    return "Jupyter notebooks (.ipynb): the output of their cells, in the order they ran";
  }
  Match recognise(const Sample& sample) const override {
    const std::string_view text = trim(sample.text);
    const bool cells = contains(text, "\"cell_type\"") || contains(text, "\"cells\"");
    return text.starts_with('{') && cells && contains(text, "\"source\"") ? Match::kCertain
                                                                          : Match::kNo;
  }
  void read(Input& input, ImportSink& sink) const override;

 private:
  void read_cell(const CellOutput& cell, const std::string& name, ImportSink& sink) const;

  const std::vector<std::unique_ptr<Reader>>& readers_;
};

void NotebookReader::read_cell(const CellOutput& cell, const std::string& name,
                               ImportSink& sink) const {
  ImportSink found;
  if (sink.explains()) found.want_explanation();
  const Reader* chosen = read_printed(cell.text, name, readers_, Match::kLikely, found);
  const auto keep = [&](ImportedRun run, std::string_view format) {
    if (!run.has_figures()) return;
    run.notes["cell"] = std::to_string(cell.cell);
    if (cell.command) run.notes["command"] = "read with the output of its cell";
    run.notes["cell_format"] = std::string(format);
    sink.add(std::move(run));
  };
  const auto tell = [&](const std::vector<ExplainedLine>& lines, std::size_t first) {
    for (const ExplainedLine& line : lines)
      sink.explain(line.number, line.text, first + line.part,
                   fmt::format("cell {}: {}", cell.cell, line.words));
  };
  const std::size_t first = sink.runs().size();
  if (chosen != nullptr) {
    if (sink.explains())
      tell(
          found.explained().empty() ? explain_by_value(cell.text, found.runs()) : found.explained(),
          first);
    for (ImportedRun& run : found.runs()) keep(std::move(run), chosen->name());
  }
  std::vector<ImportedRun> runs = runs_of_frames(find_frames(cell.text), find_histories(cell.text));
  leave_out_repeats(sink.runs(), runs);
  if (sink.explains()) tell(explain_by_value(cell.text, runs), sink.runs().size());
  for (ImportedRun& run : runs) keep(std::move(run), "frame");
}

void NotebookReader::read(Input& input, ImportSink& sink) const {
  const std::string_view text = input.peek(kLargestNotebook);
  const nlohmann::json notebook = nlohmann::json::parse(text, nullptr, false);
  if (notebook.is_discarded() || !notebook.is_object()) {
    throw Error(ErrorKind::kData,
                fmt::format("{} is not a complete notebook: its JSON is truncated or damaged",
                            input.name()),
                "save it again in Jupyter");
  }
  std::set<std::int64_t> workers;
  std::vector<std::size_t> below;  ///< runs below a cell that states their workers
  for (const CellOutput& cell : outputs_of(notebook)) {
    const std::size_t first = sink.runs().size();
    read_cell(cell, input.name(), sink);
    for (std::size_t i = first; i < sink.runs().size() && !workers.empty(); ++i) below.push_back(i);
    workers.merge(workers_stated(cell.text));
  }
  for (const std::size_t i : below) {
    if (workers.size() == 1 && !sink.runs()[i].workers)
      sink.runs()[i].workers.offer(*workers.begin());
  }
  std::size_t number = 0;
  for (ImportedRun& run : sink.runs()) run.label = number++ == 0 ? "" : fmt::format("#{}", number);
  if (sink.runs().empty())
    sink.warn(fmt::format("{}: no cell printed figures of a run", input.name()));
}

}  // namespace

std::unique_ptr<Reader> make_notebook_reader(const std::vector<std::unique_ptr<Reader>>& readers) {
  return std::make_unique<NotebookReader>(readers);
}

}  // namespace lockstep::import
