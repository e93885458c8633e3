#include "lockstep/import/readers/transcript/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

using Kind = LineFigure::Kind;

constexpr std::array<Metric, 5> kCellMetrics{Metric::kTrainLoss, Metric::kTrainAccuracy,
                                             Metric::kValLoss, Metric::kValAccuracy,
                                             Metric::kLearningRate};
constexpr std::array<const char*, 5> kCellNames{"train loss", "train accuracy", "validation loss",
                                                "validation accuracy", "learning rate"};
constexpr std::size_t kLearningRate = 4;
constexpr std::size_t kTime = 5;
constexpr std::size_t kMostOtherLosses = 64;
constexpr std::size_t kMostClockPoints = 100'000;
constexpr std::size_t kFewestClockPoints = 10;
/// Rates of these steps contain the start of the program where later ones are printed.
constexpr std::int64_t kStartSteps = 10;

/// Times that rise from epoch to epoch by about the first are those of a clock that runs through.
bool runs_through(const std::vector<double>& times) {
  if (times.size() < 3) return false;
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i] <= times[i - 1]) return false;
  }
  return times.back() > 0.6 * static_cast<double>(times.size()) * times.front();
}

}  // namespace

std::optional<std::size_t> Block::cell_of(const LineFigure& figure) {
  if (figure.kind == Kind::kEpochTime || figure.kind == Kind::kLooseTime) return kTime;
  if (figure.kind != Kind::kCell) return std::nullopt;
  for (std::size_t i = 0; i < kCellMetrics.size(); ++i) {
    if (kCellMetrics[i] == figure.metric) return i;
  }
  return std::nullopt;
}

Block::Row* Block::row(std::int64_t epoch) {
  const auto found = rows_.lower_bound(epoch);
  if (found != rows_.end() && found->first == epoch) return &found->second;
  if (rows_.size() >= kMostEpochs || epoch < 0 || epoch > EpochTable::kMostEpochs) return nullptr;
  return &rows_.emplace_hint(found, epoch, Row{})->second;
}

void Block::begin_epoch(std::int64_t epoch) {
  if (first_epoch_ < 0) first_epoch_ = epoch;
  first_epoch_ = std::min(first_epoch_, epoch);
  last_epoch_ = epoch;
}

bool Block::conflicts(std::int64_t epoch, const LineFigure& figure) const {
  const auto place = cell_of(figure);
  if (!place || *place == kLearningRate) return false;
  const auto found = rows_.find(epoch);
  if (found == rows_.end()) return false;
  const Cell& cell = found->second.cells[*place];
  if (cell.rank == 1000 || cell.rank != figure.rank) return false;
  return cell.value != figure.value;
}

void Block::add(std::int64_t epoch, const LineFigure& figure, bool marked) {
  ++figures_;
  switch (figure.kind) {
    case Kind::kStepTime:
      run_.step_time.add(std::max<std::int64_t>(epoch, 0), figure.value);
      return;
    case Kind::kRatePerWorker:
      run_.throughput_per_worker.add(std::max<std::int64_t>(epoch, 0), figure.value);
      return;
    case Kind::kTokenRate:
      run_.other["tokens_per_s"].add(std::max<std::int64_t>(epoch, 0), figure.value);
      return;
    case Kind::kTotalTime:
      if (!total_ || figure.rank <= total_->rank) total_ = figure;
      return;
    case Kind::kMeanEpochTime:
      mean_conflict_ = mean_conflict_ || (mean_ && mean_->value != figure.value);
      mean_ = figure;
      return;
    case Kind::kClock:
      return;
    case Kind::kOtherLoss:
      --figures_;
      add_other_loss(std::max<std::int64_t>(epoch, 0), figure);
      return;
    case Kind::kRate: {
      Row* where = row(epoch);
      // "Average throughput", printed below the last epoch, is not that of the epoch.
      if (!marked && where != nullptr && where->rate_marked) return;
      if (where == nullptr || !marked)
        run_.throughput.add(std::max<std::int64_t>(epoch, 0), figure.value);
      if (where == nullptr) return;
      // One of them may be of one worker, another of all.
      where->rate_conflict =
          where->rate_conflict || (marked && where->rate_marked && where->rate != figure.value);
      where->rate = figure.value;
      where->rate_marked = marked;
      return;
    }
    default:
      break;
  }
  const auto place = cell_of(figure);
  Row* where = place ? row(epoch) : nullptr;
  if (where == nullptr || !std::isfinite(figure.value)) return;
  if (figure.of_error) run_.notes["val_accuracy"] = "1 - error rate";
  Cell& cell = where->cells[*place];
  // "Training finished in 247 s" below epochs that have their times: one of the run, or of a part.
  if (figure.kind == Kind::kLooseTime && cell.rank != 1000 && !cell.loose) {
    if (!total_ || total_->rank >= 1) total_ = figure;
    return;
  }
  if (figure.rank > cell.rank || (cell.marked && !marked && *place != kTime)) return;
  const bool same_choice = figure.rank == cell.rank;
  // "(33/256)" after "(17/128)": the value so far, over more examples than the one before.
  const bool grows = same_choice && figure.seen > cell.seen && cell.seen > 0;
  const bool differs =
      same_choice && cell.value != figure.value && !grows && *place != kLearningRate;
  const bool running = same_choice && (cell.running || grows);
  const bool conflict = same_choice && (cell.conflict || differs);
  cell = Cell{figure.value,
              figure.rank,
              figure.seen,
              figure.percent,
              conflict,
              running,
              figure.kind == Kind::kLooseTime,
              marked,
              figure.closes};
  if (grows) {  // the loss beside it is one so far as well
    Cell& loss = where->cells[*place == 1 ? 0 : 2];
    if (loss.rank >= 2) loss.running = true;
  }
}

