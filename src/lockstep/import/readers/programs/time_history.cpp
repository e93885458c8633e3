#include <algorithm>
#include <cmath>
#include <limits>

#include "lockstep/import/model/stated_facts.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// Half of the last digit that is printed after `mark`: how far the number may be from the true
/// one.
double rounding_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  std::string_view number = text.substr(at + mark.size());
  number = number.substr(0, number.find_first_not_of("0123456789."));
  const std::size_t point = number.find('.');
  if (point == std::string_view::npos) return 0.5;
  return 0.5 * std::pow(10, -static_cast<double>(number.size() - point - 1));
}

/// The batches that fit the printed times and rates: TensorFlow computes
/// rate = batch x steps / seconds.
class BatchWindow {
 public:
  void narrow(double seconds, double seconds_off, double rate, double rate_off, double steps) {
    low_ = std::max(low_, (seconds - seconds_off) * (rate - rate_off) / steps);
    high_ = std::min(high_, (seconds + seconds_off) * (rate + rate_off) / steps);
  }
  bool fits(std::int64_t batch) const {
    return static_cast<double>(batch) >= low_ && static_cast<double>(batch) <= high_;
  }
  /// The only whole number that fits; 0 without.
  std::int64_t only() const {
    const double batch = std::floor(high_);
    const bool one = high_ < 1e9 && batch >= 1 && batch >= low_ && batch - 1 < low_;
    return one ? static_cast<std::int64_t>(batch) : 0;
  }

 private:
  double low_ = 0;
  double high_ = std::numeric_limits<double>::max();
};

/// "TimeHistory: 0.33 seconds, 3.01 examples/second between steps 1 and 2". The interval from step
/// 0 contains the start of the program. Steps that begin again are another run; a batch that is
/// stated before them is its own. Settings around the lines may be those of other runs: a batch
/// counts if the figures confirm it, workers as TensorFlow's strategy prints them.
class TimeHistoryParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const std::string_view text = line.text;
    const std::size_t at = position_of("TimeHistory: ", text);
    if (at == std::string_view::npos) {
      const auto batch = integer_after(text, "profiling batch size ");
      if (batch && *batch > 0 && *batch != next_batch_) {
        end();
        next_batch_ = *batch;
        fresh_ = true;
      }
      find_settings(text);
      if (text.starts_with("{'") && contains(text, "'loss': ")) results(text);
      return true;
    }
    const std::string_view rest = text.substr(at);
    const auto seconds = number_after(rest, "TimeHistory: ");
    const auto rate = number_after(rest, "seconds, ");
    const auto first = integer_after(rest, "between steps ");
    const auto last = integer_after(rest, " and ");
    if (!seconds || !rate || !first || !last || *last <= *first || *first < 0) return true;
    if (*first == first_ && *last == last_) return true;  // printed by two loggers
    if (*first < last_) {
      end();
      fresh_ = true;
    }
    first_ = *first;
    last_ = *last;
    const bool start = fresh_ || *first == 0;
    fresh_ = false;
    if (*rate > 0 && *seconds > 0)
      window_.narrow(*seconds, rounding_after(rest, "TimeHistory: "), *rate,
                     rounding_after(rest, "seconds, "), static_cast<double>(*last - *first));
    if (start || !(*seconds > 0)) return true;
    if (next_batch_ > 0) run_.global_batch.offer(next_batch_);
    run_.step_time.add(*first, *seconds / static_cast<double>(*last - *first));
    if (*rate > 0) run_.throughput.add(*first, *rate);
    return true;
  }

  std::vector<ImportedRun> finish() override {
    end();
    return std::move(runs_);
  }

 private:
  /// "{'loss': 12.37, 'training_accuracy_top_1': 0.0016, 'accuracy_top_1': 0.002, 'eval_loss':
  /// ...}" at the end: of the last run.
  void results(std::string_view text) {
    if (!run_.has_figures()) return;
    record::EpochResult end;
    const auto take = [&](std::string_view name, double& target) {
      const auto value = number_after(text, name);
      if (value && std::isfinite(*value)) target = *value;
    };
    take("'loss': ", end.train_loss);
    take("'training_accuracy_top_1': ", end.train_accuracy);
    take("'eval_loss': ", end.val_loss);
    take("'accuracy_top_1': ", end.val_accuracy);
    run_.at_end = end;
  }

  void find_settings(std::string_view text) {
    const std::size_t gpu = text.find("physical GPU (device: 0, name: ");
    if (gpu != std::string_view::npos) {
      std::string_view name = text.substr(gpu + 31);
      name = trim(name.substr(0, name.find(',')));
      devices_differ_ = devices_differ_ || (!device_.empty() && device_ != name);
      if (!name.empty() && name.size() < 60) device_ = printable(name);
    }
    if (contains(text, "irroredStrategy with ")) {
      found_.clear();
      find_facts(text, found_);
      for (const StatedFact& fact : found_) {
        if (fact.key == FactKey::kWorldSize) replicas_ = fact.number;
      }
    }
    for (const std::string_view mark : {"BATCH_SIZE=", "batch_size=", "'batch_size': "}) {
      const std::size_t at = text.find(mark);
      if (at == std::string_view::npos || (at > 0 && text[at - 1] == '_')) continue;
      const auto batch = integer_after(text.substr(at), mark);
      const bool known =
          batch && std::find(stated_.begin(), stated_.end(), *batch) != stated_.end();
      if (batch && *batch > 0 && !known && stated_.size() < kMostStated) stated_.push_back(*batch);
    }
  }

  /// The batch that the figures leave, or the only stated one among those that they leave.
  void settle_batch() {
    if (run_.global_batch) return;
    if (const std::int64_t only = window_.only(); only > 0) {
      run_.global_batch.offer(only, Provenance::kDerived);
      run_.notes["global_batch"] = "seconds x examples/second / steps";
      return;
    }
    std::vector<std::int64_t> fitting;
    std::copy_if(stated_.begin(), stated_.end(), std::back_inserter(fitting),
                 [&](std::int64_t batch) { return window_.fits(batch); });
    if (fitting.size() != 1) return;
    run_.global_batch.offer(fitting.front());
    run_.notes["global_batch"] = "stated in the file and confirmed by seconds x examples/second";
  }

  void end() {
    if (run_.has_figures()) {
      settle_batch();
      if (replicas_ > 0) run_.workers.offer(replicas_);
      if (!device_.empty() && !devices_differ_) run_.device.offer(device_);
      run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(std::move(run_));
    }
    run_ = ImportedRun();
    window_ = BatchWindow();
  }

  static constexpr std::size_t kMostStated = 100;

  std::vector<ImportedRun> runs_;
  ImportedRun run_;
  BatchWindow window_;
  std::vector<StatedFact> found_;
  std::vector<std::int64_t> stated_;  ///< batch sizes that the file states
  std::string device_;
  bool devices_differ_ = false;
  std::int64_t replicas_ = 0;
  std::int64_t next_batch_ = 0;
  std::int64_t first_ = -1;
  std::int64_t last_ = -1;
  bool fresh_ = false;  ///< the next interval contains the start of a run
};

Match recognise_time_history(const Sample& sample) {
  const bool found = contains(sample.text, "TimeHistory: ") &&
                     contains(sample.text, "examples/second between steps ");
  return found ? Match::kCertain : Match::kNo;
}

}  // namespace

LogFormat time_history_format() {
  return {"time-history",
          "TimeHistory lines of the TensorFlow models (0.33 seconds, 3.01 examples/second between "
          "steps "
          "1 and 2)",
          recognise_time_history,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<TimeHistoryParser>(); }};
}

}  // namespace lockstep::import
