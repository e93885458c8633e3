#include "lockstep/import/model/imported_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/statistics.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

double mean_rate(const Series& series) {
  return series.median();
}

void warn_once(ImportedRun& run, const std::string& warning) {
  if (std::find(run.warnings.begin(), run.warnings.end(), warning) == run.warnings.end())
    run.warnings.push_back(warning);
}

void warn_of_batch(std::int64_t size, ImportedRun& run) {
  if (run.workers && *run.workers == 1) return;
  warn_once(run, fmt::format("batch size {} is taken as the batch per worker; if it is the global "
                             "batch, use --set global_batch={}",
                             size, size));
}

/// Whether the log states another batch than the name. A size in the log that is N times that of
/// the name confirms it: it is that of all workers.
bool log_states_another_batch(const ImportedRun& run) {
  if (run.global_batch && run.global_batch.from <= Provenance::kLog) return true;
  return run.batch_said && *run.batch_said != *run.batch_per_worker * run.workers.value.value_or(1);
}

/// "batch_size" in a log may be meant per worker or for all; with one worker it is both. So may
/// that of a name, which gives way to a batch in the log.
void settle_batch(ImportedRun& run) {
  if (run.batch_per_worker && run.batch_per_worker.from == Provenance::kName) {
    if (log_states_another_batch(run) || run.may_split_model) {
      run.batch_per_worker = {};
    } else {
      warn_of_batch(*run.batch_per_worker, run);
    }
  }
  if (run.batch_said && !run.batch_per_worker && !run.global_batch) {
    const std::int64_t size = *run.batch_said;
    if (run.batch_said_is_open && !(run.workers && *run.workers == 1)) {
      warn_once(run, fmt::format("the table does not state whether batch size {} is of one worker "
                                 "or of all; --set batch_of=worker or --set batch_of=all decides",
                                 size));
    } else if (run.may_split_model && !(run.workers && *run.workers == 1)) {
      warn_once(run, fmt::format("batch size {} may be of several workers that share each example; "
                                 "--set batch=N or --set global_batch=N decides",
                                 size));
    } else if (run.batch_said_is_global && *run.batch_said < 1'000'000'000) {
      run.global_batch.offer(size, Provenance::kLog);
    } else {
      run.batch_per_worker.offer(size, Provenance::kLog);
      warn_of_batch(size, run);
    }
  }
  const std::int64_t accumulate = run.accumulate.value.value_or(1);
  if (!run.workers) return;
  const std::int64_t share = *run.workers * accumulate;
  const bool whole_is_better =
      run.global_batch &&
      (!run.batch_per_worker || run.global_batch.from <= run.batch_per_worker.from);
  if (whole_is_better &&
      !(run.batch_per_worker && run.batch_per_worker.from == Provenance::kUser)) {
    const std::int64_t each = *run.global_batch / std::max<std::int64_t>(share, 1);
    const bool shares = each >= 1 && *run.global_batch % share == 0 && !run.may_split_model;
    if (!run.batch_per_worker && shares) run.batch_per_worker.offer(each, Provenance::kDerived);
  } else if (run.batch_per_worker && *run.batch_per_worker < 1'000'000'000 &&
             share < 1'000'000'000 && !run.may_split_model) {
    run.global_batch = {*run.batch_per_worker * share, Provenance::kDerived};
  }
}

void settle_rates(ImportedRun& run) {
  const bool total = !run.throughput.empty() || run.reported_throughput;
  if (!run.workers && !run.throughput_per_worker.empty() && !run.throughput.empty()) {
    const double ratio = mean_rate(run.throughput) / mean_rate(run.throughput_per_worker);
    const double whole = std::round(ratio);
    if (whole >= 1 && whole < 1e6 && std::abs(ratio - whole) < 0.1 * std::max(1.0, 0.1 * whole)) {
      run.workers.offer(static_cast<std::int64_t>(whole), Provenance::kDerived);
    }
  }
  if (!total && !run.throughput_per_worker.empty() && run.workers) {
    for (const Series::Point& point : run.throughput_per_worker.sample()) {
      run.throughput.add(point.position, point.value * static_cast<double>(*run.workers));
    }
    run.notes["throughput"] = "rate of one worker x workers";
  }
}

/// Where only one of step time and rate is there, the batch gives the other.
void settle_steps(ImportedRun& run) {
  if (!run.global_batch || run.steps_may_be_small) return;
  const auto batch = static_cast<double>(*run.global_batch);
  if (run.step_time.empty() && run.throughput.count() > 0) {
    for (const Series::Point& point : run.throughput.sample()) {
      if (point.value > 0) run.step_time.add(point.position, batch / point.value);
    }
    run.notes["step_time"] = "global batch / throughput";
  } else if (run.throughput.empty() && !run.reported_throughput && !run.step_time.empty()) {
    for (const Series::Point& point : run.step_time.sample()) {
      if (point.value > 0) run.throughput.add(point.position, batch / point.value);
    }
    run.notes["throughput"] = "global batch / step time";
  }
}