void Block::replace(std::int64_t epoch, const LineFigure& figure) {
  const auto place = cell_of(figure);
  Row* where = place ? row(epoch) : nullptr;
  if (where != nullptr && !where->cells[*place].conflict &&
      figure.rank <= where->cells[*place].rank)
    where->cells[*place] = Cell{};
  add(epoch, figure);
}

void Block::add_other_loss(std::int64_t position, const LineFigure& figure) {
  const std::string name = printable(figure.name);
  if (run_.other.size() >= kMostOtherLosses && !run_.other.contains(name)) return;
  ++figures_;
  run_.other[name].add(position, figure.value);
}

void Block::add_clock(const ClockPoint& point) {
  if (clock_fell_ || clock_.size() >= kMostClockPoints) return;
  ++figures_;
  clock_fell_ = !clock_.empty() && point.seconds <= clock_.back().seconds;
  if (clock_fell_) {
    clock_.clear();
  } else {
    clock_.push_back(point);
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

void Block::add_within(std::int64_t epoch, std::int64_t position, std::int64_t length,
                       const LineFigure& figure) {
  if (figure.kind == Kind::kClock) {
    add_clock({epoch, position, figure.value});
    return;
  }
  if (figure.kind == Kind::kOtherLoss) {
    add_other_loss(epoch * length + position, figure);
    return;
  }
  if (figure.kind == Kind::kStepTime && figure.averaged) {
    ++figures_;
    if (Row* where = row(epoch)) where->step_s = figure.value;
    return;
  }
  if (figure.kind == Kind::kStepTime || figure.kind == Kind::kRate ||
      figure.kind == Kind::kRatePerWorker || figure.kind == Kind::kTokenRate) {
    const bool rate = figure.kind == Kind::kRate;
    if (!rate) {
      add(epoch, figure);
      return;
    }
    ++figures_;
    run_.throughput.add(std::max<std::int64_t>(epoch, 0), figure.value);
    return;
  }
  if (figure.kind != Kind::kCell || figure.metric != Metric::kTrainLoss) return;
  ++figures_;
  run_.train_loss.add(epoch * length + position, figure.value);
  Row* where = row(epoch);
  if (where == nullptr || !std::isfinite(figure.value)) return;
  if (figure.averaged) {
    where->loss_sum = figure.value;
    where->losses = 1;
    loss_is_mean_ = false;
  } else {
    where->loss_sum += figure.value;
    ++where->losses;
    loss_is_mean_ = true;
    if (length > 0) length_ = length;
  }
  losses_within_ = true;
}

void Block::add_step(std::int64_t step, const LineFigure& figure) {
  last_step_ = std::max(last_step_, step);
  if (figure.kind == Kind::kRate) {
    ++figures_;
    (step < kStartSteps ? early_rates_ : run_.throughput).add(step, figure.value);
  } else if (figure.kind == Kind::kStepTime || figure.kind == Kind::kRatePerWorker ||
             figure.kind == Kind::kTokenRate || figure.kind == Kind::kTotalTime) {
    add(step, figure);
  } else if (figure.kind == Kind::kOtherLoss) {
    add_other_loss(step, figure);
  } else if (figure.kind == Kind::kCell && figure.metric == Metric::kTrainLoss) {
    ++figures_;
    run_.train_loss.add(step, figure.value);
  } else if (figure.kind == Kind::kCell && figure.metric == Metric::kValLoss) {
    ++figures_;
    run_.other["val_loss"].add(step, figure.value);
    if (!run_.at_end) run_.at_end.emplace();
    run_.at_end->val_loss = figure.value;
  } else if (figure.kind == Kind::kCell && figure.metric == Metric::kValAccuracy) {
    ++figures_;
    if (!run_.at_end) run_.at_end.emplace();
    // 1.0000001 is a rounded fraction, not a percentage.
    const bool percent = figure.percent || figure.value > 1.001;
    run_.at_end->val_accuracy = percent ? figure.value / 100 : figure.value;
  }
}

void Block::add_bar(std::int64_t epoch, double seconds, std::int64_t steps) {
  Row* where = row(epoch);
  if (where == nullptr || where->cells[kTime].rank <= 3) return;
  ++figures_;
  where->cells[kTime] = Cell{seconds, 3, 0, false, false, false, false, false};
  run_.steps_per_epoch.offer(steps);
  bars_ = true;
}

void Block::table_of(ImportedRun& run, bool training_is_part) const {
  EpochTable table;
  std::array<std::int64_t, kCells> conflicts{};
  std::vector<double> times;
  std::vector<std::int64_t> timed;
  std::size_t loose = 0;
  std::int64_t rate_conflicts = 0;
  for (const auto& [epoch, row] : rows_) {
    const bool figures = row.rate > 0 || row.losses > 0 || row.step_s > 0 ||
                         std::any_of(row.cells.begin(), row.cells.end(), [&](const Cell& cell) {
                           return cell.rank != 1000 && &cell != &row.cells[kLearningRate];
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
  }
  const auto warn_of_conflicts = [&](std::int64_t epochs, std::string_view name) {
    if (epochs == 0) return;
    run.warnings.push_back(fmt::format(
        "{} epochs have more than one {}, so it is left out: several processes wrote into the "
        "file, "
        "or it is printed more than once per epoch; --pattern chooses the line that counts",
        epochs, name));
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
        "line {} mentions memory that ran out, but figures follow it: not counted as a failure",
        memory_line));
  }
  return run;
}

}  // namespace lockstep::import
