#include "lockstep/import/readers/transcript/block.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/base/units.h"
#include "lockstep/import/model/epoch_table.h"

namespace lockstep::import {
namespace {

constexpr std::array<const char*, 5> kCellNames{"train loss", "train accuracy", "validation loss",
                                                "validation accuracy", "learning rate"};
constexpr std::size_t kFewestClockPoints = 10;

/// Times that rise from epoch to epoch by about the first are those of a clock that runs through.
bool runs_through(const std::vector<double>& times) {
  if (times.size() < 3) return false;
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i] <= times[i - 1]) return false;
  }
  return times.back() > 0.6 * static_cast<double>(times.size()) * times.front();
}

}  // namespace

void Block::sum_up(ImportedRun& run) const {
  for (const auto& [kind, summary] : summary_) {
    const double value = summary.figure.value;
    if (summary.conflict) {
      LineFigure named = summary.figure;
      named.kind = kind;
      run.warnings.push_back(fmt::format(
          "{} is not the only one of its kind in a run without epochs and steps: none is taken; "
          "--pattern chooses the line that counts",
          figure_words(named)));
    } else if (kind == LineFigure::Kind::kRate) {
      run.throughput.add(0, value);
    } else if (kind == LineFigure::Kind::kRatePerWorker) {
      run.throughput_per_worker.add(0, value);
    } else if (kind == LineFigure::Kind::kTokenRate) {
      run.other["tokens_per_s"].add(0, value);
    } else if (kind == LineFigure::Kind::kStepTime) {
      run.step_time.add(0, value);
    } else if (kind == LineFigure::Kind::kMeanEpochTime) {
      run.epoch_s = value;
    } else {
      run.total_s = value;
    }
  }
}

/// "time: 9.3" line after line: one that rises all the time is a clock, and the differences of
/// neighbouring steps are their times. Anything else may be the time of a step or of several.
void Block::clock_of(ImportedRun& run) const {
  if (clock_.size() < kFewestClockPoints || !run.step_time.empty()) return;
  for (std::size_t i = 1; i < clock_.size(); ++i) {
    const ClockPoint& here = clock_[i];
    const ClockPoint& before = clock_[i - 1];
    if (here.epoch == before.epoch && here.position == before.position + 1)
      run.step_time.add(here.position, here.seconds - before.seconds);
  }
  if (!run.step_time.empty())
    run.notes["step_time"] = "difference of two values of a running clock";
}

void Block::table_of(ImportedRun& run, bool training_is_part) const {
  EpochTable table;
  std::array<std::int64_t, kCells> conflicts{};
  std::vector<double> times;
  std::vector<std::int64_t> timed;
  std::size_t loose = 0;
  bool elapsed = false;
  std::int64_t rate_conflicts = 0;
  for (const auto& [epoch, row] : rows_) {
    const bool figures =
        row.rate > 0 || row.losses > 0 || row.step_s > 0 ||
        std::any_of(row.cells.begin(), row.cells.end(), [&cells = row.cells](const Cell& cell) {
          return cell.rank != 1000 && &cell != &cells[kLearningRate];
        });
    if (!figures) continue;  // a learning rate alone: the epoch began and printed nothing else
    for (std::size_t i = 0; i < kCellMetrics.size(); ++i) {
      const Cell& cell = row.cells[i];
      if (cell.rank == 1000 || (cell.running && (i == 0 || i == 2))) continue;
      if (cell.conflict) {
        ++conflicts[i];
      } else if (cell.percent) {
        table.set_percent(epoch, MetricName{kCellMetrics[i]}, cell.value);
      } else {
        table.set(epoch, kCellMetrics[i], cell.value);
      }
    }
    if (row.losses > 0 && row.cells[0].rank == 1000)
      table.set(epoch, Metric::kTrainLoss, row.loss_sum / static_cast<double>(row.losses));
    if (row.step_s > 0) run.step_time.add(epoch, row.step_s);
    if (row.rate_conflict) ++rate_conflicts;
    if (row.rate > 0 && !row.rate_conflict) {
      table.set(epoch, Metric::kThroughput, row.rate);
      if (row.rate_marked) run.throughput.add(epoch, row.rate);
    }
    const Cell& time = row.cells[kTime];
    if (time.conflict) ++conflicts[kTime];
    if (time.rank == 1000 || time.conflict || (training_is_part && time.rank == 1)) continue;
    times.push_back(time.value);
    timed.push_back(epoch);
    loose += time.loose ? 1 : 0;
    elapsed = elapsed || time.elapsed;
  }
  const auto warn_of_conflicts = [&](std::int64_t epochs, std::string_view name) {
    if (epochs == 0) return;
    run.warnings.push_back(fmt::format(
        "{} more than one {}, so it is left out: several processes wrote into the file, or it is "
        "printed more than once per epoch; --pattern chooses the line that counts",
        counted(epochs, "epoch has", "epochs have"), name));
  };
  for (std::size_t i = 0; i < kCells; ++i)
    warn_of_conflicts(conflicts[i], i == kTime ? "epoch time" : kCellNames[i]);
  warn_of_conflicts(rate_conflicts, "throughput");
  if (loose == 1 && rows_.size() > 1 && times.size() == 1 &&
      rows_.rbegin()->second.cells[kTime].closes) {
    run.total_s = times.back();  // once, after the last of several epochs
    times.clear();
  } else if (loose > 0 && rows_.size() > 1 && loose < rows_.size()) {
    run.warnings.push_back(fmt::format(
        "a time of {:.6g} s follows {} epochs and may be of one epoch or of all of them; --pattern "
        "with a group epoch_time or total_time decides",
        times.back(), rows_.size()));
    times.clear();
  } else if (elapsed && std::is_sorted(times.begin(), times.end())) {
    run.warnings.push_back(fmt::format(
        "elapsed times of {:.6g} to {:.6g} s follow the epochs and may be of each epoch or since "
        "the start; --pattern with a group epoch_time or total_time decides",
        times.front(), times.back()));
    times.clear();
  } else if (runs_through(times)) {
    run.warnings.push_back(
        "the epoch times increase like a running clock; their differences are used");
    run.notes["epoch_time"] = "difference of two values of a running clock";
    for (std::size_t i = times.size() - 1; i > 0; --i) times[i] -= times[i - 1];
  }
  for (std::size_t i = 0; i < times.size(); ++i) table.set(timed[i], Metric::kEpochTime, times[i]);
  if (bars_ && !times.empty()) run.notes["epoch_time"] = "time of the progress bar";
  run.epochs = table.results();
}

