#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/model/metric_names.h"
#include "lockstep/import/readers/transcript/line_split.h"

namespace lockstep::import {

/// A number of a line and what it is.
struct LineFigure {
  enum class Kind {
    kCell,           ///< of an epoch: `metric` is a loss, an accuracy or the learning rate
    kEpochTime,      ///< seconds of the epoch
    kLooseTime,      ///< "Training Time: 14.9": of the epoch above it or of the whole run
    kMeanEpochTime,  ///< "Training Time for Each Epoch: 14.2"
    kTotalTime,      ///< "Total training time: 1486.7 seconds"
    kStepTime,       ///< seconds
    kRate,           ///< examples per second, all workers
    kRatePerWorker,
    kTokenRate,  ///< tokens per second
    kClock,      ///< "time: 9.3" on a line within an epoch: a clock, or the time of a part
    kOtherLoss,  ///< one of several losses of a network, by its own name
  };
  Kind kind = Kind::kCell;
  Metric metric = Metric::kOther;
  int rank = 0;  ///< 0 = the name is exact, higher = second choice
  double value = 0;
  bool percent = false;
  std::int64_t seen = 0;  ///< "(17/128)" after a percentage: over so many examples; 0 = not stated
  bool averaged = false;  ///< the mean in parentheses of "Loss 2.08 (2.11)"
  std::string_view name = {};  ///< of kOtherLoss; valid as long as the line is
  bool of_error = false;       ///< an accuracy that is one less an error rate
  bool closes = false;         ///< "Training complete in 95 s": a time of what has ended
  bool elapsed = false;        ///< "Elapsed time: 14.9": of the epoch, or since the start
};

/// The place of the line.
struct LinePlace {
  bool marked = false;         ///< it names its epoch
  bool within = false;         ///< and is about a part of it
  Split above = Split::kNone;  ///< what the heading above it is about
  bool saves = false;  ///< "Saved model at epoch 5 with accuracy 91.2": of training or of a test?
  bool has_rare = false;  ///< words that few lines have: "best", "err"
};

/// Appends the figures of `text`, which begins after the epoch's number. `whole` is the line.
void line_figures(std::string_view text, std::string_view whole, const LinePlace& place,
                  MetricCache& metrics, std::vector<LineFigure>& figures);

/// "train loss", "epoch time": for messages and explanations.
std::string figure_words(const LineFigure& figure);

}  // namespace lockstep::import
