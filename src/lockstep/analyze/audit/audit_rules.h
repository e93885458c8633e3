#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/analyze/speedup/speedup.h"

namespace lockstep::analyze {

/// What the table has about the configuration of a reported figure.
struct AuditFacts {
  Configuration configuration;
  std::optional<double> time_n;    ///< T(N), seconds per epoch
  std::optional<double> time_one;  ///< T(N0) at the same fixed batch
  std::optional<double> rate_n;    ///< throughput(N): a speedup follows from rates too
  std::optional<double> rate_one;  ///< throughput(N0) at the same fixed batch
  std::int64_t baseline_workers = 1;
  /// T(N0) at other batches: what one gets by reading the wrong row.
  std::vector<double> other_baselines;
  /// T of the next smaller worker count at the same batch.
  std::optional<double> time_previous;
  std::optional<double> reported_communication;  ///< seconds per epoch

  std::optional<double> communication() const;  ///< derived: T(N) - T(1)/N
  std::optional<double> steps() const;
};

/// A mistake that is often made, and the figure it gives.
struct Slip {
  std::string name;
  double value = 0;
};

/// What a metric should be, and what common mistakes make of it.
struct Expectation {
  std::optional<double> value;
  std::string formula;  ///< in numbers; when there is no value, what is missing
  std::vector<Slip> slips;
};

/// `metric` without "reported_". Bandwidths in GB/s.
Expectation expect(const std::string& metric, const AuditFacts& facts);

}  // namespace lockstep::analyze
