#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lockstep/import/readers/readers.h"
#include "lockstep/import/readers/tables/frame_runs.h"
#include "lockstep/import/readers/tables/table_cells.h"
#include "lockstep/import/readers/tables/table_columns.h"
#include "lockstep/import/readers/tables/table_runs.h"
#include "lockstep/import/reported_figures.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/figure_scan.h"
#include "lockstep/import/scan/line_source.h"
#include "lockstep/import/scan/text_scan.h"
#include "lockstep/import/scan/text_table.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostTableText = 16 * 1024 * 1024;

/// "2 GPUs: 23.1 s/epoch", "4 workers - 3961 img/s": a count at the front of the line, and where
/// the line goes on.
std::optional<std::pair<std::int64_t, std::string_view>> counted_line(std::string_view line) {
  line = trim(line);
  while (line.starts_with('-') || line.starts_with('*')) line = trim(line.substr(1));
  if (line.empty() || line.size() > 200 || !is_digit(line[0])) return std::nullopt;
  const std::size_t sign = line.find_first_of(":=");
  const std::size_t dash = line.find(" - ");
  const std::size_t end = std::min(sign, dash == std::string_view::npos ? dash : dash + 1);
  if (end == std::string_view::npos) return std::nullopt;
  const auto count =
      says_gpus(line.substr(0, end)) ? count_in_cell(line.substr(0, end)) : std::nullopt;
  if (!count) return std::nullopt;
  return std::pair(*count, line.substr(end + 1));
}

/// The figures that their units alone explain; anything else on the line is left out.
ImportedRun run_of_line(std::int64_t workers, std::string_view text) {
  ImportedRun run;
  run.workers.offer(workers);
  for_each_figure(text, [&](const Figure& figure) {
    const bool rate = figure.unit.find('/') != std::string_view::npos;
    if (!rate && (figure.unit.empty() || figure.name.empty())) return;
    TableColumn column = table_column(rate ? std::string(figure.unit)
                                           : fmt::format("{} ({})", figure.name, figure.unit));
    if (column.role != TableRole::kMetric && column.role != TableRole::kStepRate) return;
    std::string settings;
    add_cell(fmt::format("{}", figure.value), column, run, settings);
  });
  return run;
}

/// Lines that each begin with another count, two or more below each other.
std::vector<ImportedRun> runs_of_lines(std::string_view text) {
  std::vector<ImportedRun> all;
  std::vector<ImportedRun> block;
  std::set<std::int64_t> counts;
  const auto close = [&] {
    if (block.size() > 1 && counts.size() == block.size() && all.empty()) all = std::move(block);
    block.clear();
    counts.clear();
  };
  while (!text.empty()) {
    const std::size_t stop = text.find('\n');
    const std::string_view line = text.substr(0, stop);
    text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
    if (trim(line).empty()) continue;
    const auto counted = counted_line(line);
    ImportedRun run = counted ? run_of_line(counted->first, counted->second) : ImportedRun();
    if (!run.has_figures()) {
      close();
      continue;
    }
    counts.insert(counted->first);
    block.push_back(std::move(run));
  }
  close();
  return all;
}

/// The line above a table tells it from the others of the text.
std::string title_of(const TextTable& table) {
  if (table.above.empty()) return {};
  std::string_view title = trim(table.above.back());
  while (title.starts_with('#') || title.starts_with('*')) title.remove_prefix(1);
  while (title.ends_with(':') || title.ends_with('*')) title.remove_suffix(1);
  return printable(trim(title), 80);
}

std::vector<ImportedRun> runs_of_tables(const std::vector<TextTable>& tables) {
  std::vector<ImportedRun> all;
  std::set<std::string> known;
  std::size_t with_runs = 0;
  for (const TextTable& table : tables) {
    std::string content;
    for (const TextTable::Row& row : table.rows)
      content += fmt::format("{}\n", fmt::join(row.cells, "|"));
    if (!known.insert(content).second) continue;  // printed again
    std::vector<ImportedRun> runs = runs_of_table(table);
    if (!runs.empty()) ++with_runs;
    for (ImportedRun& run : runs) {
      if (const std::string title = title_of(table); !title.empty()) run.notes["heading"] = title;
      all.push_back(std::move(run));
    }
  }
  if (with_runs < 2) {
    for (ImportedRun& run : all) run.notes.erase("heading");
  }
  return all;
}

/// The runs of the tables; without any, those of lines that begin with a count.
std::vector<ImportedRun> runs_of_text(std::string_view text) {
  std::vector<ImportedRun> runs = runs_of_tables(find_tables(text));
  return runs.empty() ? runs_of_lines(text) : runs;
}

/// The text with only the lines of its tables, or of those that begin with a count.
std::string lines_of_tables(std::string_view text) {
  std::set<std::uint64_t> own;
  for (const TextTable& table : find_tables(text)) {
    std::uint64_t last = table.line + table.columns.size() + 1;  // of a turned one
    for (const TextTable::Row& row : table.rows) last = std::max(last, row.line);
    for (std::uint64_t line = table.line; line <= last; ++line) own.insert(line);
  }
  std::string shown;
  std::uint64_t number = 0;
  for_each_line(text, [&](std::string_view line) {
    if (own.contains(++number) || counted_line(line)) shown += line;
    shown += '\n';
  });
  return shown;
}

/// Tables of runs that a person or a script wrote.
class TablesReader final : public Reader {
 public:
  std::string_view name() const override { return "tables"; }
  std::string_view description() const override {
    return "tables of runs or epochs in a text (GPUs | batch size | time per epoch (s) | speedup)";
  }
  Match recognise(const Sample& sample) const override {
    if (runs_of_text(sample.text).empty()) return Match::kNo;
    // Frames of pandas have lines of their own, which look like a table where they were torn.
    return runs_of_frames(find_frames(sample.text)).empty() ? Match::kLikely : Match::kNo;
  }
  void read(Input& input, ImportSink& sink) const override {
    const std::string text = without_escapes(input.peek(kMostTableText));
    std::size_t number = 0;
    for (ImportedRun& run : runs_of_text(text)) {
      if (++number > 1) run.label = "#" + std::to_string(number);
      sink.add(std::move(run));
    }
    if (!sink.explains()) return;
    for (ExplainedLine& line : explain_by_value(lines_of_tables(text), sink.runs()))
      sink.explain(line.number, line.text, line.part, std::move(line.words));
  }
};

}  // namespace

std::unique_ptr<Reader> make_tables_reader() {
  return std::make_unique<TablesReader>();
}

}  // namespace lockstep::import
