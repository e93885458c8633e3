#include "lockstep/predict/duration/target_epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/statistics.h"
#include "lockstep/base/units.h"

namespace lockstep::predict {
namespace {

using record::Measurement;

/// A critical batch that is known less well than to this factor is called open.
constexpr double kVague = 1.5;

double global_batch(const Measurement& row) {
  if (row.global_batch) return static_cast<double>(*row.global_batch);
  if (row.batch_per_worker && row.workers) {
    return *row.batch_per_worker * static_cast<double>(*row.workers);
  }
  return 0;
}

/// "2 and 2", "15, 19, 20 and 25", in order of the batch.
std::string epochs_text(std::vector<EpochsToTarget> measured) {
  std::sort(measured.begin(), measured.end(),
            [](const auto& a, const auto& b) { return a.global_batch < b.global_batch; });
  std::string text;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const bool last = i + 1 == measured.size();
    text += fmt::format("{}{:g}", i == 0 ? "" : last ? " and " : ", ", measured[i].epochs);
  }
  return text;
}

/// The run of the median epochs.
EpochsToTarget middle_of(std::vector<EpochsToTarget> measured) {
  std::sort(measured.begin(), measured.end(),
            [](const auto& a, const auto& b) { return a.epochs < b.epochs; });
  return measured[measured.size() / 2];
}

}  // namespace

TargetEpochs epochs_to_target(const std::vector<Measurement>& rows, const Target& target) {
  TargetEpochs result;
  struct Reached {
    double batch = 0;
    double epoch = 0;  ///< 0 = not reached
  };
  std::map<std::string, Reached> by_run;
  std::vector<EpochsToTarget> stable;
  std::vector<double> noise;
  std::optional<double> best;  ///< of the metric, at any epoch
  for (const Measurement& row : rows) {
    const double batch = global_batch(row);
    if (batch <= 0) continue;
    if (row.examples) result.examples = static_cast<double>(*row.examples);
    if (row.metric == "epochs_to_stable") stable.push_back({batch, row.value});
    if (row.metric == "noise_scale" && std::isfinite(row.value) && row.value > 0) {
      noise.push_back(row.value);
    }
    const double epoch = static_cast<double>(row.epoch.value_or(0));
    if (row.metric != target.metric) continue;
    if (!best || Target{target.metric, *best}.reached_by(row.value)) best = row.value;
    if (epoch <= 0) continue;
    Reached& run =
        by_run[row.run + "/" + row.model + "/" + row.device + "/" + fmt::format("{:g}", batch)];
    run.batch = batch;
    if (target.reached_by(row.value) && (run.epoch == 0 || epoch < run.epoch)) run.epoch = epoch;
  }
  if (!noise.empty()) result.noise_scale = median(noise);
  std::vector<double> never;
  double largest = 0;  ///< batch that reached it
  for (const auto& [name, run] : by_run) {
    if (run.epoch > 0) {
      result.measured.push_back({run.batch, run.epoch});
      largest = std::max(largest, run.batch);
    } else {
      never.push_back(run.batch);
    }
  }
  for (const double batch : never) {
    if (batch > largest)
      result.failing_batch = std::min(batch, result.failing_batch.value_or(batch));
  }
  if (!never.empty()) {
    result.notes.push_back(counted(std::ssize(never), "run") + " never reached the target");
  }
  if (result.failing_batch && largest > 0) {
    result.notes.push_back(fmt::format(
        "global batches of {:g} and more are left out: their runs ended before they reached the "
        "target; a longer run would show it",
        *result.failing_batch));
  }
  const bool out_of_reach = best && !target.reached_by(*best);
  if (result.measured.empty() && !stable.empty() && !out_of_reach) {
    result.measured = stable;
    result.notes.push_back(fmt::format(
        "no epoch-by-epoch {} in the table: its epochs_to_stable are used for the target",
        target.metric));
  }
  if (result.measured.empty()) {
    throw Error(ErrorKind::kData,
                fmt::format("no measured run reached {} = {:g}{}", target.metric, target.value,
                            best ? fmt::format(": the best was {:.4g}", *best) : ""),
                "train one run to the target first, or choose a target that was reached");
  }
  return result;
}

StepsModel steps_model(TargetEpochs& epochs) {
  if (!(epochs.examples > 0)) {
    throw Error(ErrorKind::kData, "steps to the target need the number of examples of an epoch",
                "give --examples, or fill the table's examples column");
  }
  std::set<double> batches;
  for (const auto& one : epochs.measured) batches.insert(one.global_batch);
  const bool one_batch = batches.size() < 2;
  if (!one_batch && epochs_grow_with_batch(epochs.measured)) {
    const StepsModel model = fit_steps(epochs.measured, epochs.examples);
    const double factor = model.noise_factor();
    epochs.notes.push_back(fmt::format(
        "steps to the target: {:.3g} (1 + {:.3g} / B), from {}{}", model.least_steps,
        model.noise_batch, counted(std::ssize(epochs.measured), "measured run"),
        factor > kVague ? fmt::format(", which determine the {:.3g} within a factor of {:.2g}",
                                      model.noise_batch, factor)
                        : ""));
    return model;
  }
  const std::string why =
      one_batch ? "one global batch was measured to the target"
                : fmt::format(
                      "from {:g} to {:g} examples per step the epochs to the target differ no more "
                      "than repeats do ({}), so no critical batch can be determined",
                      *batches.begin(), *batches.rbegin(), epochs_text(epochs.measured));
  const EpochsToTarget typical = middle_of(epochs.measured);
  if (epochs.noise_scale > 0) {
    epochs.notes.push_back(fmt::format(
        "{}: steps at other batches are from the measured gradient noise scale of {:.0f} examples, "
        "which is assumed to be constant during training and the only limit on the batch; accurate "
        "to a factor of about 1.4",
        why, epochs.noise_scale));
    return steps_from_noise_scale(epochs.noise_scale, typical, epochs.examples);
  }
  epochs.notes.push_back(fmt::format(
      "{}: epochs are assumed to be the same at other batches; a run at {} would show it", why,
      one_batch ? "twice that batch" : fmt::format("B = {:g}", 4 * *batches.rbegin())));
  return steps_at_constant_epochs(typical, epochs.examples);
}

}  // namespace lockstep::predict
