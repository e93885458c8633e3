#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/record/measurement.h"

namespace lockstep::analyze {

enum class AuditOutcome {
  kFollows,        ///< within rounding of what the measurements give
  kDoesNotFollow,  ///< it is not
  kUnchecked,      ///< the table lacks what the formula needs, or there is no formula
};

/// One reported_* figure of a table, recomputed.
struct AuditFinding {
  std::size_t line = 0;
  std::string configuration;  ///< "2 v100, b = 16, B = 32"
  std::string metric;         ///< without "reported_"
  double reported = 0;
  std::string unit;
  std::optional<double> expected;
  std::string formula;  ///< how `expected` was computed, in numbers; or why it was not
  AuditOutcome outcome = AuditOutcome::kUnchecked;
  std::string slip;  ///< the likely mistake; empty when none that is known gives the figure

  /// reported / expected.
  std::optional<double> factor() const;
};

struct Audit {
  std::vector<AuditFinding> findings;  ///< in the order of the table
  std::vector<std::string> summary;    ///< a sentence or two for each metric

  std::size_t count(AuditOutcome outcome) const;
};

struct AuditOptions {
  std::optional<std::int64_t> parameters{};  ///< of the model, where the table does not have them
};

/// Recomputes every reported_* row from the measured rows of the same table. A figure follows when
/// it lies within half a unit of its last digit plus 0.5 % of what the formula gives. A slip is
/// named when its formula gives the figure within half a unit plus 1 %; of several, the one that
/// explains most figures of the metric.
Audit audit(std::span<const record::Measurement> rows, const AuditOptions& options = {});

}  // namespace lockstep::analyze
