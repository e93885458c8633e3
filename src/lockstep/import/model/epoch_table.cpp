#include "lockstep/import/model/epoch_table.h"

#include <cmath>

namespace lockstep::import {
namespace {

constexpr std::array<Metric, 5> kColumnMetrics{Metric::kTrainLoss, Metric::kTrainAccuracy,
                                               Metric::kValLoss, Metric::kValAccuracy,
                                               Metric::kLearningRate};

bool is_accuracy(std::size_t column) {
  return column == 1 || column == 3;
}

}  // namespace

EpochTable::Row* EpochTable::row(std::int64_t epoch) {
  if (epoch < 0 || epoch > kMostEpochs) return nullptr;
  const auto found = rows_.lower_bound(epoch);
  if (found != rows_.end() && found->first == epoch) return &found->second;
  if (rows_.size() >= kMostRows) return nullptr;
  return &rows_.emplace_hint(found, epoch, Row{})->second;
}

void EpochTable::set(std::int64_t epoch, const MetricName& name, double value) {
  if (!std::isfinite(value)) return;
  if (name.metric == Metric::kEpochTime || name.metric == Metric::kThroughput) {
    Row* where = row(epoch);
    if (where == nullptr || value <= 0) return;
    (name.metric == Metric::kEpochTime ? where->train_s : where->throughput) = value * name.scale;
    return;
  }
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (kColumnMetrics[i] != name.metric) continue;
    Row* where = row(epoch);
    if (where == nullptr) return;
    Cell& cell = where->cells[i];
    if (name.rank > cell.rank) return;
    cell = Cell{value, name.rank, false};
  }
}

void EpochTable::set_percent(std::int64_t epoch, const MetricName& name, double value) {
  set(epoch, name, value);
  const auto found = rows_.find(epoch);
  if (found == rows_.end()) return;
  for (std::size_t i = 0; i < kColumns; ++i) {
    Cell& cell = found->second.cells[i];
    if (kColumnMetrics[i] == name.metric && cell.value == value) cell.percent = true;
  }
}

void EpochTable::set_examples(std::int64_t epoch, std::int64_t examples) {
  if (Row* where = row(epoch)) where->examples = examples;
}

void EpochTable::set_validation_time(std::int64_t epoch, double seconds) {
  if (Row* where = row(epoch)) where->val_s = seconds;
}

std::vector<record::EpochResult> EpochTable::results() const {
  std::array<bool, kColumns> percent{};
  for (const auto& [epoch, row] : rows_) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      // 1.0000001 is a rounded fraction, not a percentage.
      if (is_accuracy(i) && !row.cells[i].percent && row.cells[i].value > 1.001) percent[i] = true;
    }
  }
  const std::int64_t shift = !rows_.empty() && rows_.begin()->first == 0 ? 1 : 0;
  std::vector<record::EpochResult> results;
  results.reserve(rows_.size());
  for (const auto& [epoch, row] : rows_) {
    const auto value = [&, &cells = row.cells](std::size_t i) {
      const Cell& cell = cells[i];
      return cell.percent || percent[i] ? cell.value / 100 : cell.value;
    };
    record::EpochResult result;
    result.epoch = static_cast<int>(epoch + shift);
    result.train_loss = value(0);
    result.train_accuracy = value(1);
    result.val_loss = value(2);
    result.val_accuracy = value(3);
    result.learning_rate = value(4);
    result.examples = row.examples;
    result.train_s = row.train_s;
    result.val_s = row.val_s;
    result.examples_per_s = row.throughput;
    if (result.examples_per_s == 0 && row.train_s > 0 && row.examples > 0) {
      result.examples_per_s = static_cast<double>(row.examples) / row.train_s;
    }
    results.push_back(result);
  }
  return results;
}

}  // namespace lockstep::import
