#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/analyze/speedup/speedup.h"
#include "lockstep/record/measurement.h"
#include "lockstep/report/render/table.h"

namespace lockstep::report {

/// What turns work and energy into shares, money and CO2.
struct WorkTerms {
  std::map<std::string, double> peak_flops{};      ///< of one worker, by peak_key()
  std::map<std::string, double> price_per_hour{};  ///< of one device, by device name
  std::optional<double> carbon_g_per_kwh{};
};

/// What the peak of one worker depends on: the device, and of a processor the threads ("cpu:2").
std::string peak_key(const std::string& device, std::int64_t threads);

/// Work per second in the unit of the task, the share of the device's peak that it uses, energy and
/// cost, for each model and data set; one row per configuration. The notes have the totals of all
/// runs in `rows`. Empty where neither operations nor energy are known and no price is given.
std::vector<Table> work_tables(std::span<const analyze::SpeedupGroup> groups,
                               std::span<const record::Measurement> rows, const WorkTerms& terms);

}  // namespace lockstep::report
