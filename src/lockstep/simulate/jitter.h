#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::simulate {

/// How the compute time of a worker varies from step to step: a factor whose mean is 1, drawn for
/// each worker and step on its own.
class Jitter {
 public:
  Jitter() = default;  ///< none
  /// As often as it was measured, in any unit; interpolated between the samples and never beyond
  /// them. Fewer than two positive values give none.
  static Jitter measured(std::vector<double> samples);
  /// Log-normal with this relative standard deviation.
  static Jitter stated(double deviation);

  bool none() const { return samples_.empty() && deviation_ == 0; }
  /// Number of samples; 0 where the distribution was stated.
  std::size_t samples() const { return samples_.size(); }
  double deviation() const { return deviation_; }

  /// Logarithm of the probability that the factor is at most `factor`.
  double log_probability(double factor) const;
  /// Bounds that contain every factor of interest.
  double smallest() const;
  double largest() const;

  /// The mean over `steps` steps of one worker; drawn by `seed` where it was measured.
  Jitter averaged(std::int64_t steps, std::uint64_t seed) const;

 private:
  std::vector<double> samples_;  ///< ascending, mean 1
  double deviation_ = 0;
};

/// Workers that are alike.
struct WorkerClass {
  double workers = 1;
  double slowdown = 1;  ///< compute time relative to the measured worker
};

/// The factor that the slowest of all workers stays below with probability `u` in (0, 1).
double slowest_factor(const Jitter& jitter, const std::vector<WorkerClass>& classes, double u);

}  // namespace lockstep::simulate
