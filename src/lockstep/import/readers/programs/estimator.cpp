#include "lockstep/import/readers/readers.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// "INFO:tensorflow:loss = 2.3, step = 100 (4.1 sec)", "INFO:tensorflow:global_step/sec: 24.1".
/// The seconds are those since the line before, which is some number of steps ago.
class EstimatorParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (const auto rate = number_after(text, "global_step/sec:")) {
      if (*rate > 0 && !again_) {
        run_.step_time.add(step_, 1 / *rate);
        run_.notes["step_time"] = "1 / global_step/sec";
      }
      return true;
    }
    const auto loss = number_after(text, "tensorflow:loss = ");
    const auto step = integer_after(text, ", step = ");
    if (!loss || !step || *step < 0) return false;
    // A log that begins again is another run, and this reader keeps one.
    if (*step < step_) again_ = true;
    if (again_) return true;
    step_ = *step;
    run_.train_loss.add(*step, *loss);
    return true;
  }

  std::vector<ImportedRun> finish() override {
    if (!run_.has_figures()) return {};
    if (again_)
      run_.warnings.emplace_back(
          "the step numbers start again; only the first run of the file was read");
    return {std::move(run_)};
  }

 private:
  ImportedRun run_;
  std::int64_t step_ = 0;
  bool again_ = false;
};

}  // namespace

LogFormat estimator_format() {
  return {"estimator", "TensorFlow Estimator (loss = 2.3, step = 100; global_step/sec: 24.1)",
          [](const Sample& sample) {
            const bool found = contains(sample.text, "tensorflow:loss = ") &&
                               contains(sample.text, "tensorflow:global_step/sec: ");
            return found ? Match::kCertain : Match::kNo;
          },
          []() -> std::unique_ptr<LogParser> { return std::make_unique<EstimatorParser>(); }};
}

}  // namespace lockstep::import
