#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/import/run_record.h"

namespace lockstep::import {
namespace {

using nlohmann::json;

json number(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

template <class T>
void put(json& facts, const char* name, const Fact<T>& fact) {
  if (fact) facts[name] = {{"value", *fact}, {"from", provenance_name(fact.from)}};
}

json summary(const Series& series) {
  return {{"count", series.count()},
          {"mean", number(series.mean())},
          {"median", number(series.median())},
          {"minimum", number(series.minimum())},
          {"maximum", number(series.maximum())},
          {"last", number(series.last())}};
}

void put_series(json& out, const char* name, const Series& series) {
  if (!series.empty()) out[name] = summary(series);
}

json facts_of(const ImportedRun& run) {
  json facts = json::object();
  put(facts, "workers", run.workers);
  put(facts, "nodes", run.nodes);
  put(facts, "batch_per_worker", run.batch_per_worker);
  put(facts, "global_batch", run.global_batch);
  put(facts, "accumulate", run.accumulate);
  put(facts, "examples", run.examples);
  put(facts, "epochs", run.epochs_planned);
  put(facts, "steps_per_epoch", run.steps_per_epoch);
  put(facts, "parameters", run.parameters);
  put(facts, "model", run.model);
  put(facts, "dataset", run.dataset);
  put(facts, "device", run.device);
  return facts;
}

json epoch_of(const record::EpochResult& epoch) {
  return {
      {"epoch", epoch.epoch},
      {"train_loss", number(epoch.train_loss)},
      {"train_accuracy", number(epoch.train_accuracy)},
      {"val_loss", number(epoch.val_loss)},
      {"val_accuracy", number(epoch.val_accuracy)},
      {"learning_rate", number(epoch.learning_rate)},
      {"train_s", epoch.train_s > 0 ? number(epoch.train_s) : json(nullptr)},
      {"examples_per_s", epoch.examples_per_s > 0 ? number(epoch.examples_per_s) : json(nullptr)}};
}

void put_traces(json& out, const ImportedRun& run) {
  for (const RankSplit& split : run.ranks) {
    out["ranks"].push_back({{"rank", split.rank},
                            {"steps", split.steps},
                            {"step_s", number(split.step_s)},
                            {"compute_s", number(split.compute_s)},
                            {"communication_s", number(split.communication_s)},
                            {"exposed_s", number(split.exposed_s)},
                            {"overlap_s", number(split.overlap_s)},
                            {"idle_s", number(split.idle_s)}});
  }
  if (!run.collective.empty()) out["collective"] = run.collective;
  for (const LinkPoint& point : run.link) {
    out["link"].push_back({{"bytes", point.bytes},
                           {"time_s", number(point.time_s)},
                           {"algbw_bytes_per_s", number(point.algbw)},
                           {"busbw_bytes_per_s", number(point.busbw)},
                           {"in_place", point.in_place}});
  }
}

}  // namespace

json describe(const ImportedRun& run) {
  json out{{"label", run.label}, {"format", run.format}, {"facts", facts_of(run)}};
  out["epochs"] = json::array();
  for (const record::EpochResult& epoch : run.epochs) out["epochs"].push_back(epoch_of(epoch));
  if (run.at_end) out["at_end"] = epoch_of(*run.at_end);
  if (run.epoch_s) out["epoch_s"] = *run.epoch_s;
  put_series(out, "step_time_s", run.step_time);
  put_series(out, "throughput", run.throughput);
  put_series(out, "throughput_per_worker", run.throughput_per_worker);
  put_series(out, "train_loss", run.train_loss);
  for (const auto& [name, series] : run.other) out["other"][name] = summary(series);
  for (const auto& [name, value] : run.reported) out["reported"][name] = number(value);
  if (run.reported_throughput) out["reported_throughput"] = number(*run.reported_throughput);
  if (run.total_s) out["total_s"] = number(*run.total_s);
  if (run.queue_wait_s) out["queue_wait_s"] = number(*run.queue_wait_s);
  if (run.sync_s) out["sync_s"] = number(*run.sync_s);
  if (run.out_of_memory) out["out_of_memory"] = true;
  if (!run.failure.empty()) out["failure"] = run.failure;
  put_traces(out, run);
  if (!run.rows.empty()) out["rows"] = run.rows.size();
  out["notes"] = run.notes;
  out["missing"] = run.missing;
  out["warnings"] = run.warnings;
  return out;
}

}  // namespace lockstep::import
