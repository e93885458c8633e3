#include "lockstep/collect/simulated_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/collect/measured_step.h"
#include "lockstep/record/measurement_columns.h"

namespace lockstep::collect {
namespace {

/// Whether the row is of the series at its largest count.
bool belongs(const record::Measurement& row, const predict::TableSeries& series, double workers) {
  const analyze::SeriesKey& key = series.key;
  if (row.model != key.model || row.dataset != key.dataset || row.device != key.device ||
      static_cast<double>(row.workers.value_or(0)) != workers) {
    return false;
  }
  const bool weak = series.scaling == predict::Scaling::kWeak;
  const double batch =
      weak ? row.batch_per_worker.value_or(0) : static_cast<double>(row.global_batch.value_or(0));
  if (key.batch && batch != *key.batch) return false;
  return std::all_of(key.settings.begin(), key.settings.end(), [&](const auto& setting) {
    return record::column_text(row, setting.first) == setting.second;
  });
}

std::string workers_text(const simulate::Scenario& scenario) {
  const std::int64_t per_host = scenario.cluster.per_host;
  if (!scenario.sharing || (per_host == 1 && scenario.machines == 0)) {
    return "each worker with a device of its own";
  }
  if (scenario.machines > 0) return "all workers of a machine sharing its cores";
  return fmt::format("{} workers on each host sharing its cores", per_host);
}

}  // namespace

std::optional<std::int64_t> largest_run(std::span<const record::Measurement> rows,
                                        const predict::TableSeries& series) {
  if (series.series.points.empty()) return std::nullopt;
  std::optional<std::int64_t> newest;
  for (const record::Measurement& row : rows) {
    if (row.run.empty() || row.run.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!belongs(row, series, series.series.points.back().workers)) continue;
    newest = std::max(newest.value_or(0), static_cast<std::int64_t>(std::stoll(row.run)));
  }
  return newest;
}

SimulatedCounts::SimulatedCounts(store::Store& store, std::span<const record::Measurement> rows,
                                 std::span<const predict::TableSeries> series,
                                 const simulate::Settings& settings, simulate::NetworkEngine engine)
    : engine_(std::move(engine)) {
  for (const predict::TableSeries& one : series) add(store, rows, one, settings);
  if (!series_.empty()) return;
  throw Error(ErrorKind::kData,
              fmt::format("nothing to simulate: {}",
                          notes_.empty() ? "nothing was measured" : notes_.front()),
              "measure a fixed batch per worker with lockstep train or lockstep run, or simulate a "
              "stated step with lockstep simulate --compute");
}

void SimulatedCounts::add(store::Store& store, std::span<const record::Measurement> rows,
                          const predict::TableSeries& series, const simulate::Settings& settings) {
  if (series.scaling != predict::Scaling::kWeak) {
    notes_.push_back(fmt::format(
        "{} has no fixed batch per worker, so it is predicted, not simulated", series.name));
    return;
  }
  const std::optional<std::int64_t> run = largest_run(rows, series);
  simulate::StepSource source;
  Simulated one;
  try {
    if (!run)
      throw Error(ErrorKind::kData, "the store has no run with its largest worker count", "");
    source = measured_step(store, *run);
    one.scenario = simulate::make_scenario(settings, source);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    notes_.push_back(fmt::format("{} is not simulated: {}", series.name, error.what()));
    return;
  }
  one.workers = series.series.points.back().workers;
  one.measured_rate = series.series.points.back().rate;
  one.simulated_rate = simulated_rate(
      simulate::simulate_workers(one.scenario, static_cast<std::int64_t>(one.workers), engine_));
  notes_.push_back(
      fmt::format("beyond {:g} workers {} is simulated from {}, {}; lockstep simulate --run {} "
                  "shows the steps",
                  one.workers, series.name, source.text, workers_text(one.scenario), *run));
  series_.emplace(series.key, std::move(one));
}

double SimulatedCounts::simulated_rate(const simulate::SimulatedPoint& point) const {
  return static_cast<double>(point.workers) / point.step_s.value;
}

std::optional<predict::Estimate> SimulatedCounts::rate(const predict::TableSeries& series,
                                                       double workers) {
  const auto found = series_.find(series.key);
  if (found == series_.end() || workers != std::floor(workers)) return std::nullopt;
  const auto [known, fresh] = known_.try_emplace({series.key, workers});
  if (fresh) {
    const Simulated& one = found->second;
    const simulate::SimulatedPoint point =
        simulate::simulate_workers(one.scenario, static_cast<std::int64_t>(workers), engine_);
    const double rate = one.measured_rate * simulated_rate(point) / one.simulated_rate;
    known->second =
        predict::mapped(point.step_s, [&](double s) { return rate * point.step_s.value / s; });
  }
  return known->second;
}

}  // namespace lockstep::collect
