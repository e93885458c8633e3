#include "lockstep/import/readers/programs/keras_benchmark.h"

#include <cmath>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::string_view kMark = "BenchmarkMetric:";
constexpr std::size_t kLongest = 4096;

std::optional<double> first_of(std::string_view text,
                               std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) {
    if (const auto value = number_after(text, name)) return value;
  }
  return std::nullopt;
}

}  // namespace

bool KerasBenchmark::line(std::string_view text) {
  const std::size_t at = text.find(kMark);
  if (at != std::string_view::npos) {
    flush();
    pending_ = text.substr(at);
  } else if (pending_.empty()) {
    return false;
  } else if (pending_.size() + text.size() < kLongest) {
    pending_ += text;
  } else {
    pending_.clear();
    return false;
  }
  if (contains(pending_, "}")) flush();
  return true;
}

void KerasBenchmark::flush() {
  if (pending_.empty()) return;
  const auto seconds = first_of(pending_, {"'time_taken'"});
  const auto rate =
      first_of(pending_, {"'images_per_second'", "'examples_per_second'", "'examples_per_s'"});
  const auto batches = first_of(pending_, {"'num_batches'", "'global step'", "'global_step'"});
  if (seconds && rate && batches) {
    interval(*seconds, *rate, std::abs(*batches) < 1e15 ? static_cast<std::int64_t>(*batches) : 0);
  }
  if (contains(pending_, "'time_per_epoch'")) summary();
  pending_.clear();
}

void KerasBenchmark::interval(double seconds, double rate, std::int64_t batches) {
  if (!(seconds > 0) || !(rate > 0)) return;
  if (batches <= batches_) end_run();
  const auto steps = static_cast<double>(batches - batches_);
  batches_ = batches;
  run_.throughput.add(batches, rate);
  if (steps > 0) {
    run_.step_time.add(batches, seconds / steps);
    run_.notes["step_time_from"] = "time_taken / batches";
    implied_batch_ = rate * seconds / steps;
  }
}

void KerasBenchmark::summary() {
  const auto epoch_s = number_after(pending_, "'time_per_epoch'");
  const auto batch = integer_after(pending_, "'global_batch_size'");
  const auto steps = integer_after(pending_, "'steps_per_epoch'");
  const auto rate = first_of(pending_, {"'examples_per_s'", "'examples_per_second'"});
  const bool other_run = batch && implied_batch_ > 0 &&
                         std::abs(implied_batch_ / static_cast<double>(*batch) - 1) > 0.02;
  if (other_run) end_run();
  if (batch) run_.global_batch.offer(*batch);
  if (steps) run_.steps_per_epoch.offer(*steps);
  if (rate) run_.reported_throughput = *rate;
  if (epoch_s && *epoch_s > 0) run_.epoch_s = *epoch_s;
  if (run_.epoch_s && steps && *steps > 0) {
    run_.step_time.add(0, *run_.epoch_s / static_cast<double>(*steps));
    run_.notes["step_time_from"] = "time_per_epoch / steps_per_epoch";
  }
  end_run();
}

void KerasBenchmark::end_run() {
  if (!run_.throughput.empty() || run_.reported_throughput) {
    if (!run_.global_batch && implied_batch_ > 0 && implied_batch_ < 1e12) {
      run_.global_batch.offer(std::llround(implied_batch_), Provenance::kDerived);
    }
    runs_.push_back(std::move(run_));
  }
  run_ = ImportedRun();
  batches_ = 0;
  implied_batch_ = 0;
}

void KerasBenchmark::finish(std::vector<ImportedRun>& runs) {
  flush();
  end_run();
  for (ImportedRun& run : runs_) {
    run.label = runs.empty() ? "" : "#" + std::to_string(runs.size() + 1);
    runs.push_back(std::move(run));
  }
  runs_.clear();
}

}  // namespace lockstep::import
