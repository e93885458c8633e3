#include "lockstep/import/readers/tables/table_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lockstep/import/model/stated_facts.h"
#include "lockstep/import/readers/tables/side_by_side.h"
#include "lockstep/import/readers/tables/table_cells.h"
#include "lockstep/import/readers/tables/table_columns.h"
#include "lockstep/import/readers/tables/table_counts.h"
#include "lockstep/import/readers/tables/table_epochs.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

bool has_column(const TableColumns& columns, std::initializer_list<TableRole> any) {
  return std::any_of(columns.begin(), columns.end(), [&](const TableColumn& column) {
    return std::find(any.begin(), any.end(), column.role) != any.end();
  });
}

/// What the names say, and where they say nothing, the cells: "1 GPU", "2 GPUs" under "Setup".
TableColumns columns_of_table(const TextTable& table) {
  TableColumns columns;
  const bool tokens = counts_tokens(table);
  for (const std::string& name : table.columns) {
    columns.push_back(table_column(name));
    TableColumn& column = columns.back();
    if (tokens && column.metric.metric == Metric::kThroughput && !column.unit_stated)
      column = {TableRole::kOtherFigure, {}, 1, false, true, lower(name)};
  }
  const auto counts_all = [](const TableColumn& column) { return column.name == "tokens_per_s"; };
  const bool doubtful = std::count_if(columns.begin(), columns.end(), counts_all) > 1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (doubtful && counts_all(columns[i])) columns[i].name = lower(table.columns[i]);
    if (columns[i].role == TableRole::kEpoch && is_constant(table, i)) {
      columns[i].role = TableRole::kFact;  // "Epoch": how many
      columns[i].name = "epochs";
    }
    if (columns[i].role == TableRole::kBatch && counts_up(table, i))
      columns[i].role = TableRole::kStep;  // the first batch, the second, ...
  }
  settle_lists(table, columns);  // "gpus" may list their numbers, "Node(s)" their names
  if (has_column(columns, {TableRole::kWorkers})) return columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].role != TableRole::kUnknown) continue;
    const bool counts = std::all_of(table.rows.begin(), table.rows.end(),
                                    [&](const auto& row) { return says_gpus(row.cells[i]); });
    if (counts) {
      columns[i].role = TableRole::kWorkers;
      return columns;
    }
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].role != TableRole::kUnknown) continue;
    if (std::all_of(table.rows.begin(), table.rows.end(),
                    [&](const auto& row) { return devices_named_in(row.cells[i]); })) {
      columns[i].role = TableRole::kNamedWorkers;
      break;
    }
  }
  return columns;
}

bool has_one_meaning(const TableColumn& a, const TableColumn& b) {
  return a.role == b.role && a.role != TableRole::kUnknown && a.role != TableRole::kIgnored &&
         a.role != TableRole::kFact && a.role != TableRole::kSetting &&
         a.role != TableRole::kSplit && a.role != TableRole::kOtherFigure &&
         a.metric.metric == b.metric.metric && (a.role != TableRole::kReported || a.name == b.name);
}

/// "throughput | images/s" with the same numbers: one figure under two names.
void leave_out_copies(const TextTable& table, TableColumns& columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t k = i + 1; k < columns.size(); ++k) {
      const bool copy =
          has_one_meaning(columns[i], columns[k]) &&
          std::all_of(table.rows.begin(), table.rows.end(),
                      [&](const TextTable::Row& row) { return row.cells[i] == row.cells[k]; });
      if (copy) columns[k].role = TableRole::kIgnored;
    }
  }
}

/// Of two columns with one meaning ("ResNet18 epoch time", "ResNet50 epoch time") neither is taken.
/// False where that leaves the configuration itself in doubt.
bool leave_out_doubles(TableColumns& columns) {
  std::set<std::size_t> doubles;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t k = i + 1; k < columns.size(); ++k) {
      if (!has_one_meaning(columns[i], columns[k])) continue;
      if (is_configuration(columns[i].role) || columns[i].role == TableRole::kEpoch) return false;
      doubles.insert({i, k});
    }
  }
  for (const std::size_t i : doubles) columns[i].role = TableRole::kIgnored;
  return true;
}

/// A column without a meaning distinguishes lines that are equal otherwise: they are no repeats.
void settle_unknown(const TextTable& table, TableColumns& columns) {
  std::set<std::string> seen;
  bool twice = false;
  for (const TextTable::Row& row : table.rows) {
    std::string key;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (is_configuration(columns[i].role)) key += row.cells[i] + "|";
    }
    twice = !seen.insert(key).second || twice;
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (twice && columns[i].role == TableRole::kUnknown && !is_measured(table, i))
      columns[i].role = TableRole::kSetting;
  }
}

/// What the lines between the table before and this one state about all its runs.
void offer_facts_above(const TextTable& table, ImportedRun& run) {
  std::vector<StatedFact> facts;
  for (const std::string& line : table.above) find_facts(line, facts);
  for (const StatedFact& fact : facts) {
    if (fact.key == FactKey::kBatchPerWorker && !run.batch_per_worker && !run.batch_said)
      run.batch_per_worker.offer(fact.number);
    if (fact.key == FactKey::kGlobalBatch && !run.global_batch && !run.batch_said)
      run.global_batch.offer(fact.number);
    if (fact.key == FactKey::kBatch && !run.batch_per_worker && !run.global_batch &&
        !run.batch_said)
      run.batch_said = fact.number;
    if (fact.key == FactKey::kDevices && !run.workers) run.workers.offer(fact.number);
    if (fact.key == FactKey::kDevice && !run.device) run.device.offer(fact.text);
    if (fact.key == FactKey::kModel && !run.model) run.model.offer(fact.text);
    if (fact.key == FactKey::kDataset && !run.dataset) run.dataset.offer(fact.text);
  }
}

