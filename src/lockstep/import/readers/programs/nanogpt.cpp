#include <cmath>

#include "lockstep/import/model/stated_facts.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/readers/transcript/line_kinds.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// Three dialects:
///   step:5096/5100 train_loss:3.27 train_time:909840ms step_avg:178.89ms   (a clock and a mean)
///   iter 10: loss 4.1, time 51.2ms, mfu 6.64% ; step 250: train loss 1.2, val loss 1.4
///   [train] iter 10: loss 8.7 2942 ms/iter ; [eval] iter 500: train 4.29 val 4.28 lr 3e-4
class NanogptParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (text.starts_with("step:")) return clocked(text);
    if (text.starts_with("step ") && contains(text, "train loss") && contains(text, "val loss")) {
      evaluated(integer_after(text, "step "), number_after(text, "train loss "),
                number_after(text, "val loss "));
      return true;
    }
    if (contains(text, "iter ") && contains_any<"ms/iter", "ms, mfu", ", time ">(text))
      return iterated(text);
    if (text.starts_with("[eval] iter ")) {
      evaluated(integer_after(text, "iter "), number_after(text, ": train "),
                number_after(text, " val "));
      return true;
    }
    if (tells_of_exhausted_memory(text)) return false;
    // nvidia-smi lists the devices; everything else before the steps may be the script itself.
    if (text.starts_with("|  ")) {
      std::vector<StatedFact> facts;
      find_facts(text, facts);
      for (const StatedFact& fact : facts) {
        if (fact.key == FactKey::kDevice) run_.device.offer(fact.text);
      }
    }
    return true;
  }

  std::vector<ImportedRun> finish() override {
    if (!run_.has_figures()) return {};
    if (mean_s_ > 0) {
      run_.step_time = Series();
      run_.step_time.add(last_step_, mean_s_);
      run_.notes["step_time"] = "mean over the run, as printed with its last step";
    }
    if (clock_s_ > 0) run_.total_s = clock_s_;
    return {run_};
  }

 private:
  bool clocked(std::string_view text) {
    const auto step = integer_after(text, "step:");
    if (!step) return true;
    last_step_ = *step;
    const auto clock = number_after(text, "train_time:");
    const auto mean = number_after(text, "step_avg:");
    if (clock && *clock > 0) clock_s_ = *clock * 1e-3;
    if (mean && std::isfinite(*mean) && *mean > 0) mean_s_ = *mean * 1e-3;
    const auto loss = number_after(text, "train_loss:");
    if (loss) run_.train_loss.add(*step, *loss);
    const auto validation = number_after(text, "val_loss:");
    if (validation) evaluated(step, std::nullopt, validation);
    if (clock && !loss && !validation) run_.notes["steps"] = std::to_string(*step);
    return true;
  }

  bool iterated(std::string_view text) {
    const auto step = integer_after(text, "iter ");
    const auto loss = number_after(text, "loss ");
    if (!step || !loss) return true;
    run_.train_loss.add(*step, *loss);
    auto time = number_after(text, "time ");
    const std::size_t unit = text.find(" ms/iter");
    if (!time && unit != std::string_view::npos) {
      std::size_t begin = unit;
      while (begin > 0 && (is_digit(text[begin - 1]) || text[begin - 1] == '.')) --begin;
      time = parse_number(text.substr(begin, unit - begin));
    }
    // No utilisation is computed for the first five steps, which contain compiling and evaluating.
    const bool starts = contains(text, "mfu -100.00%");
    if (time && *time > 0 && !starts) run_.step_time.add(*step, *time * 1e-3);
    return true;
  }

  void evaluated(std::optional<std::int64_t> step, std::optional<double> train,
                 std::optional<double> validation) {
    if (!step || !validation) return;
    run_.other["val_loss"].add(*step, *validation);
    if (train) run_.other["eval_train_loss"].add(*step, *train);
    if (!run_.at_end) run_.at_end.emplace();
    run_.at_end->val_loss = *validation;
  }

  ImportedRun run_;
  std::int64_t last_step_ = 0;
  double mean_s_ = 0;
  double clock_s_ = 0;
};

Match recognise_nanogpt(const Sample& sample) {
  const std::string_view text = sample.text;
  if (contains(text, "step_avg:") && contains(text, "\nstep:")) return Match::kCertain;
  if (contains(text, "ms, mfu ") && contains(text, "iter ")) return Match::kCertain;
  if (contains(text, " ms/iter") && contains(text, "iter ") && contains(text, ": loss "))
    return Match::kLikely;
  return Match::kNo;
}

}  // namespace

LogFormat nanogpt_format() {
  return {"nanogpt",
          "nanoGPT and its variants (iter 10: loss 4.1, time 51.2ms; step:10/100 val_loss:3.28 "
          "step_avg:178ms)",
          recognise_nanogpt,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<NanogptParser>(); }};
}

}  // namespace lockstep::import
