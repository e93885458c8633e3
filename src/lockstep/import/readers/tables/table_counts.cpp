#include "lockstep/import/readers/tables/table_counts.h"

#include <algorithm>

#include "lockstep/import/readers/tables/table_cells.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// The line right above a table and the heading that it stands under, from the table upwards.
std::vector<std::string> lines_about(const TextTable& table) {
  std::vector<std::string> lines;
  for (auto line = table.above.rbegin(); line != table.above.rend(); ++line) {
    const bool heading = line->starts_with('#');
    if (heading || lines.empty()) lines.push_back(lower(*line));
    if (heading) break;
  }
  return lines;
}

/// "Projected speedup" or "## Performance expectations" above it: nobody ran these lines.
bool has_projections(const TextTable& table) {
  if (!words_of_projection(table).empty()) return true;
  std::string names;
  bool derived = false;
  for (const std::string& column : table.columns) {
    const std::string name = lower(column);
    derived =
        derived || (contains_any<"speedup", "speed-up", "efficiency">(name) && is_projection(name));
    names += name + " ";
  }
  return derived && is_projection(names);
}

/// "8 GPUs (proj)", "16 (estimated)".
bool is_projected_row(const TextTable::Row& row) {
  return std::any_of(row.cells.begin(), row.cells.end(), [](const std::string& cell) {
    const std::string text = lower(cell);
    return contains_any<"(proj", "(est", "(pred", "(theor", "(expected", "(extrapol">(text);
  });
}

/// "Inference of the trained network" is about both; "pre-training inference" is about inference.
bool speaks_of_training(std::string_view words) {
  for (std::size_t at = words.find("train"); at != std::string_view::npos;
       at = words.find("train", at + 1)) {
    const std::string_view before = words.substr(0, at);
    if (!before.ends_with("pre") && !before.ends_with("pre-") && !before.ends_with("pre "))
      return true;
  }
  return false;
}

/// "Latency 90%", "p99 latency (ms)", or a heading that says so: no training.
bool shows_inference(const TextTable& table) {
  for (const std::string& words : lines_about(table)) {
    if (contains_any<"inference", "serving">(words) && !speaks_of_training(words)) return true;
  }
  bool quantiles = false;
  std::string names;
  for (const std::string& column : table.columns) {
    const std::string name = lower(column);
    quantiles = quantiles || (contains(name, "latency") &&
                              contains_any<"0%", "5%", "9%", "p50", "p90", "p95", "p99">(name));
    names += name + " ";
  }
  // Training has steps and epochs; what has a latency alone answers requests.
  return quantiles || (contains(names, "latency") &&
                       !contains_any<"epoch", "train", "loss", "step", "iter", "speedup">(names));
}

/// "message_size_mb | time_ms | busbw": a benchmark of the link, whose lines are no training.
bool shows_collectives(const TextTable& table) {
  std::string names;
  for (const std::string& column : table.columns) names += lower(column) + " ";
  std::replace(names.begin(), names.end(), '_', ' ');
  return contains_any<"message size", "msg size", "busbw", "algbw", "bus bandwidth">(names) &&
         !contains_any<"epoch", "loss", "throughput", "sampl", "image", "tok", "step">(names);
}

/// What stands in a cell for "as above".
bool repeats_the_line_above(const std::string& cell) {
  return cell.empty() || cell == "\"" || cell == "''" || cell == "\u3003" || cell == "\u2033";
}

}  // namespace

bool is_projection(std::string_view words) {
  return contains_any<"project", "predict", "estimat", "theoretical", "expect", "extrapolat">(
             words) &&
         !contains_any<"measured", "actual", "observed", "unexpect">(words);
}

std::string words_of_projection(const TextTable& table) {
  for (const std::string& words : lines_about(table)) {
    if (is_projection(words))
      return printable(trim(words.substr(words.find_first_not_of("# "))), 60);
  }
  return {};
}

TextTable with_names_repeated(TextTable table, const TableColumns& columns) {
  for (std::size_t k = 1; k < table.rows.size(); ++k) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const TableRole role = columns[i].role;
      const bool names = is_configuration(role) || role == TableRole::kUnknown;
      std::string& cell = table.rows[k].cells[i];
      if (!names || !repeats_the_line_above(cell)) break;
      cell = table.rows[k - 1].cells[i];
    }
  }
  return table;
}

TextTable rows_of_training(TextTable table) {
  if (has_projections(table) || shows_inference(table) || shows_collectives(table)) {
    table.rows.clear();
  } else {
    std::erase_if(table.rows, is_projected_row);
  }
  return table;
}

void keep_column_of_variant(const TextTable& table, const std::string& variant,
                            const std::vector<std::size_t>& doubles, TableColumns& columns) {
  const std::string words = lower(variant);
  const auto is_of_it = [&](std::size_t i) { return contains(lower(table.columns[i]), words); };
  const bool one = std::count_if(doubles.begin(), doubles.end(), is_of_it) == 1;
  for (const std::size_t i : doubles) {
    if (!one || !is_of_it(i)) columns[i].role = TableRole::kIgnored;
  }
}

