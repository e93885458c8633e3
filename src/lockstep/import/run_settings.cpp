#include "lockstep/import/run_settings.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "lockstep/import/model/measurement_units.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

struct CountSetting {
  std::string_view name;
  Fact<std::int64_t> ImportedRun::*fact;
};

// "batch" and "batch_size" mean the batch per worker, as the command line of lockstep does.
constexpr CountSetting kCounts[] = {
    {"workers", &ImportedRun::workers},
    {"num_workers_total", &ImportedRun::workers},
    {"num_gpus", &ImportedRun::workers},
    {"n_gpus", &ImportedRun::workers},
    {"ngpus", &ImportedRun::workers},
    {"gpus", &ImportedRun::workers},
    {"gpu_count", &ImportedRun::workers},
    {"world_size", &ImportedRun::workers},
    {"ranks", &ImportedRun::workers},
    {"nodes", &ImportedRun::nodes},
    {"num_nodes", &ImportedRun::nodes},
    {"batch", &ImportedRun::batch_per_worker},
    {"batch_size", &ImportedRun::batch_per_worker},
    {"batch_per_worker", &ImportedRun::batch_per_worker},
    {"batch_per_gpu", &ImportedRun::batch_per_worker},
    {"per_device_train_batch_size", &ImportedRun::batch_per_worker},
    {"global_batch", &ImportedRun::global_batch},
    {"global_batch_size", &ImportedRun::global_batch},
    {"accumulate", &ImportedRun::accumulate},
    {"gradient_accumulation_steps", &ImportedRun::accumulate},
    {"examples", &ImportedRun::examples},
    {"train_examples", &ImportedRun::examples},
    {"epochs", &ImportedRun::epochs_planned},
    {"num_epochs", &ImportedRun::epochs_planned},
    {"max_epochs", &ImportedRun::epochs_planned},
    {"steps_per_epoch", &ImportedRun::steps_per_epoch},
    {"parameters", &ImportedRun::parameters},
};

struct TextSetting {
  std::string_view name;
  Fact<std::string> ImportedRun::*fact;
};

constexpr TextSetting kTexts[] = {
    {"model", &ImportedRun::model},     {"arch", &ImportedRun::model},
    {"dataset", &ImportedRun::dataset}, {"device", &ImportedRun::device},
    {"gpu_type", &ImportedRun::device},
};

}  // namespace

bool offer_setting(std::string_view name, std::string_view value, ImportedRun& run,
                   Provenance from) {
  const std::size_t dot = name.find_last_of("./");
  const std::string key = lower(dot == std::string_view::npos ? name : name.substr(dot + 1));
  for (const CountSetting& setting : kCounts) {
    if (key != setting.name) continue;
    const auto count = parse_integer(value);
    if (!count || *count < 1) return false;
    (run.*setting.fact).offer(*count, from);
    return true;
  }
  if (key == "time_unit") {
    const auto factor = unit_factor(Quantity::kTime, lower(value));
    if (factor) set_time_unit(*factor, run);
    return factor.has_value();
  }
  if (key == "batch_of") {
    if (value != "worker" && value != "all") return false;
    if (run.batch_said)
      (value == "worker" ? run.batch_per_worker : run.global_batch).offer(*run.batch_said, from);
    return true;
  }
  for (const TextSetting& setting : kTexts) {
    if (key != setting.name || value.empty()) continue;
    (run.*setting.fact).offer(printable(value), from);
    return true;
  }
  return false;
}

bool is_setting(std::string_view name) {
  const std::size_t dot = name.find_last_of("./");
  const std::string key = lower(dot == std::string_view::npos ? name : name.substr(dot + 1));
  return key == "time_unit" || key == "batch_of" ||
         std::any_of(std::begin(kCounts), std::end(kCounts),
                     [&](const CountSetting& setting) { return key == setting.name; }) ||
         std::any_of(std::begin(kTexts), std::end(kTexts),
                     [&](const TextSetting& setting) { return key == setting.name; });
}

std::string_view setting_names() {
  return "workers, nodes, batch (per worker), global_batch, accumulate, examples, epochs, "
         "steps_per_epoch, parameters, model, dataset, device, time_unit and batch_of=worker or "
         "all (of "
         "tables)";
}

}  // namespace lockstep::import
