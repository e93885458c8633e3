#include "lockstep/import/readers/readers.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// "TimeHistory: 0.33 seconds, 3.01 examples/second between steps 1 and 2". The interval from step
/// 0 contains the start of the program. Steps that begin again are another run; a batch that is
/// stated before them is its own.
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
      // A cluster's workers may drive several devices each, and scripts quote other runs' settings:
      // nothing around these lines states the workers or the batch for certain.
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
  void end() {
    if (run_.has_figures()) {
      run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(std::move(run_));
    }
    run_ = ImportedRun();
  }

  std::vector<ImportedRun> runs_;
  ImportedRun run_;
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
