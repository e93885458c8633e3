#include "lockstep/import/readers/transcript/block.h"

#include <algorithm>
#include <cmath>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

using Kind = LineFigure::Kind;

constexpr std::size_t kMostOtherLosses = 64;
constexpr std::size_t kMostClockPoints = 100'000;
/// Rates of these steps contain the start of the program where later ones are printed.
constexpr std::int64_t kStartSteps = 10;
/// How far, relatively, the times of processes that end together may be apart.
constexpr double kSameEnd = 0.005;

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
  // Lines follow their epoch; in a long run a search would miss every cache.
  if (!rows_.empty() && rows_.rbegin()->first == epoch) return &rows_.rbegin()->second;
  const auto found = rows_.lower_bound(epoch);
  if (found != rows_.end() && found->first == epoch) return &found->second;
  if (rows_.size() >= kMostEpochs || epoch < 0 || epoch > EpochTable::kMostEpochs) return nullptr;
  return &rows_.emplace_hint(found, epoch, Row{})->second;
}

bool Block::sums_up(const LineFigure& figure) {
  switch (figure.kind) {
    case Kind::kRate:
    case Kind::kRatePerWorker:
    case Kind::kTokenRate:
    case Kind::kStepTime:
    case Kind::kMeanEpochTime:
      return true;
    case Kind::kTotalTime:  // "Total time" alone may be of any part of the program
      return figure.rank == 0;
    case Kind::kLooseTime:
      return figure.closes;
    default:
      return false;
  }
}

void Block::add_summary(const LineFigure& figure) {
  const Kind kind = figure.kind == Kind::kLooseTime ? Kind::kTotalTime : figure.kind;
  const auto [known, first] = summary_.try_emplace(kind, Summary{figure});
  if (first) ++figures_;
  known->second.figure.name = {};  // of a line that is gone
  known->second.conflict = known->second.conflict || known->second.figure.value != figure.value;
}

void Block::drop_summary() {
  figures_ -= summary_.size();
  summary_.clear();
}

void Block::begin_epoch(std::int64_t epoch) {
  drop_summary();
  run_.at_end.reset();  // what steps before the epochs validated
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

/// Figures of a later epoch: the total was of something else.
void Block::outlive_total(std::int64_t epoch) {
  if (total_ && epoch > total_epoch_) total_.reset();
}

void Block::add(std::int64_t epoch, const LineFigure& figure, bool marked) {
  ++figures_;
  if (figure.kind != Kind::kTotalTime) outlive_total(epoch);
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
      // "Epoch 2, total time 18.9" on the line of each epoch: of it, or since the start.
      if (marked && ++marked_totals_ > 1) {
        if (total_is_marked_) total_.reset();
        return;
      }
      if (!total_ || figure.rank <= total_->rank) {
        total_ = figure;
        total_epoch_ = last_epoch_;
        total_is_marked_ = marked;
      }
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
  // "Training complete in 248.4468 s", "... 248.4471 s": each process measured the same end.
  const bool one_end = figure.closes && cell.closes &&
                       std::abs(figure.value - cell.value) < kSameEnd * std::abs(cell.value);
  const bool differs =
      same_choice && cell.value != figure.value && !grows && !one_end && *place != kLearningRate;
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
              figure.closes,
              figure.elapsed};
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

void Block::add_within(std::int64_t epoch, std::int64_t position, std::int64_t length,
                       const LineFigure& figure) {
  outlive_total(epoch);
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

void Block::add_between(std::int64_t epoch, std::int64_t step, const LineFigure& figure) {
  if (figure.kind != Kind::kCell) {
    add_within(epoch, step, 0, figure);
  } else if (figure.metric == Metric::kTrainLoss) {
    ++figures_;
    run_.train_loss.add(step, figure.value);
  }
}

void Block::add_step(std::int64_t step, const LineFigure& figure) {
  drop_summary();
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
  where->cells[kTime] = Cell{.value = seconds, .rank = 3};
  run_.steps_per_epoch.offer(steps);
  bars_ = true;
}

}  // namespace lockstep::import
