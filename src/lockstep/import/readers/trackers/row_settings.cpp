#include "lockstep/import/readers/trackers/row_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "lockstep/import/model/config_facts.h"
#include "lockstep/import/readers/tables/table_columns.h"
#include "lockstep/import/scan/csv_rows.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kSampledRows = 500;

bool counts_workers_or_batch(std::string_view name) {
  const TableRole role = table_column(name).role;
  ImportedRun scratch;
  return role == TableRole::kWorkers || role == TableRole::kNodes || role == TableRole::kBatch ||
         role == TableRole::kBatchPerWorker || role == TableRole::kGlobalBatch ||
         offer_config(name, "1", scratch);
}

bool is_text(std::string_view field) {
  const std::string word = lower(field);
  return !field.empty() && is_letter(field[0]) && word != "nan" && word != "inf" &&
         word != "none" && word != "null" && word != "na" && word != "n/a" && field.size() <= 60;
}

std::vector<std::vector<std::string>> first_rows(std::string_view sample, char delimiter) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t stop = sample.find('\n');
       stop != std::string_view::npos && rows.size() < kSampledRows; stop = sample.find('\n')) {
    sample.remove_prefix(stop + 1);
    if (sample.find('\n') == std::string_view::npos) break;  // the last may be cut
    rows.push_back(csv_header(sample, delimiter));
  }
  return rows;
}

/// "Batch" 0, 1, 2, ...: it numbers the batches of an epoch and is no size.
bool counts_on(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  std::size_t steps = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (column >= rows[i].size() || column >= rows[i - 1].size()) continue;
    const auto before = parse_integer(rows[i - 1][column]);
    const auto here = parse_integer(rows[i][column]);
    steps += before && here && *here == *before + 1 ? 1 : 0;
  }
  return rows.size() > 2 && 2 * steps > rows.size();
}

}  // namespace

RowSplit split_of_row(std::string_view field) {
  const std::string word = lower(trim(field));
  if (word == "train" || word == "training") return RowSplit::kTrain;
  if (word == "val" || word == "valid" || word == "validation" || word == "eval" || word == "dev" ||
      word == "evaluation")
    return RowSplit::kValidation;
  return word == "test" || word == "testing" ? RowSplit::kTest : RowSplit::kUnknown;
}

std::string RowSettings::key(const std::vector<std::string_view>& fields) const {
  std::string text;
  for (const std::size_t i : keys) {
    if (i < fields.size()) text += fields[i];
    text += '\n';
  }
  return text;
}

void RowSettings::offer(const std::vector<std::string>& header,
                        const std::vector<std::string>& fields, ImportedRun& run) const {
  std::string setting;
  for (const std::size_t i : keys) {
    if (i >= fields.size() || i >= header.size() || fields[i].empty()) continue;
    if (offer_config(header[i], fields[i], run)) continue;
    const auto count = parse_integer(fields[i]);
    const TableRole role = table_column(header[i]).role;
    if (count && *count > 0 && role == TableRole::kWorkers) {
      run.workers.offer(*count);
    } else if (count && *count > 0 && role == TableRole::kGlobalBatch) {
      run.global_batch.offer(*count);
    } else if (count && *count > 0 && role == TableRole::kBatchPerWorker) {
      run.batch_per_worker.offer(*count);
    } else {
      setting += fmt::format("{}{} {}", setting.empty() ? "" : ", ", header[i], fields[i]);
    }
  }
  if (!setting.empty()) run.notes["setting"] = printable(setting);
}

RowSettings find_row_settings(std::string_view sample, char delimiter,
                              const std::vector<std::string>& header) {
  RowSettings settings;
  const auto rows = first_rows(sample, delimiter);
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string name = lower(header[i]);
    if (name == "rank" || name == "global_rank") {
      settings.rank = i;
      continue;
    }
    std::size_t texts = 0;
    std::size_t splits = 0;
    std::set<std::string> values;
    for (const std::vector<std::string>& row : rows) {
      if (i >= row.size() || row[i].empty()) continue;
      values.insert(row[i]);
      texts += is_text(row[i]) ? 1 : 0;
      splits += split_of_row(row[i]) != RowSplit::kUnknown ? 1 : 0;
    }
    if (splits > 0 && splits == rows.size()) {
      settings.split = i;
    } else if ((counts_workers_or_batch(header[i]) && !(name == "batch" && counts_on(rows, i))) ||
               (texts > 0 && texts == rows.size() && 2 * values.size() <= rows.size())) {
      settings.keys.push_back(i);
    }
  }
  return settings;
}

SteadySettings::SteadySettings(const std::vector<std::string>& header) {
  constexpr std::array<std::string_view, 8> kNames{"lr",         "learning_rate", "base_lr",
                                                   "initial_lr", "momentum",      "weight_decay",
                                                   "dropout",    "gamma"};
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string name = lower(trim(header[i]));
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) columns_.push_back({i});
  }
}

void SteadySettings::row(const std::vector<double>& values) {
  for (Column& column : columns_) {
    if (column.place >= values.size() || std::isnan(values[column.place])) continue;
    const double value = values[column.place];
    column.changes = column.changes || (column.rows > 0 && value != column.value);
    column.value = value;
    ++column.rows;
  }
}

void SteadySettings::offer(const std::vector<std::string>& header, ImportedRun& run) const {
  for (const Column& column : columns_) {
    if (column.rows < 2 || column.changes) continue;
    std::string& setting = run.notes["setting"];
    setting += fmt::format("{}{} {}", setting.empty() ? "" : ", ",
                           printable(header[column.place], 40), column.value);
  }
}

}  // namespace lockstep::import
