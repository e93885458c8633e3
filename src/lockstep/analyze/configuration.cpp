#include "lockstep/analyze/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "lockstep/base/units.h"
#include "lockstep/record/measurement_columns.h"

namespace lockstep::analyze {
namespace {

using record::Measurement;

std::string variant_of(const std::map<std::string, std::string>& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  }
  return text;
}

/// Whether some worker count was run with several numbers of threads and nothing else changed.
bool threads_tell_apart(std::span<const Measurement> rows) {
  std::map<std::vector<std::string>, std::set<std::int64_t>> threads;
  for (const Measurement& row : rows) {
    if (!row.threads_per_worker) continue;
    std::vector<std::string> same;
    for (const char* column : {"model", "dataset", "device", "nodes", "workers", "batch_per_worker",
                               "global_batch", "stated_batch", "study"}) {
      same.push_back(record::column_text(row, column));
    }
    for (const auto& [name, value] : record::settings_of(row)) {
      if (name != "threads_per_worker") same.push_back(name + "=" + value);
    }
    std::set<std::int64_t>& seen = threads[same];
    seen.insert(*row.threads_per_worker);
    if (seen.size() > 1) return true;
  }
  return false;
}

auto key_of(const Configuration& c) {
  return std::tuple(c.model, c.dataset, c.device, c.variant, c.epochs, c.global_batch,
                    c.batch_per_worker, c.stated_batch, c.nodes, c.workers, c.examples,
                    c.threads_per_worker);
}

auto order_of(const Configuration& c) {
  return std::tuple(c.model, c.dataset, c.device, c.variant, c.epochs,
                    c.gave_global_batch ? c.global_batch : std::nullopt, c.batch_per_worker,
                    c.stated_batch, c.workers, c.nodes);
}

}  // namespace

Configuration configuration_of(const Measurement& row,
                               const std::set<std::string>& distinguishing) {
  Configuration c;
  c.model = row.model;
  c.dataset = row.dataset;
  c.device = row.device;
  c.settings = record::settings_of(row);
  std::erase_if(c.settings, [&](const auto& one) { return !distinguishing.contains(one.first); });
  c.variant = variant_of(c.settings);
  c.strategy = row.strategy;
  c.scaling = row.scaling;
  c.threads_per_worker = row.threads_per_worker;
  if (const auto found = row.notes.find("micro_steps"); found != row.notes.end()) {
    c.micro_steps = std::max(1, std::atoi(found->second.c_str()));
  }
  c.loader_workers = row.loader_workers;
  c.flops_per_example = row.flops_per_example;
  c.example_unit = row.example_unit;
  c.nodes = row.nodes;
  c.workers = row.workers;
  c.batch_per_worker = row.batch_per_worker;
  c.global_batch = row.global_batch;
  if (!c.batch_per_worker && !c.global_batch) c.stated_batch = row.stated_batch;
  c.examples = row.examples;
  c.epochs = row.epochs;
  c.gave_batch_per_worker = row.batch_per_worker.has_value();
  c.gave_global_batch = row.global_batch.has_value();
  if (c.workers && c.batch_per_worker && !c.global_batch) {
    c.global_batch = std::llround(static_cast<double>(*c.workers) * *c.batch_per_worker);
  }
  if (c.workers && c.global_batch && !c.batch_per_worker && *c.global_batch % *c.workers == 0) {
    c.batch_per_worker = static_cast<double>(*c.global_batch) / static_cast<double>(*c.workers);
  }
  return c;
}

namespace {

/// The values of one metric while they are collected.
struct Collected {
  std::vector<double> plain;
  std::map<std::string, std::map<int, double>> by_run;  ///< run -> epoch -> value
};

bool is_timing(const std::string& metric) {
  return metric.ends_with("_time") || metric == "throughput" || metric == "token_rate" ||
         metric == "epoch_energy" || metric.ends_with("_per_s");
}

/// Times of every epoch are repeats of one another; of a loss or an accuracy the last epoch counts.
void settle(Configuration& c, const std::string& metric, const Collected& collected) {
  std::vector<double>& values = c.values[metric];
  values = collected.plain;
  std::map<int, std::vector<double>> epochs;
  for (const auto& [run, curve] : collected.by_run) {
    for (const auto& [epoch, value] : curve) {
      epochs[epoch].push_back(value);
      if (is_timing(metric)) values.push_back(value);
    }
    if (!is_timing(metric) && !curve.empty()) values.push_back(curve.rbegin()->second);
  }
  for (const auto& [epoch, at_epoch] : epochs) {
    c.curves[metric][epoch] = summarize(at_epoch).mean;
  }
  if (values.empty()) c.values.erase(metric);
}

bool has_time(const Configuration& c) {
  return c.value("epoch_time") || c.value("throughput") || c.value("step_time") ||
         c.value("total_time");
}

/// Where no time and no rate of examples was measured, another rate shows how the work grows with
/// the workers: of several the one that most configurations have. Without the examples, nothing is
/// derived from it that it does not give.
void take_other_rates(std::vector<Configuration>& all) {
  constexpr std::string_view kPerSecond = "_per_s";
  std::map<std::string, int> counts;
  for (const Configuration& c : all) {
    for (const auto& [metric, values] : c.values) counts[metric] += metric.ends_with(kPerSecond);
  }
  for (Configuration& c : all) {
    if (has_time(c)) continue;
    const std::string* best = nullptr;
    for (const auto& [metric, values] : c.values) {
      if (!metric.ends_with(kPerSecond) || !c.value(metric)) continue;
      if (best == nullptr || counts[metric] > counts[*best]) best = &metric;
    }
    if (best == nullptr) continue;
    c.example_unit = best->substr(0, best->size() - kPerSecond.size());
    c.other_work = true;
    c.examples.reset();
    c.flops_per_example.reset();
    c.values["throughput"] = c.values[*best];
  }
}

std::optional<std::int64_t> parameters_of(const Measurement& row) {
  if (row.metric == "parameters") return std::llround(row.value);
  return row.parameters;
}

}  // namespace

