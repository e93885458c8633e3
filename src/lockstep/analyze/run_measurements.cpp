#include "lockstep/analyze/run_measurements.h"

#include <cmath>

namespace lockstep::analyze {
namespace {

record::Measurement configuration(const record::RunSpec& spec, const RunIdentity& identity) {
  record::Measurement row;
  row.model = spec.recipe;
  row.dataset = spec.data.synthetic ? spec.data.name + " (synthetic)" : spec.data.name;
  row.device = spec.device;
  row.nodes = spec.nodes;
  row.workers = spec.workers;
  row.batch_per_worker = static_cast<double>(spec.batch_per_worker);
  row.global_batch = spec.global_batch();
  if (spec.data.train_examples > 0) row.examples = spec.data.train_examples;
  // With a limit on steps the run may end before the epochs that were asked for.
  if (spec.max_steps == 0) row.epochs = spec.epochs;
  row.run = std::to_string(identity.run);
  row.strategy = record::name_of(spec.strategy);
  if (spec.accumulate > 1) row.notes["accumulate"] = std::to_string(spec.accumulate);
  if (spec.average_every > 0) row.notes["average_every"] = std::to_string(spec.average_every);
  if (spec.wire != record::Wire::kFloat) row.notes["wire"] = record::name_of(spec.wire);
  if (spec.sync_batch_norm) row.notes["sync_bn"] = "yes";
  if (spec.optimizer) row.notes["optimizer"] = record::name_of(spec.optimizer);
  if (!spec.program_optimizer.empty()) row.notes["optimizer"] = spec.program_optimizer;
  if (spec.lr_scale != record::RateScaling::kNone) {
    row.notes["lr_scale"] = record::name_of(spec.lr_scale);
  }
  if (spec.threads_per_worker > 0) row.threads_per_worker = spec.threads_per_worker;
  if (spec.parameters > 0) row.parameters = spec.parameters;
  if (spec.data.loader_workers >= 0) row.loader_workers = spec.data.loader_workers;
  if (spec.flops_per_example > 0) row.flops_per_example = std::llround(spec.flops_per_example);
  row.example_unit = spec.data.unit;
  if (!identity.study.empty()) {
    row.study = identity.study;
    row.repeat = identity.repeat;
  }
  if (spec.oversubscribed) row.unreliable = "oversubscribed";
  return row;
}

class Rows {
 public:
  explicit Rows(record::Measurement configuration) : configuration_(std::move(configuration)) {}

  enum class WarmUp { kNone, kIsOne, kContained };

  void add(const char* metric, double value, const char* unit, int epoch,
           WarmUp warm_up = WarmUp::kNone) {
    if (!std::isfinite(value)) return;
    record::Measurement row = configuration_;
    row.metric = metric;
    row.value = value;
    row.unit = unit;
    if (epoch > 0) row.epoch = epoch;
    row.warm_up = warm_up == WarmUp::kIsOne;
    row.contains_warm_up = warm_up == WarmUp::kContained;
    rows_.push_back(std::move(row));
  }

  std::vector<record::Measurement> take() { return std::move(rows_); }

 private:
  record::Measurement configuration_;
  std::vector<record::Measurement> rows_;
};

void add_phases(Rows& rows, const StepBreakdown& steps) {
  if (steps.ranks.empty()) return;
  using record::Phase;
  const RankBreakdown& mean = steps.mean;
  const auto seconds = [&](Phase phase) { return mean[phase].count(); };
  const auto add = [&](const char* metric, double value) { rows.add(metric, value, "s", 0); };
  add("step_time", mean.step.count());
  add("input_wait_time", seconds(Phase::kInputWait));
  add("compute_time", seconds(Phase::kHostToDevice) + seconds(Phase::kForward) +
                          seconds(Phase::kBackward) + seconds(Phase::kOptimizer));
  add("sync_time", seconds(Phase::kWait) + seconds(Phase::kTransfer));
  add("comm_wait_time", seconds(Phase::kWait));
  add("comm_transfer_time", seconds(Phase::kTransfer));
  add("other_time", seconds(Phase::kOther));
}

double metric(const record::EpochResult& epoch, const char* name) {
  const auto found = epoch.metrics.find(name);
  return found == epoch.metrics.end() ? record::kUnknown : found->second;
}

/// Examples per second of all workers in the steps after the warm-up.
double steady_rate(const record::RunSpec& spec, const StepBreakdown& steps) {
  const double step_s = steps.mean.step.count();
  return step_s > 0 ? static_cast<double>(spec.global_batch()) / step_s : 0;
}

}  // namespace

record::Measurement out_of_memory_row(const record::RunSpec& spec, const RunIdentity& identity) {
  record::Measurement row = configuration(spec, identity);
  row.metric = "out_of_memory";
  row.value = 1;
  return row;
}

std::vector<record::Measurement> measurements_of(const record::RunStarted& started,
                                                 std::span<const record::EpochResult> epochs,
                                                 const std::optional<record::RunEnded>& ended,
                                                 const RunIdentity& identity,
                                                 const StepBreakdown& steps) {
  Rows rows(configuration(started.spec, identity));
  // An epoch cut short by a limit on steps has no epoch time; its rate is used all the same.
  const bool whole = started.spec.max_steps == 0;
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    const record::EpochResult& epoch = epochs[i];
    const bool only_one = epochs.size() == 1;
    const Rows::WarmUp warm_up = only_one ? Rows::WarmUp::kContained
                                 : i == 0 ? Rows::WarmUp::kIsOne
                                          : Rows::WarmUp::kNone;
    if (whole && epoch.train_s > 0)
      rows.add("epoch_time", epoch.train_s, "s", epoch.epoch, warm_up);
    const bool first_steps_apart = !whole && only_one && steps.warmup_steps > 0;
    const double rate = first_steps_apart ? steady_rate(started.spec, steps) : epoch.examples_per_s;
    const Rows::WarmUp of_rate = first_steps_apart ? Rows::WarmUp::kNone : warm_up;
    if (whole) rows.add("epoch_energy", metric(epoch, "energy_j"), "J", epoch.epoch, warm_up);
    if (rate > 0) rows.add("throughput", rate, "examples/s", epoch.epoch, of_rate);
    if (epoch.examples > 0) {
      const double per_example = metric(epoch, "tokens") / static_cast<double>(epoch.examples);
      rows.add("token_rate", rate * per_example, "tokens/s", epoch.epoch, of_rate);
    }
    // After a part of an epoch, runs of different batches have seen different amounts of data:
    // their losses do not compare.
    if (!whole && epoch.examples < started.spec.data.train_examples) continue;
    rows.add("train_loss", epoch.train_loss, "", epoch.epoch);
    rows.add("train_accuracy", epoch.train_accuracy, "", epoch.epoch);
    rows.add("val_loss", epoch.val_loss, "", epoch.epoch);
    rows.add("val_accuracy", epoch.val_accuracy, "", epoch.epoch);
    rows.add("noise_scale", epoch.noise_scale, "examples", epoch.epoch);
  }
  const bool done = ended && ended->status == record::RunStatus::kDone;
  if (done && started.spec.max_steps == 0 && ended->total_s > 0) {
    rows.add("total_time", ended->total_s, "s", 0);
    rows.add("energy", ended->energy_j, "J", 0);
  }
  add_phases(rows, steps);
  std::vector<record::Measurement> all = rows.take();
  for (record::Measurement& row : all) row.disturbed = ended ? record::disturbance(*ended) : "";
  return all;
}

}  // namespace lockstep::analyze
