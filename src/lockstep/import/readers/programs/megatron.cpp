#include "lockstep/import/readers/readers.h"

#include <cmath>
#include <string>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// "  world_size ................... 16" -> {"world_size", "16"}, after any logging prefix.
struct Argument {
  std::string_view name;
  std::string_view value;
};

std::optional<Argument> argument(std::string_view text) {
  const std::size_t dots = text.find(" ..");
  std::size_t name_end = dots;
  std::size_t value_begin = std::string_view::npos;
  if (dots != std::string_view::npos) {
    const std::size_t after = text.find(' ', dots + 1);
    if (after == std::string_view::npos) return std::nullopt;
    value_begin = text.find_first_not_of(' ', after);
  } else {
    // Names as long as the column have two blanks instead: "  train_micro_batch_size_per_gpu  48".
    const std::string_view body = trim(text);
    const std::size_t gap = body.rfind("  ");
    if (gap == std::string_view::npos || contains(body, "|")) return std::nullopt;
    name_end = static_cast<std::size_t>(body.data() - text.data()) + gap;
    value_begin = text.find_first_not_of(' ', name_end);
  }
  if (value_begin == std::string_view::npos) return std::nullopt;
  std::string_view name = trim(text.substr(0, name_end));
  const std::size_t blank = name.find_last_of(" \t]");
  if (blank != std::string_view::npos) name = name.substr(blank + 1);
  if (name.empty() || name.size() > 80) return std::nullopt;
  return Argument{name, trim(text.substr(value_begin))};
}

class MegatronParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (text.size() > 8192) return false;
    if (contains(text, " iteration ") && contains(text, "elapsed time per iteration"))
      return iteration(text);
    if (contains(text, "SamplesPerSec=")) return samples_per_second(text);
    if (contains(text, "samples/sec: ") && contains(text, "iter time (s): ")) return pipeline(text);
    if (contains(text, "time (ms) | ")) return timers(text);
    if (contains(text, "validation loss at iteration ")) return validation(text);
    if (contains(text, "end of arguments")) return true;
    if (contains(text, "using world size: ")) return sizes(text);
    if (const auto count = number_after(text, "total parameters ")) {
      if (text.ends_with(" B") && *count > 0 && *count < 1e6)
        run_.parameters.offer(std::llround(*count * 1e9));
      return true;
    }
    if (const auto found = argument(text)) return take(*found);
    return false;
  }

  std::vector<ImportedRun> finish() override {
    end_run();
    return std::move(runs_);
  }

 private:
  bool iteration(std::string_view text) {
    if (world_ == 0) rank_of(text);
    const auto step = integer_after(text, " iteration ");
    const std::int64_t at = step.value_or(last_step_ + 1);
    if (at < last_step_ && at <= 1) end_run();
    last_step_ = at;
    while (!text.empty()) {
      const std::size_t stop = text.find('|');
      const std::string_view part = trim(text.substr(0, stop));
      text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
      const std::size_t colon = part.rfind(": ");
      if (colon == std::string_view::npos) continue;
      std::string_view rest = part.substr(colon + 2);
      const auto value = take_number(rest);
      // Primus adds its mean: "5123.4/5130.2", "496.3 (avg 496.1)".
      const bool alone = value && (rest.empty() || rest[0] == '/' || rest.starts_with(" (avg "));
      if (alone) iteration_figure(part.substr(0, colon), *value, at);
    }
    return true;
  }

  /// "[rank-7/8]" before the line: Primus names the count of processes with the rank.
  void rank_of(std::string_view text) {
    const std::size_t at = text.substr(0, 80).find("[rank-");
    if (at == std::string_view::npos) return;
    std::string_view rest = text.substr(at + 6);
    const auto rank = take_number(rest);
    if (!rank || !rest.starts_with('/')) return;
    rest.remove_prefix(1);
    const auto count = take_number(rest);
    if (count && *count > *rank && *count < 1e7 && rest.starts_with(']'))
      world_ = std::max(world_, static_cast<std::int64_t>(*count));
  }

  /// "using world size: 16, data-parallel size: 4, tensor-model-parallel size: 2, ...".
  bool sizes(std::string_view text) {
    sizes_stated_ = true;
    if (const auto world = integer_after(text, "using world size: "); world && *world > 0)
      world_ = std::max(world_, *world);
    for (const std::string_view mark :
         {"tensor-model-parallel size: ", "pipeline-model-parallel size: ",
          " context-parallel size: ", "and model-parallel size: "}) {
      if (const auto parts = integer_after(text, mark); parts && *parts > 1)
        run_.may_split_model = true;
    }
    return true;
  }

  void iteration_figure(std::string_view name, double value, std::int64_t step) {
    if (name == "elapsed time per iteration (ms)") {
      run_.step_time.add(step, value / 1000);
    } else if (name == "elapsed time per iteration (s)") {
      run_.step_time.add(step, value);
    } else if (name == "lm loss" || name == "loss") {
      run_.train_loss.add(step, value);
    } else if (name == "global batch size") {
      if (value > 0 && value < 1e12) run_.global_batch.offer(std::llround(value));
    } else if (contains(name, "TFLOP")) {
      run_.other["tflops_per_gpu"].add(step, value);
    } else if (name.starts_with("tokens per GPU") || name.starts_with("tokens/s/GPU") ||
               name.starts_with("Tokens per second per GPU")) {
      run_.other["tokens_per_s_per_gpu"].add(step, value);
    } else if (name == "samples per second") {
      run_.throughput.add(step, value);
    } else if (name == "grad norm" || name == "learning rate" || name == "loss scale") {
      run_.other[std::string(name)].add(step, value);
    }
  }

  /// DeepSpeed's throughput timer counts the micro-batches of all data-parallel ranks.
  bool samples_per_second(std::string_view text) {
    auto rate = number_after(text, "CurrSamplesPerSec=");
    if (!rate) rate = number_after(text, " SamplesPerSec=");
    if (rate && *rate > 0)
      run_.throughput.add(integer_after(text, "global_step=").value_or(++printed_), *rate);
    return true;
  }

  bool pipeline(std::string_view text) {
    const std::int64_t step = integer_after(text, "steps: ").value_or(++printed_);
    if (const auto seconds = number_after(text, "iter time (s): "))
      run_.step_time.add(step, *seconds);
    if (const auto rate = number_after(text, "samples/sec: ")) run_.throughput.add(step, *rate);
    if (const auto loss = number_after(text, " loss: ")) run_.train_loss.add(step, *loss);
    return true;
  }

  /// "time (ms) | forward: 35650.91 | backward: 85861.86 | ...".
  bool timers(std::string_view text) {
    if (last_step_ == 0 && printed_ == 0) return true;  // set-up, not a step
    text.remove_prefix(text.find("time (ms) | ") + 12);
    while (!text.empty()) {
      const std::size_t stop = text.find('|');
      const std::string_view part = trim(text.substr(0, stop));
      text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
      const std::size_t colon = part.rfind(": ");
      if (colon == std::string_view::npos || run_.other.size() > 64) continue;
      const auto value = parse_number(part.substr(colon + 2));
      if (value)
        run_.other[printable(part.substr(0, colon), 40) + "_s"].add(last_step_, *value / 1000);
    }
    return true;
  }

  bool validation(std::string_view text) {
    const auto step = integer_after(text, "validation loss at iteration ");
    const auto loss = number_after(text, "lm loss value: ");
    const char* name = contains(text, " on test set") ? "test_loss" : "val_loss";
    if (loss) run_.other[name].add(step.value_or(last_step_), *loss);
    return true;
  }

  bool take(const Argument& found) {
    const auto value = parse_integer(found.value);
    if (!value) {
      if (found.name == "deepspeed_config" || found.name == "fp16" || found.name == "bf16") {
        run_.notes[std::string(found.name)] = printable(found.value);
      }
      return false;
    }
    if (*value < 1) return false;
    if (found.name == "world_size") {
      // DeepSpeed's own is the data-parallel degree; Megatron's counts the processes.
      world_ = std::max(world_, *value);
    } else if (found.name == "train_batch_size" || found.name == "global_batch_size") {
      run_.global_batch.offer(*value);
    } else if (found.name == "train_micro_batch_size_per_gpu" || found.name == "micro_batch_size") {
      run_.notes["micro_batch_per_replica"] = std::to_string(*value);
    } else if (found.name == "gradient_accumulation_steps") {
      run_.accumulate.offer(*value);
    } else if (found.name == "model_parallel_size" || found.name == "tensor_model_parallel_size") {
      run_.notes["model_parallel"] = std::to_string(*value);
      run_.may_split_model = run_.may_split_model || *value > 1;
      sizes_stated_ = true;
    } else if (found.name == "pipeline_model_parallel_size") {
      run_.notes["pipeline_parallel"] = std::to_string(*value);
      run_.may_split_model = run_.may_split_model || *value > 1;
    } else if (found.name == "context_parallel_size") {
      run_.may_split_model = run_.may_split_model || *value > 1;
    } else if (found.name == "num_layers" || found.name == "hidden_size" ||
               found.name == "seq_length" || found.name == "zero_stage" ||
               found.name == "train_iters") {
      run_.notes[std::string(found.name)] = std::to_string(*value);
    } else {
      return false;
    }
    return true;
  }

  void end_run() {
    if (!run_.step_time.empty() || !run_.throughput.empty()) {
      if (world_ > 0) run_.workers.offer(world_);
      // Megatron splits networks; only where the sizes are stated are shares of the batch known.
      if (last_step_ > 0 && !sizes_stated_) run_.may_split_model = true;
      run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(run_);
    }
    // Arguments are printed once; a restart in the same file has the same.
    run_.step_time = run_.throughput = run_.train_loss = Series();
    run_.other.clear();
    last_step_ = 0;
  }

  std::vector<ImportedRun> runs_;
  ImportedRun run_;
  std::int64_t world_ = 0;
  std::int64_t last_step_ = 0;
  std::int64_t printed_ = 0;
  bool sizes_stated_ = false;  ///< over how many workers a network is split
};

Match recognise_megatron(const Sample& sample) {
  const std::string_view text = sample.text;
  if (contains(text, "elapsed time per iteration (ms):") ||
      contains(text, "elapsed time per iteration (s):")) {
    return Match::kCertain;
  }
  if (contains(text, "SamplesPerSec=") || contains(text, "iter time (s): ")) return Match::kCertain;
  return contains(text, "DeepSpeedEngine configuration") || contains(text, " arguments -----")
             ? Match::kLikely
             : Match::kNo;
}

}  // namespace

LogFormat megatron_format() {
  return {
      "megatron",
      "Megatron-LM and DeepSpeed stdout (iteration 1/1000 | elapsed time per iteration (ms): ...)",
      recognise_megatron,
      []() -> std::unique_ptr<LogParser> { return std::make_unique<MegatronParser>(); }};
}

}  // namespace lockstep::import