void settle_epochs(ImportedRun& run) {
  std::int64_t examples = run.examples.value.value_or(0);
  if (examples == 0 && run.steps_per_epoch && run.global_batch && !run.steps_may_be_small &&
      *run.global_batch < 1'000'000'000 && *run.steps_per_epoch < 1'000'000'000) {
    examples = *run.steps_per_epoch * *run.global_batch;
    run.notes["examples"] = "steps per epoch x global batch";
  }
  for (record::EpochResult& epoch : run.epochs) {
    if (epoch.examples == 0) epoch.examples = examples;
    if (epoch.examples_per_s == 0 && epoch.train_s > 0 && epoch.examples > 0) {
      epoch.examples_per_s = static_cast<double>(epoch.examples) / epoch.train_s;
    }
    if (epoch.train_s == 0 && epoch.examples_per_s > 0 && run.examples) {
      epoch.train_s = static_cast<double>(*run.examples) / epoch.examples_per_s;
      run.notes["epoch_time"] = "examples / throughput";
    }
  }
}

void list_missing(ImportedRun& run) {
  const auto miss = [&](bool known, const char* what) {
    if (!known) run.missing.emplace_back(what);
  };
  if (!run.rows.empty()) return;
  if (!run.link.empty()) {
    miss(run.workers.known(), "workers: set it with --set workers=N");
    return;
  }
  if (!run.is_training()) return;
  miss(run.workers.known(), "workers: set it with --set workers=N");
  if (!run.ranks.empty()) return;
  miss(run.batch_per_worker || run.global_batch,
       "batch: set it with --set batch=N (per worker) or --set global_batch=N");
  const bool epoch_times =
      run.epoch_s || std::any_of(run.epochs.begin(), run.epochs.end(),
                                 [](const auto& epoch) { return epoch.train_s > 0; });
  const bool rates = !run.throughput.empty() || run.reported_throughput || !run.step_time.empty();
  miss(epoch_times || rates || run.total_s,
       "times: the log has no epoch time, step time or throughput");
  const auto any_epoch = [&](double record::EpochResult::*field) {
    return std::any_of(run.epochs.begin(), run.epochs.end(),
                       [&](const auto& epoch) { return std::isfinite(epoch.*field); }) ||
           (run.at_end && std::isfinite((*run.at_end).*field));
  };
  miss(any_epoch(&record::EpochResult::val_accuracy) || any_epoch(&record::EpochResult::val_loss) ||
           run.other.contains("val_loss"),
       "validation: the log has no validation loss or accuracy");
  if (run.epochs.empty()) {
    miss(false, run.notes.contains("epochs") ? "epochs: the log has no figures for them"
                : run.steps_per_epoch && !run.warnings.empty()
                    ? "epochs: none was finished"
                    : "epochs: the log does not number its epochs");
  }
}

}  // namespace

std::string_view provenance_name(Provenance provenance) {
  switch (provenance) {
    case Provenance::kUser:
      return "set by user";
    case Provenance::kLog:
      return "read";
    case Provenance::kDerived:
      return "derived";
    case Provenance::kName:
      return "from name";
    case Provenance::kUnknown:
      break;
  }
  return "unknown";
}

bool ImportedRun::has_figures() const {
  return !epochs.empty() || at_end || epoch_s || !step_time.empty() || !throughput.empty() ||
         !throughput_per_worker.empty() || !train_loss.empty() || !other.empty() ||
         reported_throughput || total_s || queue_wait_s || out_of_memory || !ranks.empty() ||
         !link.empty() || !rows.empty();
}

bool ImportedRun::is_training() const {
  return link.empty() && rows.empty() && format != "sacct";
}

void set_time_unit(double seconds, ImportedRun& run) {
  for (const UnitlessTime& time : run.unitless_times) {
    run.other.erase(time.name);
    if (time.of == UnitlessTime::Of::kEpoch) {
      run.epoch_s = time.value * seconds;
    } else if (time.of == UnitlessTime::Of::kStep) {
      run.step_time.add(0, time.value * seconds);
    } else {
      run.total_s = time.value * seconds;
    }
  }
  run.unitless_times.clear();
}

void complete(ImportedRun& run) {
  for (const UnitlessTime& time : run.unitless_times)
    warn_once(run,
              fmt::format("the table does not state the unit of \"{}\", so it is not compared; "
                          "--set time_unit=s (or ms, min, h) states it",
                          time.name));
  settle_rates(run);
  settle_batch(run);
  settle_steps(run);
  settle_epochs(run);
  list_missing(run);
}

}  // namespace lockstep::import
