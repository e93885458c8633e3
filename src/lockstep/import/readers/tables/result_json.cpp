#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lockstep/import/model/config_facts.h"
#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/model/metric_names.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/readers/tables/table_counts.h"
#include "lockstep/import/readers/tables/table_runs.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kLargestResult = 16 * 1024 * 1024;
constexpr std::size_t kMostResults = 100'000;
constexpr std::size_t kMostColumns = 256;

/// "step_time_ms", "mean_step_time_sec"; not "optimizer_step_ms".
bool is_step_time(std::string_view key) {
  for (const std::string_view mean : {"mean_", "avg_", "average_", "median_"}) {
    if (key.starts_with(mean)) key.remove_prefix(mean.size());
  }
  return key == "step_sec" || key == "step_s" || key == "step_ms" || key.starts_with("step_time") ||
         key.starts_with("iter_time") || key.starts_with("iteration_time");
}

void offer_figure(const std::string& key, double value, ImportedRun& run) {
  if (!std::isfinite(value)) return;
  if (key == "tokens_per_sec" || key == "tokens_per_second" || key == "tokens_per_s" ||
      key == "tokens_per_sec_global" || key == "global_tokens_per_sec") {
    run.other["tokens_per_s"].add(0, value);
    return;
  }
  if (key == "total_time_s" || key == "total_time" || key == "training_time_s" ||
      key == "total_train_time") {
    if (value > 0) run.total_s = value;
    return;
  }
  const MetricName name = metric_of(key);
  if (is_step_time(key)) {
    const bool named = name.metric == Metric::kStepTime;
    const double scale = named ? name.scale : key.ends_with("_ms") ? 1e-3 : 1;
    if (value > 0) run.step_time.add(0, value * scale);
    return;
  }
  switch (name.metric) {
    case Metric::kStepTime:
      return;  // "optimizer_step_time_ms" and the like are parts of a step
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

/// The objects of "[{...}, {...}]", or those of a text with one per line. None where anything else
/// stands between them.
std::vector<nlohmann::json> objects_of(std::string_view text) {
  std::vector<nlohmann::json> objects;
  text = trim(text);
  if (text.starts_with('[')) {
    nlohmann::json array = nlohmann::json::parse(text, nullptr, false);
    if (!array.is_array()) return {};
    for (nlohmann::json& each : array) objects.push_back(std::move(each));
  }
  while (text.starts_with('{') && objects.size() < kMostResults) {
    const std::size_t stop = text.find('\n');
    objects.push_back(nlohmann::json::parse(text.substr(0, stop), nullptr, false));
    text = stop == std::string_view::npos ? std::string_view() : trim(text.substr(stop));
    if (!text.empty() && !objects.back().is_object()) return {};
  }
  const bool all = std::all_of(objects.begin(), objects.end(),
                               [](const nlohmann::json& each) { return each.is_object(); });
  return all ? objects : std::vector<nlohmann::json>();
}

void add_columns(const nlohmann::json& object, TextTable& table) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) add_columns(value, table);
    if (!value.is_number() && !value.is_string()) continue;
    if (std::find(table.columns.begin(), table.columns.end(), key) == table.columns.end())
      table.columns.push_back(key);
  }
}

void fill_cells(const nlohmann::json& object, const TextTable& table, TextTable::Row& row) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) fill_cells(value, table, row);
    if (!value.is_number() && !value.is_string()) continue;
    const auto at = std::find(table.columns.begin(), table.columns.end(), key);
    row.cells[static_cast<std::size_t>(at - table.columns.begin())] =
        value.is_string() ? value.get<std::string>() : value.dump();
  }
}

/// Results of several runs are a table whose lines are the objects. Rows that count steps or have
/// times of their own are the course of a run, and so are epochs unless `epochs`.
TextTable table_of(const std::vector<nlohmann::json>& objects, bool epochs) {
  TextTable table;
  for (const nlohmann::json& object : objects) add_columns(object, table);
  for (const std::string& name : table.columns) {
    const Metric metric = metric_of(name).metric;
    if (name.starts_with('_') || metric == Metric::kStep) return {};
    if (metric == Metric::kEpoch && !epochs) return {};
  }
  if (table.columns.size() > kMostColumns) return {};
  for (const nlohmann::json& object : objects) {
    TextTable::Row row{table.rows.size() + 1, std::vector<std::string>(table.columns.size())};
    fill_cells(object, table, row);
    table.rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    // "training_iteration" 1, 2, 3, ...: the course of a run under another name.
    if (contains_any<"iter", "step">(table.columns[i]) && counts_up(table, i)) return {};
  }
  return table;
}

std::vector<ImportedRun> runs_of_objects(std::string_view text) {
  const std::vector<nlohmann::json> objects = objects_of(text);
  if (objects.empty()) return {};
  return runs_of_table(table_of(objects, trim(text).starts_with('[')));
}

/// Those of {"date": ..., "results": [{...}, {...}]}.
std::vector<ImportedRun> runs_within(const nlohmann::json& result) {
  std::vector<ImportedRun> runs;
  for (const auto& [key, value] : result.items()) {
    if (!value.is_array() || value.size() < 2) continue;
    std::vector<ImportedRun> found = runs_of_objects(value.dump());
    if (!runs.empty() && !found.empty()) return {};  // of which list?
    if (!found.empty()) runs = std::move(found);
  }
  return runs;
}

