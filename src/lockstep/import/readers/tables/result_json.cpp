#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "lockstep/import/model/config_facts.h"
#include "lockstep/import/model/metric_names.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kLargestResult = 16 * 1024 * 1024;

void offer_figure(const std::string& key, double value, ImportedRun& run) {
  if (!std::isfinite(value)) return;
  if (key == "tokens_per_sec" || key == "tokens_per_second") {
    run.other["tokens_per_s"].add(0, value);
    return;
  }
  if (key == "total_time_s" || key == "total_time" || key == "training_time_s" ||
      key == "total_train_time") {
    if (value > 0) run.total_s = value;
    return;
  }
  const MetricName name = metric_of(key);
  switch (name.metric) {
    case Metric::kStepTime:
      // "optimizer_step_ms" and the like are parts of a step.
      if (value > 0 && key.starts_with("step_time")) run.step_time.add(0, value * name.scale);
      return;
    case Metric::kEpochTime:
      if (value > 0) run.epoch_s = value * name.scale;
      return;
    case Metric::kThroughput:
      if (value > 0) run.reported_throughput = value;
      return;
    case Metric::kThroughputPerWorker:
      if (value > 0) run.throughput_per_worker.add(0, value);
      return;
    default:
      break;
  }
  record::EpochResult end = run.at_end.value_or(record::EpochResult{});
  if (set_quality(name.metric, value, end)) run.at_end = end;
}

/// The result of one run that a benchmark script wrote as one JSON object. Nested objects only name
/// the device: their numbers are settings, not results.
class ResultJsonReader final : public Reader {
 public:
  std::string_view name() const override { return "result-json"; }
  std::string_view description() const override {
    return "the result of one run as one JSON object (world_size, batch_size_per_rank, "
           "step_time_ms, loss)";
  }
  Match recognise(const Sample& sample) const override {
    const std::string_view text = trim(sample.text);
    if (!sample.complete || !text.starts_with('{') || !text.ends_with('}')) return Match::kNo;
    const bool runs =
        contains_any<"\"world_size\"", "\"batch_size", "\"num_gpus\"", "\"global_batch_size\"">(
            text);
    const bool figures =
        contains_any<"\"step_time", "\"tokens_per_sec", "\"samples_per_sec", "\"throughput",
                     "\"epoch_time", "\"total_time", "\"images_per_sec">(text);
    return runs && figures && nlohmann::json::accept(text) ? Match::kLikely : Match::kNo;
  }
  void read(Input& input, ImportSink& sink) const override {
    const nlohmann::json result = nlohmann::json::parse(input.peek(kLargestResult), nullptr, false);
    if (!result.is_object()) {
      sink.warn(input.name() + " is not one whole JSON object");
      return;
    }
    ImportedRun run;
    for (const auto& [key, value] : result.items()) {
      if (value.is_number() && !offer_config(key, value.dump(), run))
        offer_figure(key, value.get<double>(), run);
      if (value.is_string()) offer_config(key, value.get_ref<const std::string&>(), run);
      if (!value.is_object()) continue;
      for (const auto& [inner, text] : value.items()) {
        if (text.is_string() && (inner == "gpu" || inner == "gpu_name" || inner == "device_name"))
          offer_config(inner, text.get_ref<const std::string&>(), run);
      }
    }
    if (run.has_figures()) sink.add(std::move(run));
  }
};

}  // namespace

std::unique_ptr<Reader> make_result_json_reader() {
  return std::make_unique<ResultJsonReader>();
}

}  // namespace lockstep::import
