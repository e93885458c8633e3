#include "lockstep/import/readers/programs/trainer_history.h"

#include <algorithm>
#include <cmath>

namespace lockstep::import {
namespace {

constexpr double kFewestStepsPerSecond = 0.1;

/// The only whole batch that the printed rates allow. They are rounded to three decimals, and the
/// last batch of each epoch may be smaller than the others, or left out of the steps.
std::optional<std::int64_t> whole_batch(double examples_per_s, double steps_per_s, double total_s,
                                        double steps, double epochs) {
  constexpr double kRounding = 0.0005;
  if (steps_per_s <= kRounding || examples_per_s <= kRounding) return std::nullopt;
  double low = (examples_per_s - kRounding) / (steps_per_s + kRounding);
  double high = (examples_per_s + kRounding) / (steps_per_s - kRounding);
  if (total_s > 0 && steps > 0) {
    low = std::max(low, (examples_per_s - kRounding) * total_s / steps);
    high = std::min(high, (examples_per_s + kRounding) * total_s / steps);
  }
  if (steps > epochs) {
    high /= 1 - epochs / steps;
    low /= 1 + epochs / steps;
  }
  const double first = std::max(std::ceil(low), 1.0);
  if (!(first <= high) || first + 1 <= high || first >= 1e9) return std::nullopt;
  return static_cast<std::int64_t>(first);
}

}  // namespace

void TrainerHistory::entry(const JsonObject& fields) {
  std::optional<double> epoch;
  bool stepped = false;
  for (const JsonField& field : fields) {
    if (!field.is_number) continue;
    if (field.name == "epoch") epoch = field.number;
    if (field.name == "step" && std::abs(field.number) < 9e15) {
      step_ = static_cast<std::int64_t>(field.number);
      stepped = true;
    }
  }
  ++entries_;
  // Printouts leave the step out; the epoch's fraction of all steps is used instead.
  if (!stepped && epoch && epochs_ > 0 && max_steps_ > 0 && *epoch >= 0 && *epoch <= epochs_)
    step_ = std::llround(*epoch / epochs_ * max_steps_);
  for (const JsonField& field : fields) {
    if (field.is_number && field.name != "epoch" && field.name != "step") figure(field, epoch);
  }
}

void TrainerHistory::setting(const std::string& name, double value) {
  if (!(value > 0) || value > 9e15) return;
  if (name == "global_step") steps_ = value;
  if (name == "max_steps") max_steps_ = value;
  if (name == "num_train_epochs") {
    run_.epochs_planned.offer(std::llround(std::ceil(value)));
    epochs_ = value;
  }
  if (name == "train_batch_size") run_.batch_per_worker.offer(std::llround(value));
  if (name == "total_flos") run_.notes["total_flops"] = std::to_string(value);
}

ImportedRun TrainerHistory::finish() {
  means_.finish(run_);
  const bool losses = !run_.train_loss.empty() ||
                      std::any_of(run_.epochs.begin(), run_.epochs.end(), [](const auto& epoch) {
                        return std::isfinite(epoch.train_loss);
                      });
  if (mean_loss_ && std::isfinite(*mean_loss_) && !losses) {
    if (!run_.at_end) run_.at_end.emplace();
    run_.at_end->train_loss = *mean_loss_;
    run_.notes["train_loss_from"] = "train_loss of the summary, a mean over the whole run";
    run_.other.erase("train_loss (whole run)");
  }
  if (max_steps_ > 0 && epochs_ > 0) {
    run_.steps_per_epoch.offer(std::llround(max_steps_ / epochs_), Provenance::kDerived);
  }
  const double counted = steps_ > 0 ? steps_ : static_cast<double>(step_);
  double steps = counted;
  // 0.023 steps per second may be 0.0225: too rough for a time of one step.
  if (steps <= 0 && run_.total_s && steps_per_s_ >= kFewestStepsPerSecond)
    steps = std::round(steps_per_s_ * *run_.total_s);
  if (run_.total_s && steps > 0 && steps < 9e15) {
    run_.step_time.add(static_cast<std::int64_t>(steps), *run_.total_s / steps);
    run_.notes["step_time"] = "train_runtime / global_step, evaluation included";
  }
  if (run_.reported_throughput && steps_per_s_ > 0) {
    const double epochs = std::max(epochs_, 1.0);
    if (const auto batch = whole_batch(*run_.reported_throughput, steps_per_s_,
                                       run_.total_s.value_or(0), counted, epochs))
      run_.global_batch.offer(*batch, Provenance::kDerived);
    const double examples =
        *run_.reported_throughput * run_.total_s.value_or(0) / std::max(epochs_, 1e-9);
    if (epochs_ > 0 && examples >= 1 && examples < 9e15) {
      run_.notes["examples"] =
          "about " + std::to_string(std::llround(examples)) + " per epoch, from rates";
    }
  }
  return std::move(run_);
}

void TrainerHistory::figure(const JsonField& field, std::optional<double> epoch) {
  if (field.name == "train_runtime") {
    if (field.number > 0) run_.total_s = field.number;
  } else if (field.name == "train_samples_per_second") {
    if (field.number > 0) run_.reported_throughput = field.number;
  } else if (field.name == "train_steps_per_second") {
    steps_per_s_ = field.number;
  } else if (field.name == "eval_runtime") {
    if (field.number > 0) run_.other["eval_runtime_s"].add(step_, field.number);
  } else if (field.name == "train_loss") {
    run_.other["train_loss (whole run)"].add(step_, field.number);
    mean_loss_ = field.number;
  } else if (field.name != "total_flos" && !field.name.ends_with("_per_second")) {
    means_.add(field.name, field.number, epoch, step_, run_);
  }
}

}  // namespace lockstep::import
