#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace lockstep::measure {

/// Smoothed gradient noise scale, B_simple = tr(Sigma) / |G|^2 in examples (McCandlish et al. 2018,
/// appendix A.1): how noisy the gradient of one example is compared with the true one. Batches far
/// below it average noise away in proportion to their size; above it larger ones gain little.
///
/// Each step gives two squared norms of gradient means, over few and over many examples. Since
/// E|G_B|^2 = |G|^2 + tr(Sigma) / B, two equations give unbiased estimates of both unknowns; as the
/// ratio of noisy numbers is biased, numerator and denominator are smoothed first, exponentially.
class NoiseScale {
 public:
  /// `memory`: steps over which the smoothing forgets.
  explicit NoiseScale(double memory = 100) : keep_(1 - 1 / memory) {}

  /// `small_squares`: mean over ranks of |G_r|^2, each the gradient mean of `small` examples.
  /// `big_squares`: |G|^2 of the mean over `big` > `small` examples. `steps`: that this one stands
  /// for, where only some are sampled. Ignores what is not finite.
  void add(double small_squares, double small, double big_squares, double big, double steps = 1);

  struct Estimate {
    double value = 0;
    /// Fieller's interval for a ratio of means: covers the ratio with 95 % probability. Without
    /// `high` where the gradient cannot be distinguished from its noise.
    double low = 0;
    std::optional<double> high;
  };
  /// Nothing before a few steps, and where the smoothed |G|^2 is not positive.
  std::optional<Estimate> estimate() const;

  /// What a checkpoint must keep, by name.
  std::map<std::string, double> figures() const;
  void restore(const std::map<std::string, double>& figures);

 private:
  double keep_;
  std::int64_t steps_ = 0;
  // Sums with weights keep_^age, in steps.
  double weight_ = 0;
  double squared_weight_ = 0;
  double noise_ = 0;  ///< of estimates of tr(Sigma)
  double slope_ = 0;  ///< of estimates of |G|^2
  double noise_noise_ = 0;
  double noise_slope_ = 0;
  double slope_slope_ = 0;
};

}  // namespace lockstep::measure