/// The list of {"config": {...}, "history": [{"epoch": 1, "train_loss": 0.5}, ...]} whose objects
/// count epochs; null without, and where there are several.
const nlohmann::json* epochs_within(const nlohmann::json& result) {
  const nlohmann::json* found = nullptr;
  for (const auto& [key, value] : result.items()) {
    if (!value.is_array() || value.empty()) continue;
    std::int64_t last = -1;
    const bool counts = std::all_of(value.begin(), value.end(), [&](const nlohmann::json& each) {
      if (!each.is_object() || !each.contains("epoch") || !each["epoch"].is_number_integer())
        return false;
      const auto epoch = each["epoch"].get<std::int64_t>();
      const bool next = epoch >= 0 && epoch <= EpochTable::kMostEpochs &&
                        (last < 0 ? epoch <= 1 : epoch == last + 1);
      last = epoch;
      return next;
    });
    if (!counts) continue;
    if (found != nullptr) return nullptr;
    found = &value;
  }
  return found;
}

ImportedRun run_of_epochs(const nlohmann::json& result, const nlohmann::json& epochs) {
  ImportedRun run;
  EpochTable table;
  for (const nlohmann::json& each : epochs) {
    const auto epoch = each["epoch"].get<std::int64_t>();
    for (const auto& [key, value] : each.items()) {
      const MetricName name = metric_of(key);
      if (!value.is_number() || !std::isfinite(value.get<double>())) continue;
      const double figure = value.get<double>();
      if (name.metric == Metric::kEpochTime) {
        if (figure > 0) table.set(epoch, name.metric, figure * name.scale);
      } else {
        table.set(epoch, name, figure);
      }
    }
  }
  run.epochs = table.results();
  const auto settings = [&](const nlohmann::json& object) {
    for (const auto& [key, value] : object.items()) {
      if (value.is_number()) offer_config(key, value.dump(), run);
      if (value.is_string()) offer_config(key, value.get_ref<const std::string&>(), run);
    }
  };
  settings(result);
  for (const char* name : {"config", "args", "settings", "hyperparameters", "params"}) {
    if (result.contains(name) && result[name].is_object()) settings(result[name]);
  }
  return run;
}

void add_all(std::vector<ImportedRun> runs, ImportSink& sink) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) runs[i].label = "#" + std::to_string(i + 1);
    sink.add(std::move(runs[i]));
  }
}

/// The results that a benchmark script wrote as JSON. In one object for one run, nested objects
/// only name the device: their numbers are settings, not results.
class ResultJsonReader final : public Reader {
 public:
  std::string_view name() const override { return "result-json"; }
  std::string_view description() const override {
    return "results as JSON: one object for one run (world_size, batch_size_per_rank, "
           "step_time_ms), several in an array or line by line";
  }
  Match recognise(const Sample& sample) const override {
    const std::string_view text = trim(sample.text);
    if (!sample.complete || text.size() < 2) return Match::kNo;
    const bool array = text.starts_with('[') && text.ends_with(']');
    const bool lines = text.starts_with('{') && text.find("}\n") != std::string_view::npos;
    if (array || lines) {
      if (runs_of_objects(text).size() > (array ? 0u : 1u)) return Match::kLikely;
    }
    if (!text.starts_with('{') || !text.ends_with('}')) return Match::kNo;
    if (contains(text, "\"epoch\"")) {
      const nlohmann::json result = nlohmann::json::parse(text, nullptr, false);
      const nlohmann::json* epochs = result.is_object() ? epochs_within(result) : nullptr;
      if (epochs != nullptr && !run_of_epochs(result, *epochs).epochs.empty())
        return Match::kLikely;
    }
    const bool runs =
        contains_any<"\"world_size\"", "\"batch_size", "\"num_gpus\"", "\"global_batch_size\"">(
            text);
    const bool figures =
        contains_any<"\"step_time", "\"tokens_per_sec", "\"samples_per_sec", "\"throughput",
                     "\"epoch_time", "\"total_time", "\"images_per_sec">(text);
    return runs && figures && nlohmann::json::accept(text) ? Match::kLikely : Match::kNo;
  }
  void read(Input& input, ImportSink& sink) const override {
    const std::string text(input.peek(kLargestResult));
    const nlohmann::json result = nlohmann::json::parse(text, nullptr, false);
    if (!result.is_object()) {
      std::vector<ImportedRun> runs = runs_of_objects(text);
      const bool any = !runs.empty();
      add_all(std::move(runs), sink);
      if (any) return;
      sink.warn(input.name() + " is not one whole JSON object");
      return;
    }
    if (const nlohmann::json* epochs = epochs_within(result)) {
      ImportedRun run = run_of_epochs(result, *epochs);
      if (!run.epochs.empty()) {
        sink.add(std::move(run));
        return;
      }
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
    run.steps_may_be_small = run.accumulate && *run.accumulate > 1;
    if (run.has_figures()) {
      sink.add(std::move(run));
    } else {
      add_all(runs_within(result), sink);
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_result_json_reader() {
  return std::make_unique<ResultJsonReader>();
}

}  // namespace lockstep::import
