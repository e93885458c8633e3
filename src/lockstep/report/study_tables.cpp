#include "lockstep/report/study_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "lockstep/report/study_columns.h"

namespace lockstep::report {
namespace {

using analyze::Configuration;
using analyze::Origin;
using analyze::Scaling;
using analyze::SpeedupGroup;
using analyze::SpeedupPoint;
using analyze::TimeBasis;
using analyze::TimeSplit;

struct SpeedupRow {
  const SpeedupGroup* group;
  const SpeedupPoint* point;
};

Cell origin_cell(Origin origin) {
  return std::string(analyze::origin_name(origin));
}

std::string subject(const std::string& model, const std::string& dataset) {
  std::string text = model.empty() ? "unnamed model" : model;
  return dataset.empty() ? text : text + " on " + dataset;
}

/// "strong scaling (B fixed, b = B/N); baseline T(1) at the same B".
std::string speedup_terms(const std::vector<SpeedupRow>& rows) {
  const SpeedupGroup& first = *rows.front().group;
  std::set<std::int64_t> baselines;
  for (const SpeedupRow& row : rows) {
    if (row.group->has_speedups()) baselines.insert(*row.group->baseline_workers);
  }
  if (baselines.empty()) return "";
  constexpr std::array<std::string_view, 4> kFixed{"B fixed, b = B/N", "b fixed, B = N b",
                                                   "b and B both change", "b or B fixed"};
  constexpr std::array<std::string_view, 4> kSame{" at the same B", " at the same b", "",
                                                  " at the same batch"};
  const auto kind = static_cast<std::size_t>(first.scaling);
  const bool no_batch = first.scaling == analyze::Scaling::kUnstated &&
                        std::none_of(rows.begin(), rows.end(), [](const SpeedupRow& row) {
                          return row.point->configuration.stated_batch.has_value();
                        });
  return fmt::format(
      "; {} scaling ({}); baseline {}{}", record::scaling_name(first.scaling),
      no_batch ? "batch unknown" : kFixed[kind],
      baselines.size() == 1 ? fmt::format("T({})", *baselines.begin()) : "T(N0), N0 in its column",
      no_batch ? "" : kSame[kind]);
}

Column time_column(TimeBasis basis) {
  if (basis == TimeBasis::kTotalTime) {
    return {"total time", "s", "total_time_s", Align::kRight,
            "median of the whole run, start-up included; measured"};
  }
  return {basis == TimeBasis::kEpochTime ? "epoch time" : "epoch time, derived", "s",
          "epoch_time_s", Align::kRight,
          basis == TimeBasis::kEpochTime    ? "T(N): median over epochs and repeats; measured"
          : basis == TimeBasis::kThroughput ? "T(N) = examples / throughput; derived"
                                            : "T(N) = step time x ceil(examples / B); derived"};
}

std::string rate_of(const std::vector<SpeedupRow>& rows) {
  std::vector<const Configuration*> all;
  for (const SpeedupRow& row : rows) all.push_back(&row.point->configuration);
  return analyze::common_rate_unit(all);
}

TableBuilder<SpeedupRow> speedup_columns(const std::vector<SpeedupRow>& rows, TimeBasis basis,
                                         bool strong) {
  const std::string rate = rate_of(rows);
  const Configuration& first = rows.front().point->configuration;
  const std::string rate_key = first.other_work ? first.example_unit + "_per_s" : "examples_per_s";
  const std::string unit = basis == TimeBasis::kThroughput ? rate : "s";
  TableBuilder<SpeedupRow> builder;
  add_configuration_columns<SpeedupRow>(builder, [](const SpeedupRow& row) -> const Configuration& {
    return row.point->configuration;
  });
  if (basis == TimeBasis::kStepTime) {
    builder.column({"step time", "s", "step_time_s", Align::kRight, "t(N): median; measured"},
                   [](const SpeedupRow& row) { return four_digits(row.point->value); });
  }
  builder
      .column(time_column(basis),
              [](const SpeedupRow& row) { return four_digits(row.point->time_s); })
      .column({rate, "", rate_key, Align::kRight, "of all workers; measured, or examples / T(N)"},
              [](const SpeedupRow& row) { return four_digits(row.point->examples_per_s); })
      .column({"±", unit, "deviation", Align::kRight,
               "sample standard deviation of the measured figure, where n > 1"},
              [](const SpeedupRow& row) {
                return row.point->count > 1 ? four_digits(row.point->deviation) : Cell{};
              })
      .column(
          {"n", "", "n", Align::kRight, "measurements behind the median"},
          [](const SpeedupRow& row) { return count(static_cast<std::int64_t>(row.point->count)); })
      .column({"N0", "", "baseline_workers", Align::kRight, "workers of the baseline"},
              [](const SpeedupRow& row) {
                return row.point->speedup ? count(row.group->baseline_workers) : Cell{};
              })
      .column({"speedup", "", "speedup", Align::kRight,
               "S = T(N0)/T(N), the same data in less time; derived"},
              [](const SpeedupRow& row) {
                return row.point->speedup ? decimal(*row.point->speedup, 3) : Cell{};
              })
      .column({"efficiency", "", "efficiency", Align::kRight, "S N0/N; derived"},
              [](const SpeedupRow& row) {
                return row.point->efficiency ? decimal(*row.point->efficiency, 3) : Cell{};
              });
  if (strong) {
    builder.column({"scaled form", "", "scaled_form", Align::kRight,
                    "(N/N0) T(N0)/T(N): N/N0 times the speedup, not a speedup itself; derived"},
                   [](const SpeedupRow& row) {
                     return row.point->scaled ? decimal(*row.point->scaled, 3) : Cell{};
                   });
  }
  return builder;
}

struct SplitRow {
  TimeSplit split;
};

Cell part(std::optional<double> seconds, bool per_step) {
  if (!seconds) return {};
  return time_digits(per_step ? *seconds * 1000 : *seconds);
}

Cell bandwidth(const std::optional<double>& bytes_per_s) {
  return bytes_per_s ? decimal(*bytes_per_s / 1e9, 3) : Cell{};
}

/// Splits of one model and data set that are all measured or all derived.
std::map<std::tuple<std::string, std::string, bool>, std::vector<SplitRow>> splits_by_kind(
    std::span<const SpeedupGroup> groups) {
  std::map<std::tuple<std::string, std::string, bool>, std::vector<SplitRow>> kinds;
  for (const SpeedupGroup& group : groups) {
    for (TimeSplit& split : analyze::time_splits(group)) {
      auto& kind = kinds[{group.model, group.dataset, split.per_step}];
      kind.push_back({std::move(split)});
    }
  }
  return kinds;
}

Table split_table(const std::string& title, const std::vector<SplitRow>& rows, bool per_step) {
  const std::string unit = per_step ? "ms" : "s";
  const std::string suffix = per_step ? "_ms" : "_s";
  TableBuilder<SplitRow> builder;
  add_configuration_columns<SplitRow>(
      builder, [](const SplitRow& row) -> const Configuration& { return row.split.configuration; });
  const auto column = [&](const char* header, const std::string& key, std::string definition,
                          std::function<std::optional<double>(const TimeSplit&)> get) {
    builder.column({header, unit, key + suffix, Align::kRight, std::move(definition)},
                   [get = std::move(get), per_step](const SplitRow& row) {
                     return part(get(row.split), per_step);
                   });
  };
  column(per_step ? "step" : "T(N)", "total",
         per_step ? "step time, mean over ranks" : "epoch time",
         [](const TimeSplit& s) { return std::optional(s.total_s); });
  const auto phase = [&](const char* header, const char* key, const char* definition,
                         std::function<std::optional<double>(const TimeSplit&)> get) {
    column(header, key, definition, [get = std::move(get)](const TimeSplit& s) {
      return s.phases_known() ? get(s) : std::nullopt;
    });
  };
  phase("compute", "compute", per_step ? "host to device, forward, backward, optimizer" : "T(1)/N",
        [](const TimeSplit& s) { return std::optional(s.compute_s); });
  phase("communication", "communication",
        per_step ? "exposed: not hidden behind backward"
                 : "T(N) - T(1)/N: communication and everything else that does not divide by N",
        [](const TimeSplit& s) {
          return s.baseline_off() ? std::nullopt : std::optional(s.communication_s);
        });
  phase("wait", "wait", "of that, until the slowest rank was ready",
        [](const TimeSplit& s) { return s.wait_s; });
  phase("transfer", "transfer", "of that, on the link",
        [](const TimeSplit& s) { return s.transfer_s; });
  phase("input", "input", "waiting for the next batch",
        [](const TimeSplit& s) { return s.input_s; });
  phase("other", "other", "what remains of the step", [](const TimeSplit& s) { return s.other_s; });
  builder
      .column({"share", "%", "communication_share_percent", Align::kRight, "communication / time"},
              [](const SplitRow& row) {
                const bool unknown = row.split.baseline_off() || !row.split.phases_known();
                return unknown ? Cell{} : decimal(100 * row.split.communication_share(), 1);
              })
      .column({"origin", "", "origin", Align::kLeft,
               "measured: phases were timed; derived: from totals by the formulas above"},
              [](const SplitRow& row) { return origin_cell(row.split.origin); });
  Table table = builder.build(title, rows);
  for (const SplitRow& row : rows) {
    if (!row.split.baseline_off()) continue;
    table.notes.push_back(
        fmt::format("{}: no communication time: T(N) is below T(1)/N ({:.4g} against {:.4g} s), so "
                    "the baseline is off (warm-up, or a smaller share that fits in cache)",
                    row.split.configuration.label(), row.split.total_s, row.split.compute_s));
  }
  return table;
}

}  // namespace

Cell four_digits(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return {};
  const double size = std::fabs(*value);
  if (size == 0) return {"0", 0.0};
  if (size >= 1e6 || size < 1e-6) return {fmt::format("{:.3e}", *value), *value};
  const int magnitude = static_cast<int>(std::floor(std::log10(size)));
  return {fmt::format("{:.{}f}", *value, std::clamp(3 - magnitude, 0, 9)), *value};
}

Cell time_digits(std::optional<double> value) {
  Cell exact = four_digits(value);
  if (!exact.number || *exact.number == 0 || std::fabs(*exact.number) >= 0.1) return exact;
  if (std::fabs(*exact.number) < 0.00005) return {"< 0.0001", *exact.number};
  return {fmt::format("{:.4f}", *exact.number), *exact.number};
}

Cell plain_digits(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return {};
  return {fmt::format("{:.4g}", *value), *value};
}

std::vector<Table> speedup_tables(std::span<const SpeedupGroup> groups) {
  std::map<std::tuple<std::string, std::string, std::optional<Scaling>, TimeBasis>,
           std::vector<SpeedupRow>>
      sorted;
  std::map<decltype(sorted)::key_type, std::vector<std::string>> notes;
  for (const SpeedupGroup& group : groups) {
    const auto key = std::tuple(group.model, group.dataset, group.scaling, group.basis);
    for (const SpeedupPoint& point : group.points) sorted[key].push_back({&group, &point});
    for (const auto* sentences : {&group.refusals, &group.remarks}) {
      for (const std::string& sentence : *sentences) {
        notes[key].push_back(group.device.empty() ? sentence : group.device + ": " + sentence);
      }
    }
  }
  std::vector<Table> tables;
  for (const auto& [key, rows] : sorted) {
    const std::string terms = speedup_terms(rows);
    const auto& [model, dataset, scaling, basis] = key;
    Table table = speedup_columns(rows, basis, scaling == Scaling::kStrong)
                      .build((terms.empty() ? "Time: " : "Time and speedup: ") +
                                 subject(model, dataset) + terms,
                             rows);
    table.notes = notes[key];
    tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<Table> split_tables(std::span<const SpeedupGroup> groups) {
  std::vector<Table> tables;
  for (const auto& [key, rows] : splits_by_kind(groups)) {
    const auto& [model, dataset, per_step] = key;
    tables.push_back(
        split_table(fmt::format("Where the time goes: {}; {}", subject(model, dataset),
                                per_step ? "per step, measured" : "per epoch, derived from totals"),
                    rows, per_step));
  }
  return tables;
}

std::vector<Table> all_reduce_tables(std::span<const SpeedupGroup> groups,
                                     const collect::CalibratedLinks& links) {
  using analyze::AllReduce;
  TableBuilder<AllReduce> builder;
  add_configuration_columns<AllReduce>(
      builder, [](const AllReduce& row) -> const Configuration& { return row.configuration; });
  builder
      .column({"S", "MB", "bytes_mb", Align::kRight, "parameters x 4 bytes"},
              [](const AllReduce& row) { return four_digits(row.bytes / 1e6); })
      .column({"ring", "MB", "ring_mb", Align::kRight,
               "2(N-1)/N S: sent and received by each worker per step"},
              [](const AllReduce& row) { return four_digits(row.ring_bytes / 1e6); })
      .column({"steps", "", "steps_per_epoch", Align::kRight, "ceil(examples / B) per epoch"},
              [](const AllReduce& row) {
                return row.steps_per_epoch > 0 ? count(row.steps_per_epoch) : Cell{};
              })
      .column(
          {"time", "ms", "time_ms", Align::kRight,
           "communication per step: measured transfer that backward did not hide, or the derived "
           "time per epoch / steps"},
          [](const AllReduce& row) { return time_digits(row.seconds * 1000); })
      .column({"algbw", "GB/s", "algbw_gb_per_s", Align::kRight, "S / time"},
              [](const AllReduce& row) { return bandwidth(row.algbw); })
      .column({"busbw", "GB/s", "busbw_gb_per_s", Align::kRight, "algbw x 2(N-1)/N"},
              [](const AllReduce& row) { return bandwidth(row.busbw); })
      .column({"utilisation", "%", "utilisation_percent", Align::kRight, "busbw / calibrated link"},
              [](const AllReduce& row) {
                return row.utilisation ? decimal(100 * *row.utilisation, 1) : Cell{};
              })
      .column({"origin", "", "origin", Align::kLeft,
               "of the time; derived times include everything that does not divide, so their "
               "bandwidths are lower bounds"},
              [](const AllReduce& row) { return origin_cell(row.origin); });
  std::map<std::pair<std::string, std::string>, std::vector<AllReduce>> sorted;
  for (const SpeedupGroup& group : groups) {
    for (AllReduce& row : analyze::all_reduces(analyze::time_splits(group), links.speeds)) {
      sorted[{group.model, group.dataset}].push_back(std::move(row));
    }
  }
  std::vector<Table> tables;
  for (const auto& [key, rows] : sorted) {
    tables.push_back(builder.build("All-reduce: " + subject(key.first, key.second), rows));
    const auto any = [&rows = rows](auto&& holds) {
      return std::any_of(rows.begin(), rows.end(), holds);
    };
    if (any([](const AllReduce& row) { return !row.busbw; })) {
      tables.back().notes.push_back(
          "gradients are sent during backward: the time is only what backward did not hide, and no "
          "bandwidth follows from it");
    }
    const bool related = any([](const AllReduce& row) { return row.utilisation.has_value(); });
    if (related && !links.note.empty()) tables.back().notes.push_back(links.note);
  }
  return tables;
}

}  // namespace lockstep::report