void settle_table_batch(ImportedRun& run) {
  if (!run.batch_said || !run.workers) return;
  run.batch_said_is_open = *run.workers > 1;
  run.notes["batch"] = fmt::format("batch size {}", *run.batch_said);
}

std::vector<ImportedRun> runs_of_rows(const TextTable& table, const TableColumns& columns) {
  std::vector<ImportedRun> runs;
  for (const TextTable::Row& row : table.rows) {
    ImportedRun run;
    std::string settings;
    std::int64_t each = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      add_cell(row.cells[i], columns[i], run, settings);
      if (columns[i].role == TableRole::kWorkersPerNode)
        each = count_in_cell(row.cells[i]).value_or(0);
    }
    if (!run.workers && each > 0 && run.nodes) run.workers.offer(*run.nodes * each);
    if (!run.has_figures()) continue;
    run.steps_may_be_small = run.accumulate && *run.accumulate > 1;
    offer_facts_above(table, run);
    settle_table_batch(run);
    if (!settings.empty()) run.notes["setting"] = printable(settings);
    runs.push_back(std::move(run));
  }
  return runs;
}

void leave_workers_open(ImportedRun& run) {
  run.warnings.push_back(fmt::format(
      "the table does not state whether {} GPUs are of one of the {} nodes or of all; --set "
      "workers=N decides",
      *run.workers, *run.nodes));
  run.workers = {};
}

/// One column of times per network ("ResNet18 epoch time (s)", "ResNet50 epoch time (s)"): each
/// cell is a run.
std::vector<ImportedRun> runs_of_variants(const TextTable& table, const TableColumns& columns) {
  std::vector<std::size_t> figures;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (is_figure(columns[i])) figures.push_back(i);
    if (columns[i].role == TableRole::kEpoch || columns[i].role == TableRole::kStep) return {};
  }
  if (figures.size() < 2 || !has_column(columns, {TableRole::kWorkers, TableRole::kNamedWorkers}))
    return {};
  std::vector<std::string> variants;
  for (const std::size_t i : figures) {
    if (columns[i].role != TableRole::kMetric || !has_one_meaning(columns[i], columns[figures[0]]))
      return {};
    std::vector<std::string> others;
    for (const std::size_t k : figures) {
      if (k != i) others.push_back(table.columns[k]);
    }
    variants.push_back(variant_of(table.columns[i], others));
    if (variants.back().empty()) return {};
  }
  std::vector<std::size_t> doubles;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!is_configuration(columns[i].role)) continue;
    const bool twice = std::count_if(columns.begin(), columns.end(), [&](const TableColumn& other) {
                         return has_one_meaning(columns[i], other);
                       }) > 1;
    if (twice) doubles.push_back(i);
  }
  std::vector<ImportedRun> all;
  for (std::size_t f = 0; f < figures.size(); ++f) {
    TableColumns own = columns;
    keep_column_of_variant(table, variants[f], doubles, own);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool other = i != figures[f] && !is_configuration(own[i].role);
      if (other) own[i].role = TableRole::kIgnored;  // a speedup may be of any of them
    }
    for (ImportedRun& run : runs_of_rows(table, own)) {
      std::string& setting = run.notes["setting"];
      setting = setting.empty() ? variants[f] : variants[f] + ", " + setting;
      all.push_back(std::move(run));
    }
  }
  return all;
}

/// Lines whose figures are all 0 are of runs that did not take place.
TextTable without_empty_rows(TextTable table) {
  std::vector<std::size_t> figures;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (is_figure(table_column(table.columns[i]))) figures.push_back(i);
  }
  std::erase_if(table.rows, [&](const TextTable::Row& row) {
    return !figures.empty() && std::all_of(figures.begin(), figures.end(), [&](std::size_t i) {
      const auto number = cell_number(row.cells[i]);
      return number && number->value == 0;
    });
  });
  return table;
}

}  // namespace

std::vector<ImportedRun> runs_of_table(const TextTable& whole) {
  const TextTable trained = rows_of_training(whole);
  TextTable table = without_empty_rows(below_each_other(trained).value_or(trained));
  if (table.rows.empty()) return {};
  TableColumns columns = columns_of_table(table);
  if (table.drawn) table = with_names_repeated(std::move(table), columns);
  leave_out_copies(table, columns);
  const GpusOfNodes gpus = settle_nodes(table, columns);
  if (std::vector<ImportedRun> runs = runs_of_variants(table, columns); !runs.empty()) return runs;
  if (!leave_out_doubles(columns) || std::none_of(columns.begin(), columns.end(), is_figure))
    return {};
  if (has_column(columns, {TableRole::kStep})) return {};
  if (has_column(columns, {TableRole::kEpoch})) {
    auto run = run_of_epochs(table, columns);
    if (!run) return {};
    offer_facts_above(table, *run);
    return {std::move(*run)};
  }
  if (!has_column(columns,
                  {TableRole::kWorkers, TableRole::kNamedWorkers, TableRole::kNodes,
                   TableRole::kBatch, TableRole::kBatchPerWorker, TableRole::kGlobalBatch}))
    return {};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name.empty()) columns[i].name = lower(table.columns[i]);
  }
  settle_unknown(table, columns);
  std::vector<ImportedRun> runs = runs_of_rows(table, columns);
  if (gpus == GpusOfNodes::kEither) {
    for (ImportedRun& run : runs) {
      if (run.nodes && *run.nodes > 1) leave_workers_open(run);
    }
  }
  return runs;
}

}  // namespace lockstep::import
