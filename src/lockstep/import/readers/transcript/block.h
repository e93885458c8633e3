#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/model/imported_run.h"
#include "lockstep/import/model/stated_facts.h"
#include "lockstep/import/readers/transcript/line_figures.h"

namespace lockstep::import {

/// The figures of consecutive lines that belong together: one pass over the epochs of one run, as
/// one process printed it. Two different values of one figure make that figure unknown, they are
/// never averaged and neither is chosen.
class Block {
 public:
  /// Larger tables are damage; this bounds the memory.
  static constexpr std::size_t kMostEpochs = 200'000;

  bool empty() const { return figures_ == 0 && !out_of_memory && !kept_; }
  /// The block is a run although it may have no figure.
  void keep_without_figures() { kept_ = has_epochs(); }
  bool has_epochs() const { return first_epoch_ >= 0; }
  std::int64_t first_epoch() const { return first_epoch_; }
  std::int64_t last_epoch() const { return last_epoch_; }

  /// An epoch was named, with or without figures.
  void begin_epoch(std::int64_t epoch);
  /// Whether the epoch has another value of this figure already.
  bool conflicts(std::int64_t epoch, const LineFigure& figure) const;
  /// A figure of a line about the whole epoch, or of a line after it.
  /// `marked`: the line names the epoch; a different value on another line is then not the epoch's.
  void add(std::int64_t epoch, const LineFigure& figure, bool marked = false);
  /// A figure of a line about a part of the epoch.
  void add_within(std::int64_t epoch, std::int64_t position, std::int64_t length,
                  const LineFigure& figure);
  /// The same of a step between the results of that epoch and the next.
  void add_between(std::int64_t epoch, std::int64_t step, const LineFigure& figure);
  /// A figure of a line that counts steps, in a run without epochs.
  void add_step(std::int64_t step, const LineFigure& figure);
  /// Whether the figure may be one of a whole run that prints neither epochs nor steps.
  static bool sums_up(const LineFigure& figure);
  /// Such a figure. Epochs or steps that follow show that it was of something before the training.
  void add_summary(const LineFigure& figure);
  /// A figure at the end of a progress bar, which replaces the one that the bar showed before.
  void replace(std::int64_t epoch, const LineFigure& figure);
  /// The time of a finished progress bar over the training of an epoch.
  void add_bar(std::int64_t epoch, double seconds, std::int64_t steps);

  /// The run as far as it is certain; `warnings` names the rest. `training_is_part`: this file
  /// prints "training time" as a part of the epoch.
  ImportedRun finish(bool training_is_part) const;

  std::string words_above;        ///< between rules, above its first epoch
  std::vector<StatedFact> facts;  ///< in force, outermost first
  int group = 0;                  ///< blocks of one group are under the same headings
  bool out_of_memory = false;
  std::string failure;
  std::uint64_t memory_line = 0;  ///< where memory ran out; figures after it are named
  bool figures_after_failure = false;
  std::uint64_t memory_line_below = 0;  ///< memory ran out under a later heading

 private:
  static constexpr std::array<Metric, 5> kCellMetrics{Metric::kTrainLoss, Metric::kTrainAccuracy,
                                                      Metric::kValLoss, Metric::kValAccuracy,
                                                      Metric::kLearningRate};
  static constexpr std::size_t kLearningRate = 4;
  static constexpr std::size_t kTime = 5;
  static constexpr std::size_t kCells = 6;
  struct Cell {
    double value = 0;
    int rank = 1000;
    std::int64_t seen = 0;
    bool percent = false;
    bool conflict = false;
    bool running = false;  ///< a value so far, not that of the epoch
    bool loose = false;    ///< a time that may be of the whole run
    bool marked = false;   ///< stood on a line that names the epoch
    bool closes = false;   ///< a loose time of training that has ended
    bool elapsed = false;  ///< a time since the beginning of the epoch or of the run
  };
  struct Row {
    std::array<Cell, kCells> cells;
    double rate = 0;
    bool rate_marked = false;  ///< it stood on a line that names the epoch
    bool rate_conflict = false;
    double loss_sum = 0;  ///< of lines within the epoch
    std::int64_t losses = 0;
    double step_s = 0;  ///< the last mean printed in the epoch
  };
  static std::optional<std::size_t> cell_of(const LineFigure& figure);
  Row* row(std::int64_t epoch);
  void outlive_total(std::int64_t epoch);
  void table_of(ImportedRun& run, bool training_is_part) const;
  void times_of(ImportedRun& run) const;
  void clock_of(ImportedRun& run) const;

  std::map<std::int64_t, Row> rows_;
  ImportedRun run_;
  std::int64_t first_epoch_ = -1;
  std::int64_t last_epoch_ = -1;
  std::int64_t last_step_ = -1;
  std::uint64_t figures_ = 0;
  bool kept_ = false;
  struct Summary {
    LineFigure figure;
    bool conflict = false;
  };
  void drop_summary();
  void sum_up(ImportedRun& run) const;
  std::map<LineFigure::Kind, Summary> summary_;
  std::optional<LineFigure> total_;
  std::int64_t total_epoch_ = -1;  ///< the last one when it was printed
  bool total_is_marked_ = false;   ///< it stands on the line of an epoch
  int marked_totals_ = 0;
  std::optional<LineFigure> mean_;
  bool mean_conflict_ = false;
  bool bars_ = false;
  struct ClockPoint {
    std::int64_t epoch;
    std::int64_t position;
    double seconds;
  };
  void add_clock(const ClockPoint& point);
  void add_other_loss(std::int64_t position, const LineFigure& figure);
  std::vector<ClockPoint> clock_;  ///< what lines within epochs show
  bool losses_within_ = false;     ///< lines within epochs have them
  bool loss_is_mean_ = false;      ///< of what they print; otherwise the last mean that they print
  std::int64_t length_ = 0;        ///< of an epoch, in examples or steps
  bool clock_fell_ = false;        ///< it is none
  Series early_rates_;             ///< of the first steps, which contain the start
};

}  // namespace lockstep::import
