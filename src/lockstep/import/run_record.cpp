#include "lockstep/import/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "lockstep/import/model/measurement_units.h"

namespace lockstep::import {
namespace {

int as_int(const Fact<std::int64_t>& fact) {
  if (!fact || *fact > std::numeric_limits<int>::max()) return 0;
  return static_cast<int>(*fact);
}

std::string note_of(const ImportedRun& run, const std::string& name) {
  const auto found = run.notes.find(name);
  return found == run.notes.end() ? "" : found->second;
}

/// What readers call the rate of all workers.
constexpr const char* kTokenRate = "tokens_per_s";

/// Whether a row by this name is taken for nothing that Lockstep computes with.
bool is_free_name(const std::string& name) {
  constexpr std::array<std::string_view, 10> kUsed{
      "train_loss",   "val_loss",    "test_loss",  "energy", "token_rate",
      "epoch_energy", "noise_scale", "queue_wait", "memory", "collective_time"};
  if (std::find(kUsed.begin(), kUsed.end(), name) != kUsed.end()) return false;
  if (name.ends_with("_per_s")) return false;  // a rate of work
  return quantity_of(name) == Quantity::kUnknown || name.find("loss") != std::string::npos;
}

class Rows {
 public:
  explicit Rows(const ImportedRun& run) {
    base_.model = run.model.value.value_or("");
    base_.dataset = run.dataset.value.value_or("");
    base_.device = run.device.value.value_or("");
    base_.nodes = run.nodes.value;
    base_.workers = run.workers.value;
    if (run.batch_per_worker) {
      base_.batch_per_worker = static_cast<double>(*run.batch_per_worker);
    }
    base_.global_batch = run.global_batch.value;
    if (run.batch_said_is_open && !run.batch_per_worker && !run.global_batch) {
      base_.stated_batch = run.batch_said;
    }
    base_.examples = run.examples.value;
    base_.epochs = run.epochs_planned.value;
    base_.notes["format"] = run.format;
    base_.run = run.label;
    if (run.workers) base_.notes["workers_from"] = provenance_name(run.workers.from);
  }

  record::Measurement& add(const char* metric, double value, const char* unit,
                           const std::string& basis = "") {
    record::Measurement& row = rows_.emplace_back(base_);
    row.metric = metric;
    row.value = value;
    row.unit = unit;
    if (!basis.empty()) row.notes["basis"] = basis;
    return row;
  }

  void add_finite(const char* metric, double value, int epoch) {
    if (!std::isfinite(value)) return;
    record::Measurement& row = add(metric, value, "");
    if (epoch > 0) row.epoch = epoch;
  }

  void outcome(const record::EpochResult& result) {
    add_finite("train_loss", result.train_loss, result.epoch);
    add_finite("train_accuracy", result.train_accuracy, result.epoch);
    add_finite("val_loss", result.val_loss, result.epoch);
    add_finite("val_accuracy", result.val_accuracy, result.epoch);
  }

  std::vector<record::Measurement> take() { return std::move(rows_); }