void Block::times_of(ImportedRun& run) const {
  double sum = 0;
  for (const record::EpochResult& epoch : run.epochs) sum += epoch.train_s;
  if (mean_ && !mean_conflict_ && run.epochs.empty()) run.epoch_s = mean_->value;
  if (mean_ && !mean_conflict_ && !run.epochs.empty() && sum == 0) run.epoch_s = mean_->value;
  if (!total_) return;
  // "Total Time" beside "Training Time" may be of one epoch with and without its loading; the sum
  // of the epochs shows that it is the whole.
  const bool beside = std::any_of(rows_.begin(), rows_.end(), [](const auto& entry) {
    return entry.second.cells[kTime].loose;
  });
  const bool covers = sum > 0 && total_->value >= 0.9 * sum;
  if (covers || (sum == 0 && (total_->rank == 0 || !beside))) {
    run.total_s = total_->value;
  } else {
    run.warnings.push_back(fmt::format(
        "a total of {:.6g} s is printed that may be of one epoch or of the run; --pattern with a "
        "group total_time decides",
        total_->value));
  }
}

ImportedRun Block::finish(bool training_is_part) const {
  ImportedRun run = run_;
  if (losses_within_) {
    run.notes["train_loss"] = loss_is_mean_ ? "mean of the values printed in the epoch"
                                            : "last mean printed in the epoch";
  }
  if (length_ > 0) run.notes["epoch_length"] = std::to_string(length_) + " examples or steps";
  if (run.throughput.empty()) run.throughput = early_rates_;
  table_of(run, training_is_part);
  clock_of(run);
  sum_up(run);
  if (mean_ && mean_->rank == 1 && training_is_part) {
    run.warnings.push_back(fmt::format(
        "{:.6g} s of training per epoch are a part of the epoch, as other lines of the file show",
        mean_->value));
  } else {
    times_of(run);
  }
  if (mean_conflict_)
    run.warnings.emplace_back("more than one time per epoch is printed; none is taken");
  if (figures_ == 0 && kept_) {
    run.notes["epochs"] = "named without figures";
    run.warnings.push_back(
        fmt::format("epochs {} to {} are named, but no time, loss or accuracy is printed for them",
                    first_epoch_, last_epoch_));
  }
  run.out_of_memory = out_of_memory && !figures_after_failure;
  if (run.out_of_memory) run.failure = failure;
  if (out_of_memory && figures_after_failure) {
    run.warnings.push_back(fmt::format(
        "line {} mentions running out of memory, but figures follow it: not counted as a failure",
        memory_line));
  }
  if (memory_line_below > 0 && !out_of_memory) {
    run.warnings.push_back(fmt::format(
        "line {} mentions running out of memory, but under a later heading: not counted "
        "as a failure of this run",
        memory_line_below));
  }
  return run;
}

}  // namespace lockstep::import
