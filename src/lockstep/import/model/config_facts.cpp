#include "lockstep/import/model/config_facts.h"

#include <array>
#include <string>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

struct ConfigCount {
  std::string_view name;
  Fact<std::int64_t> ImportedRun::*fact;
};

constexpr std::array<ConfigCount, 35> kConfigCounts{{
    {"world_size", &ImportedRun::workers},
    {"num_workers_total", &ImportedRun::workers},
    {"num_gpus", &ImportedRun::workers},
    {"n_gpus", &ImportedRun::workers},
    {"ngpus", &ImportedRun::workers},
    {"n_gpu", &ImportedRun::workers},
    {"num_processes", &ImportedRun::workers},
    {"nodes", &ImportedRun::nodes},
    {"num_nodes", &ImportedRun::nodes},
    {"nnodes", &ImportedRun::nodes},
    {"batch_size_per_rank", &ImportedRun::batch_per_worker},
    {"batch_size_per_worker", &ImportedRun::batch_per_worker},
    {"batch_size_per_gpu", &ImportedRun::batch_per_worker},
    {"batch_size_per_device", &ImportedRun::batch_per_worker},
    {"per_device_batch_size", &ImportedRun::batch_per_worker},
    {"per_device_train_batch_size", &ImportedRun::batch_per_worker},
    {"local_batch_size", &ImportedRun::batch_per_worker},
    {"batch_per_gpu", &ImportedRun::batch_per_worker},
    {"batch_per_device", &ImportedRun::batch_per_worker},
    {"per_device_batch", &ImportedRun::batch_per_worker},
    {"per_gpu_batch_size", &ImportedRun::batch_per_worker},
    {"global_batch_size", &ImportedRun::global_batch},
    {"effective_batch_size", &ImportedRun::global_batch},
    {"total_batch_size", &ImportedRun::global_batch},
    {"gradient_accumulation_steps", &ImportedRun::accumulate},
    {"accumulate_grad_batches", &ImportedRun::accumulate},
    {"grad_accum", &ImportedRun::accumulate},
    {"epochs", &ImportedRun::epochs_planned},
    {"num_epochs", &ImportedRun::epochs_planned},
    {"n_epochs", &ImportedRun::epochs_planned},
    {"max_epochs", &ImportedRun::epochs_planned},
    {"num_train_epochs", &ImportedRun::epochs_planned},
    {"parameters", &ImportedRun::parameters},
    {"num_parameters", &ImportedRun::parameters},
    {"n_params", &ImportedRun::parameters},
}};

struct ConfigText {
  std::string_view name;
  Fact<std::string> ImportedRun::*fact;
};

constexpr std::array<ConfigText, 10> kConfigTexts{{
    {"model", &ImportedRun::model},
    {"model_name", &ImportedRun::model},
    {"arch", &ImportedRun::model},
    {"dataset", &ImportedRun::dataset},
    {"dataset_name", &ImportedRun::dataset},
    {"device", &ImportedRun::device},
    {"gpu_type", &ImportedRun::device},
    {"gpu", &ImportedRun::device},
    {"gpu_name", &ImportedRun::device},
    {"device_name", &ImportedRun::device},
}};

constexpr std::size_t kLongestConfigText = 80;

/// A name, not an index, a path or a printed object.
bool is_config_word(std::string_view value) {
  return !value.empty() && value.size() <= kLongestConfigText && is_letter(value[0]) &&
         value.find_first_of("<{[()") == std::string_view::npos && value != "None" &&
         value != "null" && value != "true" && value != "false" && value != "auto" &&
         value != "gpu" && !value.starts_with("cuda");
}

}  // namespace

bool offer_config(std::string_view name, std::string_view value, ImportedRun& run) {
  const std::size_t dot = name.find_last_of("./");
  const std::string key = lower(dot == std::string_view::npos ? name : name.substr(dot + 1));
  value = trim(value);
  if (const auto count = parse_number(value)) {
    if (!(*count >= 1) || *count > 1e12 ||
        *count != static_cast<double>(static_cast<std::int64_t>(*count)))
      return false;
    const auto whole = static_cast<std::int64_t>(*count);
    if (key == "batch_size" || key == "train_batch_size") {
      run.batch_said = whole;
      return true;
    }
    for (const ConfigCount& setting : kConfigCounts) {
      if (key != setting.name) continue;
      (run.*setting.fact).offer(whole);
      return true;
    }
    return false;
  }
  if (!is_config_word(value)) return false;
  for (const ConfigText& setting : kConfigTexts) {
    if (key != setting.name) continue;
    (run.*setting.fact).offer(printable(value));
    return true;
  }
  if (key == "precision" || key == "dtype" || key == "strategy" || key == "optimizer") {
    run.notes[key] = printable(value);
    return true;
  }
  return false;
}

}  // namespace lockstep::import
