#include <array>
#include <cmath>
#include <string>

#include "lockstep/import/readers/readers.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// A framework that prints one line per step or per few steps, with "name: number" pairs.
struct StepShape {
  std::string_view name;
  std::string_view description;
  std::array<std::string_view, 2> signs;  ///< both are in the file; no other format has both
  std::string_view line;                  ///< is on every line with figures
  std::string_view step;                  ///< names here precede their numbers
  std::string_view loss;
  std::string_view time;  ///< of one step; empty = not printed
  double time_scale = 1;
  std::string_view tokens;       ///< tokens per second of one device; empty = not printed
  std::int64_t first_timed = 0;  ///< the times of earlier steps are not those of a step
};

constexpr std::array<StepShape, 5> kShapes{{
    {"torchtitan",
     "torchtitan (step: 5  loss: 11.1  memory: 8.4GiB  tps: 6,634  mfu: 20.65%)",
     {"tps: ", "mfu: "},
     "tps: ",
     "step:",
     "loss:",
     "",
     1,
     "tps:"},
    {"nemo",
     "NVIDIA NeMo (global_step: 29 | reduced_train_loss: 11.03 | train_step_timing in s: 46.84)",
     {"train_step_timing in s:", "reduced_train_loss:"},
     "train_step_timing in s:",
     "global_step:",
     "reduced_train_loss:",
     "train_step_timing in s:",
     1,
     ""},
    {"detectron2",
     "detectron2 (iter: 199  total_loss: 0.292  time: 0.2895  data_time: 0.0092)",
     {"total_loss: ", "data_time: "},
     "total_loss: ",
     " iter:",
     "total_loss:",
     " time:",
     1,
     ""},
    {"mmengine",
     "OpenMMLab's mmengine and mmcv (Epoch(train) [1][1/6]  time: 0.98  data_time: 0.01  loss: "
     "0.42)",
     {"data_time: ", "(train)"},
     "(train)",
     "][",
     " loss:",
     " time:",
     1,
     ""},
    // Step 0 contains the compilation; that of step 1 is the time to queue it.
    {"maxtext",
     "MaxText (completed step: 9, seconds: 5.67, TFLOP/s/device: 135, Tokens/s/device: 8671, loss: "
     "9.4)",
     {"completed step: ", "TFLOP/s"},
     "completed step: ",
     "completed step:",
     " loss:",
     " seconds:",
     1,
     "Tokens/s/device:",
     2},
}};