std::string_view origin_name(Origin origin) {
  return origin == Origin::kMeasured ? "measured" : "derived";
}

std::set<std::string> distinguishing_settings(std::span<const Measurement> rows) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> present;
  std::size_t count = 0;
  for (const Measurement& row : rows) {
    if (row.metric == "parameters") continue;
    ++count;
    for (const auto& [name, value] : record::settings_of(row)) {
      values[name].insert(value);
      ++present[name];
    }
  }
  std::set<std::string> names;
  for (const auto& [name, seen] : values) {
    const bool differs = seen.size() > 1 || present[name] < count;
    if (differs && name != "threads_per_worker") names.insert(name);
  }
  if (values.contains("threads_per_worker") && threads_tell_apart(rows)) {
    names.insert("threads_per_worker");
  }
  return names;
}

std::optional<double> Configuration::value(const std::string& metric) const {
  const auto found = values.find(metric);
  if (found == values.end()) return std::nullopt;
  const double middle = median(found->second);
  return std::isfinite(middle) ? std::optional(middle) : std::nullopt;
}

Summary Configuration::summary(const std::string& metric) const {
  const auto found = values.find(metric);
  return found == values.end() ? Summary{} : summarize(found->second);
}

std::optional<std::int64_t> Configuration::steps_per_epoch() const {
  if (!examples || !global_batch) return std::nullopt;
  return (*examples + *global_batch - 1) / *global_batch;
}

std::string Configuration::rate_unit() const {
  return (example_unit.empty() ? "examples" : example_unit) + "/s";
}

std::string common_rate_unit(std::span<const Configuration* const> all) {
  const std::string unit = all.front()->rate_unit();
  const bool same = std::all_of(all.begin(), all.end(),
                                [&](const Configuration* one) { return one->rate_unit() == unit; });
  return same ? unit : "examples/s";
}

std::string Configuration::label() const {
  std::string text = !workers         ? device
                     : device.empty() ? counted(*workers, "worker")
                                      : fmt::format("{} {}", *workers, device);
  if (!variant.empty()) text += fmt::format(" ({})", variant);
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (batch_per_worker) add(fmt::format("b = {}", record::batch_text(*batch_per_worker)));
  if (global_batch) add(fmt::format("B = {}", *global_batch));
  if (stated_batch) add(fmt::format("batch {}", *stated_batch));
  return text;
}

std::vector<Configuration> configurations(std::span<const Measurement> rows) {
  using Key = decltype(key_of(std::declval<Configuration>()));
  const std::set<std::string> distinguishing = distinguishing_settings(rows);
  std::map<Key, Configuration> grouped;
  std::map<Key, std::map<std::string, Collected>> collected;
  std::map<std::string, std::int64_t> parameters;
  for (const Measurement& row : rows) {
    if (const auto count = parameters_of(row)) parameters[row.model] = *count;
    if (row.metric == "parameters" || row.metric.starts_with("reported_")) continue;
    Configuration started = configuration_of(row, distinguishing);
    const Key key = key_of(started);
    Configuration& c = grouped.try_emplace(key, std::move(started)).first->second;
    c.unreliable |= !row.unreliable.empty();
    c.contains_warm_up |= row.contains_warm_up;
    if (c.disturbed.empty()) c.disturbed = row.disturbed;
    Collected& metric = collected[key][row.metric];
    if (row.warm_up) continue;
    if (row.epoch) {
      metric.by_run[row.run][static_cast<int>(*row.epoch)] = row.value;
    } else {
      metric.plain.push_back(row.value);
    }
  }
  std::vector<Configuration> result;
  for (auto& [key, c] : grouped) {
    for (const auto& [metric, values] : collected[key]) settle(c, metric, values);
    if (const auto found = parameters.find(c.model); found != parameters.end()) {
      c.parameters = found->second;
    }
    result.push_back(std::move(c));
  }
  take_other_rates(result);
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  return result;
}

}  // namespace lockstep::analyze
