#include "lockstep/report/work_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "lockstep/advise/candidates.h"
#include "lockstep/base/units.h"
#include "lockstep/report/study_columns.h"

namespace lockstep::report {
namespace {

using analyze::Configuration;
using analyze::SpeedupPoint;

constexpr double kJoulesPerKwh = 3.6e6;

struct WorkRow {
  const SpeedupPoint* point;
  const WorkTerms* terms;

  const Configuration& configuration() const { return point->configuration; }
  std::optional<double> value(const char* metric) const { return configuration().value(metric); }

  /// Operations per second of all workers.
  std::optional<double> flops() const {
    const auto& each = configuration().flops_per_example;
    if (!each || !point->examples_per_s) return std::nullopt;
    return static_cast<double>(*each) * *point->examples_per_s;
  }
  std::optional<double> utilisation() const {
    const auto peak = terms->peak_flops.find(
        peak_key(configuration().device, configuration().threads_per_worker.value_or(0)));
    if (!flops() || !configuration().workers || peak == terms->peak_flops.end()) {
      return std::nullopt;
    }
    return *flops() / (static_cast<double>(*configuration().workers) * peak->second);
  }
  std::optional<double> power_w() const {
    const auto joules = value("epoch_energy");
    const auto seconds = value("epoch_time");
    return joules && seconds && *seconds > 0 ? std::optional(*joules / *seconds) : std::nullopt;
  }
  std::optional<double> joules_per_example() const {
    if (!power_w() || !point->examples_per_s || !(*point->examples_per_s > 0)) return std::nullopt;
    return *power_w() / *point->examples_per_s;
  }
  std::optional<double> cost() const {
    const auto seconds = value("total_time");
    if (terms->price_per_hour.empty() || !seconds || !configuration().workers) return std::nullopt;
    return *seconds / 3600 * static_cast<double>(*configuration().workers) *
           advise::price_of({.price_per_hour = terms->price_per_hour}, configuration().device);
  }
};

std::optional<double> scaled(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

TableBuilder<WorkRow> work_columns(const std::string& unit, const WorkTerms& terms) {
  TableBuilder<WorkRow> builder;
  add_configuration_columns<WorkRow>(
      builder, [](const WorkRow& row) -> const Configuration& { return row.configuration(); });
  const auto column = [&](std::string header, const char* shown_unit, const char* key,
                          const char* definition,
                          std::function<std::optional<double>(const WorkRow&)> get) {
    builder.column({std::move(header), shown_unit, key, Align::kRight, definition},
                   [get = std::move(get)](const WorkRow& row) { return four_digits(get(row)); });
  };
  column(unit + "/s", "", "examples_per_s", "of all workers",
         [](const WorkRow& row) { return row.point->examples_per_s; });
  column("tokens/s", "", "tokens_per_s", "of all workers: tokens of an epoch / its time",
         [](const WorkRow& row) { return row.value("token_rate"); });
  column("work", "GFLOP/s", "gflop_per_s",
         "of all workers: operations of forward and backward per example x examples/s",
         [](const WorkRow& row) { return scaled(row.flops(), 1e-9); });
  column("MFU", "%", "mfu_percent", "work / (N x peak of the device)",
         [](const WorkRow& row) { return scaled(row.utilisation(), 100); });
  column("energy per epoch", "kJ", "epoch_energy_kj", "of all hosts while training; median",
         [](const WorkRow& row) { return scaled(row.value("epoch_energy"), 1e-3); });
  column("power", "W", "power_w", "energy per epoch / epoch time",
         [](const WorkRow& row) { return row.power_w(); });
  column("J/" + unit.substr(0, unit.size() - 1), "", "joules_per_example", "power / examples/s",
         [](const WorkRow& row) { return row.joules_per_example(); });
  column("energy per run", "kJ", "energy_kj", "of all hosts, start-up and validation included",
         [](const WorkRow& row) { return scaled(row.value("energy"), 1e-3); });
  column("cost per run", "", "cost", "N x total time x price",
         [](const WorkRow& row) { return row.cost(); });
  column("CO2 per run", "g", "co2_g", "energy per run x --carbon",
         [carbon = terms.carbon_g_per_kwh](const WorkRow& row) {
           return carbon ? scaled(row.value("energy"), *carbon / kJoulesPerKwh) : std::nullopt;
         });
  return builder;
}

/// "4 runs: 12.3 kJ (3.42 Wh), 1.3 g CO2, cost 0.12"; empty where there is nothing to add up.
std::string totals_text(const std::string& model, const std::string& dataset,
                        std::span<const record::Measurement> rows, const WorkTerms& terms) {
  double joules = 0, cost = 0;
  int measured = 0, timed = 0;
  for (const record::Measurement& row : rows) {
    if (row.model != model || row.dataset != dataset) continue;
    if (row.metric == "energy") {
      joules += row.value;
      ++measured;
    } else if (row.metric == "total_time" && row.workers) {
      ++timed;
      if (terms.price_per_hour.empty()) continue;
      cost += row.value / 3600 * static_cast<double>(*row.workers) *
              advise::price_of({.price_per_hour = terms.price_per_hour}, row.device);
    }
  }
  std::vector<std::string> parts;
  if (measured > 0) {
    parts.push_back(fmt::format("{:.4g} kJ ({:.4g} Wh)", joules / 1e3, joules / 3600));
    if (terms.carbon_g_per_kwh) {
      parts.push_back(
          fmt::format("{:.3g} g CO2", joules / kJoulesPerKwh * *terms.carbon_g_per_kwh));
    }
    if (measured < timed) parts.push_back(fmt::format("of {} of them only", measured));
  } else if (terms.carbon_g_per_kwh) {
    parts.emplace_back(
        "energy was not measured (lockstep runs show RUN has the reason), so CO2 is "
        "unknown");
  }
  if (cost > 0) parts.push_back(fmt::format("cost {:.3g}", cost));
  if (parts.empty()) return "";
  return fmt::format("{}: {}", counted(std::max(measured, timed), "run"), fmt::join(parts, ", "));
}

}  // namespace

std::string peak_key(const std::string& device, std::int64_t threads) {
  return device == "cpu" && threads > 0 ? fmt::format("cpu:{}", threads) : device;
}

std::vector<Table> work_tables(std::span<const analyze::SpeedupGroup> groups,
                               std::span<const record::Measurement> rows, const WorkTerms& terms) {
  std::map<std::pair<std::string, std::string>, std::vector<WorkRow>> sorted;
  for (const analyze::SpeedupGroup& group : groups) {
    for (const SpeedupPoint& point : group.points) {
      const WorkRow row{&point, &terms};
      const bool known = row.flops() || row.value("token_rate") || row.value("energy") ||
                         row.value("epoch_energy") || row.cost() || terms.carbon_g_per_kwh;
      if (known) sorted[{group.model, group.dataset}].push_back(row);
    }
  }
  std::vector<Table> tables;
  for (const auto& [key, members] : sorted) {
    const std::string& found = members.front().configuration().example_unit;
    const std::string unit = found.empty() ? "examples" : found;
    const std::string subject = key.first.empty() ? "unnamed model" : key.first;
    Table table = work_columns(unit, terms)
                      .build(fmt::format("Work, energy and cost: {}{}", subject,
                                         key.second.empty() ? "" : " on " + key.second),
                             members);
    if (std::string totals = totals_text(key.first, key.second, rows, terms); !totals.empty()) {
      table.notes.push_back(std::move(totals));
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace lockstep::report