bool counts_tokens(const TextTable& table) {
  std::string text;
  for (const std::string& line : table.above) text += lower(line) + "\n";
  for (const std::string& column : table.columns) text += lower(column) + "\n";
  return contains_any<"tokens per sec", "tokens/s", "tok/s", "words per sec", "words/s",
                      "tokens_per_s">(text);
}

bool is_constant(const TextTable& table, std::size_t column) {
  return table.rows.size() > 1 &&
         std::all_of(table.rows.begin(), table.rows.end(), [&](const TextTable::Row& row) {
           return row.cells[column] == table.rows.front().cells[column];
         });
}

bool counts_up(const TextTable& table, std::size_t column) {
  std::optional<double> last;
  for (const TextTable::Row& row : table.rows) {
    const auto number = cell_number(row.cells[column]);
    if (!number || (last && number->value != *last + 1)) return false;
    last = number->value;
  }
  return table.rows.size() > 2;
}

void settle_lists(const TextTable& table, TableColumns& columns) {
  const auto lists = [&](std::size_t i) {
    return std::any_of(table.rows.begin(), table.rows.end(), [&](const TextTable::Row& row) {
      return row.cells[i] == "0" || row.cells[i].starts_with("0,");
    });
  };
  const auto named = [&](std::size_t i) {
    return std::none_of(table.rows.begin(), table.rows.end(), [&](const TextTable::Row& row) {
      return count_in_cell(row.cells[i]) && !contains(row.cells[i], ",");
    });
  };
  const auto counts = [&](std::size_t i) {
    return columns[i].role == TableRole::kWorkers && !named(i) && !lists(i);
  };
  bool counted = false;
  for (std::size_t i = 0; i < columns.size(); ++i) counted = counted || counts(i);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool workers = columns[i].role == TableRole::kWorkers;
    if ((!workers && columns[i].role != TableRole::kNodes) || counts(i)) continue;
    if (workers && lists(i) && counted) {
      columns[i].role = TableRole::kIgnored;
    } else if ((workers && lists(i)) || named(i)) {
      columns[i].role = TableRole::kSetting;
    }
  }
}

bool is_measured(const TextTable& table, std::size_t column) {
  const std::string name = lower(table.columns[column]);
  if (contains_any<"usage", "peak", "util", "vram", "mfu", "power", "overhead">(name)) return true;
  std::size_t measured = 0;
  std::size_t filled = 0;
  for (const TextTable::Row& row : table.rows) {
    const std::string& cell = row.cells[column];
    if (cell.empty()) continue;
    ++filled;
    const std::size_t first = cell.find_first_of("123456789");
    if (!cell_number(cell) || first == std::string::npos || !contains(cell, ".")) continue;
    if (std::count_if(cell.begin() + static_cast<std::ptrdiff_t>(first), cell.end(), is_digit) > 3)
      ++measured;
  }
  return measured > 0 && 2 * measured > filled;
}

GpusOfNodes settle_nodes(const TextTable& table, TableColumns& columns) {
  TableColumn* workers = nullptr;
  std::size_t workers_at = 0;
  std::size_t nodes_at = 0;
  int counted = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].role == TableRole::kNodes) {
      nodes_at = i;
      ++counted;
    }
    if (columns[i].role != TableRole::kWorkers) continue;
    workers = &columns[i];
    workers_at = i;
  }
  if (workers == nullptr || counted != 1) return GpusOfNodes::kAll;
  bool fewer = false;
  bool several = false;
  for (const TextTable::Row& row : table.rows) {
    const auto all = count_in_cell(row.cells[workers_at]);
    const auto nodes = count_in_cell(row.cells[nodes_at]);
    if (!all || !nodes) continue;
    fewer = fewer || *all < *nodes;
    several = several || *nodes > 1;
  }
  if (fewer) workers->role = TableRole::kWorkersPerNode;  // a node has at least one
  if (fewer) return GpusOfNodes::kEach;
  return several && is_constant(table, workers_at) && !is_constant(table, nodes_at)
             ? GpusOfNodes::kEither
             : GpusOfNodes::kAll;
}

std::string variant_of(std::string_view name, const std::vector<std::string>& others) {
  std::string variant;
  std::string all;
  for (const std::string& other : others) all += " " + lower(other) + " ";
  std::replace_if(
      all.begin(), all.end(), [](char c) { return c == '_' || c == '(' || c == ')'; }, ' ');
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  while (!text.empty()) {
    const std::size_t stop = text.find(' ');
    const std::string word = text.substr(0, stop);
    text = stop == std::string::npos ? std::string() : text.substr(stop + 1);
    if (word.empty() || contains(all, " " + lower(word) + " ") || word.front() == '(') continue;
    variant += (variant.empty() ? "" : " ") + word;
  }
  const std::string plain = lower(variant);
  for (const std::string_view no_variant :
       {"mean", "avg", "average", "median", "train", "training", "total", "last", "final", "std",
        "wall", "measured", "real", "cpu", "gpu"}) {
    if (contains(plain, no_variant)) return {};
  }
  const bool letters = std::any_of(variant.begin(), variant.end(), is_letter);
  return letters ? printable(variant, 60) : std::string();
}

}  // namespace lockstep::import