class StepLogParser final : public LogParser {
 public:
  explicit StepLogParser(const StepShape& shape) : shape_(shape) {}

  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (contains(text, shape_.line)) {
      figures(text);
      return true;
    }
    summary(text);
    // These tools print their whole configuration and whole documents quote them: general facts
    // are read only where the line is one of a running program.
    return shape_.name == "nemo" || shape_.name == "mmengine";
  }

  std::vector<ImportedRun> finish() override {
    if (!run_.has_figures()) return {};
    if (overall_s_ > 0) {
      run_.step_time = Series();
      run_.step_time.add(last_step_, overall_s_);
      run_.notes["step_time"] = "mean over the run, as printed at its end";
    }
    return {run_};
  }

 private:
  void figures(std::string_view text) {
    const auto step = integer_after(text, shape_.step);
    const auto loss = number_after(text, shape_.loss);
    if (!step || !loss || *step < 0) return;
    if (*step == last_step_ && *loss == last_loss_) return;  // printed twice
    ++lines_;
    last_step_ = *step;
    last_loss_ = *loss;
    // mmengine counts the steps of each epoch from 1.
    const std::int64_t position = shape_.name == "mmengine" ? lines_ : *step;
    run_.train_loss.add(position, *loss);
    if (!shape_.time.empty()) {
      const auto time = number_after(text, shape_.time);
      if (time && *time > 0 && *step >= shape_.first_timed)
        run_.step_time.add(position, *time * shape_.time_scale);
    }
    if (!shape_.tokens.empty()) {
      const auto tokens = number_after(text, shape_.tokens);
      if (tokens && *tokens > 0) run_.other["tokens_per_s_per_device"].add(position, *tokens);
    }
    const auto batch = integer_after(text, "global_batch_size:");
    if (batch && *batch > 0) run_.global_batch.offer(*batch);
  }

  /// "GPU 0,1,2,3       TITAN Xp" of detectron2's table, "CUDA capacity: NVIDIA A100
  /// with 79.15GiB".
  void device(std::string_view text) {
    std::string_view name;
    const std::size_t capacity = text.find(" capacity: ");
    if (capacity != std::string_view::npos && contains(text, "GiB")) {
      name = text.substr(capacity + 11);
      name = name.substr(0, name.find(" with "));
    } else if (text.starts_with("GPU 0") || text.starts_with("GPU 0,")) {
      name = text.substr(4);
      name.remove_prefix(std::min(name.find_first_not_of("0123456789,"), name.size()));
      if (!name.starts_with("  ")) return;
    }
    name = trim(name);
    if (name.size() > 2 && name.size() < 60 && is_letter(name[0]))
      run_.device.offer(printable(name));
  }

  void summary(std::string_view text) {
    if (!contains_any<"training", "IMS_PER_BATCH", "train_batch_size", "GPU number", "Distributed",
                      "capacity: ", "GPU 0", "global_batch_size", "per_device_batch_size",
                      "Num_devices: ">(text))
      return;
    device(text);
    const auto overall = number_after(text, "iterations in ");
    if (overall && contains(text, "Overall training speed")) {
      const std::size_t open = text.find('(');
      const auto each =
          open == std::string_view::npos ? std::nullopt : number_after(text.substr(open), "(");
      if (each && *each > 0 && contains(text, "s / it")) overall_s_ = *each;
    }
    const std::size_t total = text.find("Total training time: ");
    if (total != std::string_view::npos) {
      const std::string_view clock = text.substr(total + 21);
      const auto seconds = parse_duration(clock.substr(0, clock.find(' ')));
      if (seconds && *seconds > 0) run_.total_s = *seconds;
    }
    const auto images = integer_after(text, "IMS_PER_BATCH:");
    if (images && *images > 0 && !run_.global_batch) run_.global_batch.offer(*images);
    const auto batch = integer_after(text, "train_batch_size =");
    if (batch && *batch > 0 && !run_.batch_said) run_.batch_said = *batch;
    // MaxText: its devices, and the batch of each.
    const auto each = integer_after(text, "Config param per_device_batch_size:");
    if (each && *each > 0) run_.batch_per_worker.offer(*each);
    const auto devices = integer_after(text, "Num_devices:");
    if (devices && *devices > 0) run_.workers.offer(*devices);
    const auto gpus = integer_after(text, "GPU number:");
    if (gpus && *gpus > 0) run_.workers.offer(*gpus);
  }

  const StepShape& shape_;
  ImportedRun run_;
  std::int64_t last_step_ = -1;
  double last_loss_ = std::nan("");
  double overall_s_ = 0;
  std::int64_t lines_ = 0;
};

template <std::size_t I>
LogFormat step_format() {
  return {
      kShapes[I].name, kShapes[I].description,
      [](const Sample& sample) {
        const bool all = contains(sample.text, kShapes[I].signs[0]) &&
                         contains(sample.text, kShapes[I].signs[1]) &&
                         contains(sample.text, kShapes[I].line);
        return all ? Match::kCertain : Match::kNo;
      },
      []() -> std::unique_ptr<LogParser> { return std::make_unique<StepLogParser>(kShapes[I]); }};
}

}  // namespace

std::vector<LogFormat> step_log_formats() {
  return {step_format<0>(), step_format<1>(), step_format<2>(), step_format<3>(), step_format<4>()};
}

}  // namespace lockstep::import
