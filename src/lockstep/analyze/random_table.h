#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/rng.h"
#include "lockstep/record/measurement.h"

namespace lockstep::analyze {

/// For tests: some models, devices, batches and settings, times that scale well or badly, holes in
/// the table.
inline std::vector<record::Measurement> random_table(Rng& rng) {
  std::vector<record::Measurement> rows;
  const char* const kMetrics[] = {"epoch_time", "throughput", "step_time"};
  const std::string metric = kMetrics[rng.below(3)];
  const bool strong = rng.below(2) == 0;
  const std::uint64_t models = 1 + rng.below(2);
  for (std::uint64_t series = 0; series < 1 + rng.below(4); ++series) {
    record::Measurement row;
    row.model = fmt::format("net{}", rng.below(models));
    row.dataset = "data";
    row.device = rng.below(2) == 0 ? "t4" : "v100";
    if (rng.below(3) == 0) row.notes["cpus"] = std::to_string(1 + rng.below(3));
    row.examples = 50'000;
    row.metric = metric;
    row.unit = metric == "throughput" ? "examples/s" : "s";
    const auto batch = static_cast<std::int64_t>(16u << rng.below(4));
    const double base = std::exp(rng.normal());
    const double exponent = 1.2 * rng.uniform() - 0.1;
    for (std::int64_t n = 1; n <= 16; n *= 2) {
      if (rng.below(4) == 0) continue;
      row.workers = n;
      row.global_batch = strong ? std::optional(batch * 16) : std::nullopt;
      row.batch_per_worker = strong ? std::nullopt : std::optional<double>(batch);
      const double speed =
          std::pow(static_cast<double>(n), exponent) * std::exp(0.05 * rng.normal());
      row.value = metric == "epoch_time"   ? 100 * base / speed
                  : metric == "throughput" ? 500 * speed / base
                                           : base * (strong ? 1.0 : static_cast<double>(n)) / speed;
      rows.push_back(row);
      if (rng.below(3) == 0) {
        record::Measurement learned = row;
        learned.metric = "val_accuracy";
        learned.unit = "";
        learned.value = 0.7 + 0.25 * rng.uniform();
        rows.push_back(learned);
      }
    }
  }
  return rows;
}

}  // namespace lockstep::analyze