 private:
  record::Measurement base_;
  std::vector<record::Measurement> rows_;
};

void epoch_rows(const ImportedRun& run, Rows& rows) {
  for (std::size_t i = 0; i < run.epochs.size(); ++i) {
    const record::EpochResult& epoch = run.epochs[i];
    const bool warm_up = i == 0 && run.epochs.size() > 1;
    const auto mark = [&](record::Measurement& row) {
      row.epoch = epoch.epoch;
      row.warm_up = warm_up;
    };
    if (epoch.train_s > 0)
      mark(rows.add("epoch_time", epoch.train_s, "s", note_of(run, "epoch_time")));
    if (epoch.examples_per_s > 0) mark(rows.add("throughput", epoch.examples_per_s, "examples/s"));
    rows.outcome(epoch);
  }
  if (run.epoch_s) rows.add("epoch_time", *run.epoch_s, "s");
  // Beside epochs it is of another data set or of other weights: one figure must not be both.
  if (run.at_end && run.epochs.empty()) rows.outcome(*run.at_end);
  const bool epochs_lose =
      std::none_of(run.epochs.begin(), run.epochs.end(),
                   [](const auto& epoch) { return std::isfinite(epoch.train_loss); });
  if (run.at_end && !run.epochs.empty() && epochs_lose && run.notes.contains("train_loss_from"))
    rows.add("train_loss", run.at_end->train_loss, "", note_of(run, "train_loss_from"));
  const bool loss_told = run.at_end && std::isfinite(run.at_end->train_loss);
  if (run.epochs.empty() && !loss_told && !run.train_loss.empty())
    rows.add("train_loss", run.train_loss.last(), "", "the last one printed");
}

/// Rates and step times of the whole run: the median, so that a slow start does not count.
void rate_rows(const ImportedRun& run, Rows& rows) {
  bool by_epoch = false;
  for (const record::EpochResult& epoch : run.epochs)
    by_epoch = by_epoch || epoch.examples_per_s > 0;
  if (run.reported_throughput) {
    rows.add("throughput", *run.reported_throughput, "examples/s", "the log's own summary");
  } else if (!run.throughput.empty() && !by_epoch) {
    const std::string basis = note_of(run, "throughput");
    rows.add("throughput", run.throughput.median(), "examples/s",
             basis.empty() ? fmt::format("median of {}", run.throughput.count()) : basis);
  }
  if (!run.step_time.empty()) {
    const std::string basis = note_of(run, "step_time");
    rows.add("step_time", run.step_time.median(), "s",
             basis.empty() ? fmt::format("median of {}", run.step_time.count()) : basis);
  }
}

/// Where the steps of a trace went, as means over its ranks; the parts add up to the step.
void phase_rows(const ImportedRun& run, Rows& rows) {
  if (!run.sync_s) return;
  rows.add("sync_time", *run.sync_s, "s", "collectives while nothing was computed, per step");
  double compute = 0;
  std::size_t ranks = 0;
  for (const RankSplit& split : run.ranks) {
    if (!std::isfinite(split.compute_s)) continue;
    compute += split.compute_s;
    ++ranks;
  }
  if (ranks == 0 || run.step_time.empty()) return;
  compute /= static_cast<double>(ranks);
  rows.add("compute_time", compute, "s", "kernels other than collectives, per step");
  rows.add("other_time", std::max(0.0, run.step_time.median() - compute - *run.sync_s), "s",
           "the device copied or did nothing, per step");
}

/// Figures that Lockstep has no word for, the last value of each by its own name, and what the
/// source derived itself.
void named_rows(const ImportedRun& run, Rows& rows) {
  for (const auto& [name, value] : run.reported)
    rows.add(name.c_str(), value, "", "derived by the source");
  for (const auto& [name, series] : run.other) {
    if (name == kTokenRate && series.median() > 0)
      rows.add(kTokenRate, series.median(), "tokens/s",
               fmt::format("median of {}", series.count()));
    if (series.empty() || !std::isfinite(series.last()) || !is_free_name(name)) continue;
    rows.add(name.c_str(), series.last(), "", "the last one printed");
  }
}

void link_rows(const ImportedRun& run, Rows& rows) {
  for (const LinkPoint& point : run.link) {
    for (const auto& [metric, value, unit] :
         {std::tuple{"collective_time", point.time_s, "s"}, {"busbw", point.busbw / 1e9, "GB/s"}}) {
      record::Measurement& row = rows.add(metric, value, unit);
      row.bytes = static_cast<std::int64_t>(point.bytes);
      row.collective = run.collective;
      if (point.in_place) row.notes["in_place"] = "yes";
    }
  }
}

}  // namespace

std::vector<record::Measurement> measurements(const ImportedRun& run) {
  if (!run.rows.empty()) return run.rows;
  Rows rows(run);
  epoch_rows(run, rows);
  rate_rows(run, rows);
  if (run.total_s) rows.add("total_time", *run.total_s, "s", note_of(run, "total_time"));
  phase_rows(run, rows);
  if (run.queue_wait_s) rows.add("queue_wait", *run.queue_wait_s, "s");
  if (run.out_of_memory) rows.add("out_of_memory", 1, "");
  link_rows(run, rows);
  named_rows(run, rows);
  return rows.take();
}

RunRecord to_record(const ImportedRun& run, const std::string& path) {
  RunRecord out;
  record::RunSpec& spec = out.started.spec;
  spec.recipe = run.model.value.value_or(run.format);
  spec.data.name = run.dataset.value.value_or("");
  spec.data.synthetic = spec.data.name.find("synthetic") != std::string::npos;
  spec.data.train_examples = run.examples.value.value_or(0);
  spec.device = run.device.value.value_or("");
  spec.nodes = as_int(run.nodes);
  spec.workers = as_int(run.workers);
  spec.threads_per_worker = 0;
  spec.batch_per_worker = run.batch_per_worker.value.value_or(0);
  spec.accumulate = run.accumulate ? as_int(run.accumulate) : 1;
  spec.epochs =
      run.epochs_planned ? as_int(run.epochs_planned) : static_cast<int>(run.epochs.size());
  // What a foreign log does not contain must not read as Lockstep's own defaults.
  spec.strategy = std::nullopt;
  spec.backend = std::nullopt;
  spec.seed = 0;
  spec.augment = false;
  spec.parameters = run.parameters.value.value_or(0);
  spec.command = fmt::format("imported from {} ({}{}{})", path, run.format,
                             run.label.empty() ? "" : ", ", run.label);
  out.started.started_wall_ns = run.started_wall_ns.value_or(0);
  out.started.steps_per_epoch = run.steps_per_epoch.value.value_or(0);
  out.started.first_epoch = run.epochs.empty() ? 1 : run.epochs.front().epoch;
  out.epochs = run.epochs;
  if (!run.notes.contains("step_time")) {
    for (const Series::Point& point : run.step_time.sample()) {
      record::StepTimes& step = out.steps.steps.emplace_back();
      step.step = static_cast<std::int64_t>(out.steps.steps.size()) - 1;
      step.examples = spec.batch_per_worker;
      step.total_s = point.value;
      step[record::Phase::kOther] = point.value;
    }
  }
  out.ended.status = run.failure.empty() && !run.out_of_memory ? record::RunStatus::kDone
                                                               : record::RunStatus::kFailed;
  out.ended.ended_wall_ns = run.ended_wall_ns.value_or(out.started.started_wall_ns);
  out.ended.total_s = run.total_s.value_or(record::kUnknown);
  out.measurements = measurements(run);
  return out;
}

}  // namespace lockstep::import
