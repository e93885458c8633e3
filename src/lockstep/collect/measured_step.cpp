#include "lockstep/collect/measured_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <vector>

#include "lockstep/analyze/communication.h"
#include "lockstep/analyze/steps/step_breakdown.h"
#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/predict/devices/network_cost.h"
#include "lockstep/predict/phases/link_calibration.h"
#include "lockstep/predict/phases/phase_model.h"
#include "lockstep/predict/phases/run_phases.h"
#include "lockstep/store/calibrations.h"
#include "lockstep/store/store.h"

namespace lockstep::collect {
namespace {

using record::Phase;

constexpr std::size_t kMostJitterSamples = 20'000;

double computed_s(const record::StepTimes& step) {
  return step.total_s - step.exposed_s();
}

/// How compute times of ranks vary: within a step against the mean of its ranks, so that what slows
/// all of them together does not count; of one rank from step to step.
class JitterSamples {
 public:
  explicit JitterSamples(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  void add(const record::StepTimes& step) {
    if (!together_.empty() && together_.front().step != step.step) close();
    together_.push_back(step);
  }

  simulate::Jitter finish() {
    close();
    if (samples_.size() > kMostJitterSamples) {
      std::vector<double> some;
      for (std::size_t i = 0; i < kMostJitterSamples; ++i) {
        some.push_back(samples_[i * samples_.size() / kMostJitterSamples]);
      }
      samples_ = std::move(some);
    }
    return simulate::Jitter::measured(std::move(samples_));
  }

 private:
  void close() {
    double mean = 0;
    for (const record::StepTimes& one : together_) {
      mean += computed_s(one) / static_cast<double>(together_.size());
    }
    const bool whole = together_.size() == ranks_;
    for (const record::StepTimes& one : together_) {
      if (whole) samples_.push_back(ranks_ == 1 ? mean : computed_s(one) / mean);
    }
    together_.clear();
  }

  std::size_t ranks_;
  std::vector<record::StepTimes> together_;
  std::vector<double> samples_;
};

std::vector<simulate::LayerShare> layers_of(const record::RunSpec& spec) {
  std::vector<simulate::LayerShare> layers;
  try {
    for (const predict::NetworkPart& part : predict::training_cost(spec.recipe).parts) {
      for (const predict::LayerCost& layer : part.layers) {
        layers.push_back({layer.flops, layer.parameters});
      }
    }
  } catch (const Error&) {
    // No layer table: gradients are taken to appear evenly.
  }
  return layers;
}

const record::LinkCalibration* best_link(const store::Calibrations& known,
                                         const record::RunStarted& run, std::int64_t nodes) {
  return predict::best_link(known.links, run, run.spec.workers, nodes);
}

simulate::MeasuredLink calibrated_link(const record::LinkCalibration* best,
                                       const predict::Link& fitted) {
  return {
      {fitted.alpha_s, fitted.bytes_per_s, fitted.peak_bytes_per_s > 0},
      fitted.spread,
      fmt::format("calibrated: {} on {} workers", record::name_of(best->backend), best->workers)};
}

/// Workers of a run on CPUs share the cores of its host with those that are added.
simulate::CoreSharing core_sharing(const store::StoredRun& run, const store::Calibrations& known) {
  const record::RunSpec& spec = run.started.spec;
  if (spec.device != "cpu" || run.started.machine.cores < 1) return {};
  const predict::MeasuredRun measured{run.started, {}, run.utilisation};
  return [=](const simulate::Sharers& sharers) {
    const auto rate = [&](int threads) {
      const record::DeviceCalibration* found = known.device(measured.started.machine.host, threads);
      return found == nullptr ? predict::CalibratedRate{}
                              : predict::CalibratedRate{found->flops, found->bytes_per_s};
    };
    const predict::Sharing asked = predict::sharing_of(
        measured, rate,
        {.workers = sharers.workers, .nodes = sharers.hosts, .machines = sharers.machines});
    return simulate::SharedCores{asked.contention, asked.spare_core,
                                 measured.started.machine.cores};
  };
}

/// Forward and backward are those of one micro-step; the run recorded all of them together.
simulate::StepShape shape_of(const predict::StepPhases& mean, const record::RunSpec& spec) {
  simulate::StepShape shape;
  shape.accumulate = std::max(spec.accumulate, 1);
  shape.input_s = mean.input_s;
  shape.forward_s = mean.forward_s / shape.accumulate;
  shape.backward_s = mean.backward_s / shape.accumulate;
  shape.other_s = mean.other_s;
  shape.batch_per_worker = static_cast<double>(spec.batch_per_worker);
  // Other people's scripts use DistributedDataParallel, which overlaps too.
  shape.overlap = spec.strategy == record::Strategy::kOverlap || !spec.command.empty();
  return shape;
}

/// A trace of another profiler: the parts of a step are known for the run, not for each step. How
/// compute splits is not, so backward is taken to be twice forward.
bool add_imported_parts(store::Store& store, std::int64_t run, simulate::StepShape& shape) {
  double compute = 0;
  double other = 0;
  for (const record::Measurement& row : store.imported_measurements(std::span(&run, 1))) {
    if (row.metric == "compute_time") compute = row.value;
    if (row.metric == "other_time") other = row.value;
    if (row.metric == "input_wait_time") shape.input_s = row.value;
  }
  if (!(compute > 0)) return false;
  shape.forward_s = compute / 3;
  shape.backward_s = compute - shape.forward_s;
  shape.other_s = other;
  shape.overlap = true;
  return true;
}

/// `step_s` is the mean with communication, which a simulation of as many workers may be compared
/// with; 0 = not known.
std::string source_text(std::int64_t run, const record::RunSpec& spec, std::size_t steps,
                        double step_s) {
  std::string text = fmt::format("run {}: {}", run, spec.recipe);
  if (spec.batch_per_worker > 0) text += fmt::format(", b = {}", spec.batch_per_worker);
  text += fmt::format(", {} of {}", counted(static_cast<std::int64_t>(steps), "step"),
                      counted(spec.workers, "worker"));
  if (spec.workers < 2 || !(step_s > 0)) return text;
  return text + fmt::format(", {} each with communication", format_seconds(Seconds(step_s)));
}

}  // namespace

simulate::StepSource measured_step(store::Store& store, std::int64_t run) {
  const store::StoredRun loaded = store.load(run);
  const record::RunSpec& spec = loaded.started.spec;
  const int workers = std::max(spec.workers, 1);
  const std::int64_t warm_up = analyze::warm_up_steps(loaded.steps / workers);
  std::vector<record::StepTimes> steps;
  std::set<std::int32_t> ranks;
  JitterSamples jitter(workers);
  double with_communication_s = 0;
  store.visit_steps(run, [&](const record::StepTimes& step) {
    if (step.step < warm_up) return;
    jitter.add(step);
    with_communication_s += step.total_s;
    steps.push_back(step);
    ranks.insert(step.rank);
  });
  simulate::StepSource source;
  predict::StepPhases mean;
  if (!steps.empty()) {
    mean = predict::mean_phases(steps, 0);
    source.shape = shape_of(mean, spec);
    source.jitter = jitter.finish();
  }
  const bool imported = !(source.shape.compute_s() > source.shape.other_s);
  if (imported) {
    source.jitter = {};
    if (!add_imported_parts(store, run, source.shape)) {
      throw Error(ErrorKind::kData,
                  fmt::format("run {} of {} has no measured phases", run, store.path()),
                  "name a run whose steps were recorded (lockstep train, lockstep run), or give "
                  "--compute and --gradients");
    }
  }
  const store::Calibrations known = store::calibrations(store.path());
  const double step_s =
      with_communication_s / static_cast<double>(std::max<std::size_t>(steps.size(), 1));
  source.text =
      source_text(run, spec, steps.size() / std::max<std::size_t>(ranks.size(), 1), step_s);
  if (workers > 1 && !imported) source.measured = {workers, std::max(spec.nodes, 1), step_s};
  source.gradient_bytes = analyze::gradient_bytes(spec.parameters);
  if (spec.bucket_in_use() > 0) source.bucket_bytes = static_cast<double>(spec.bucket_in_use());
  source.half_wire = spec.wire != record::Wire::kFloat;
  source.layers = layers_of(spec);
  source.compute_spread = std::hypot(simulate::kStepSpread, mean.mean_error);
  source.train_examples = static_cast<double>(spec.data.train_examples);
  const double message = source.shape.overlap && source.bucket_bytes > 0
                             ? std::min(source.bucket_bytes, source.gradient_bytes)
                             : source.gradient_bytes;
  if (const auto* inside = best_link(known, loaded.started, 1)) {
    source.inside = calibrated_link(inside, predict::link_for(*inside, message));
  }
  if (const auto* between = best_link(known, loaded.started, 2)) {
    source.between = calibrated_link(between, predict::link_near(*between, message));
  }
  // Of an imported trace, neither device nor cores are certain.
  if (!imported) source.sharing = core_sharing(loaded, known);
  return source;
}

}  // namespace lockstep::collect
