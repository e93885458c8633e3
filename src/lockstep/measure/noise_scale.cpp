#include "lockstep/measure/noise_scale.h"

#include <algorithm>
#include <cmath>

namespace lockstep::measure {
namespace {

/// Fewer do not determine their own spread.
constexpr std::int64_t kLeastSteps = 10;
/// Two-sided 95 % of a normal distribution.
constexpr double kQuantile = 1.96;

}  // namespace

void NoiseScale::add(double small_squares, double small, double big_squares, double big,
                     double steps) {
  if (!(big > small) || !std::isfinite(small_squares) || !std::isfinite(big_squares)) return;
  const double noise = (small_squares - big_squares) / (1 / small - 1 / big);
  const double slope = (big * big_squares - small * small_squares) / (big - small);
  const double kept = std::pow(keep_, steps);
  const double weight = (1 - kept) / (1 - keep_);  // of `steps` steps with these norms
  const auto put = [&](double& sum, double value) { sum = kept * sum + weight * value; };
  put(weight_, 1);
  squared_weight_ = kept * kept * squared_weight_ + weight * weight;
  put(noise_, noise);
  put(slope_, slope);
  put(noise_noise_, noise * noise);
  put(noise_slope_, noise * slope);
  put(slope_slope_, slope * slope);
  ++steps_;
}

std::optional<NoiseScale::Estimate> NoiseScale::estimate() const {
  if (steps_ < kLeastSteps) return std::nullopt;
  const double noise = noise_ / weight_, slope = slope_ / weight_;
  if (!(slope > 0)) return std::nullopt;
  Estimate estimate;
  estimate.value = std::max(0.0, noise / slope);

  // Variances of the smoothed means: those of single steps, divided by how many steps they are
  // worth.
  const double count = weight_ * weight_ / squared_weight_;
  const double spread = kQuantile * kQuantile / (count - 1);
  const double nn = spread * (noise_noise_ / weight_ - noise * noise);
  const double ns = spread * (noise_slope_ / weight_ - noise * slope);
  const double ss = spread * (slope_slope_ / weight_ - slope * slope);
  // Ratios R with (noise - R slope)^2 <= nn - 2 R ns + R^2 ss: a quadratic a R^2 - 2 b R + c <= 0.
  const double a = slope * slope - ss, b = noise * slope - ns, c = noise * noise - nn;
  const double root = std::sqrt(std::max(0.0, b * b - a * c));
  if (a > 0) {
    estimate.low = std::max(0.0, (b - root) / a);
    estimate.high = std::max(0.0, (b + root) / a);
  } else if (b > 0 && c > 0) {
    // The interval reaches through infinity; its end on this side is the lesser positive root.
    estimate.low = std::max(0.0, c / (b + root));
  }
  estimate.low = std::min(estimate.low, estimate.value);
  return estimate;
}

std::map<std::string, double> NoiseScale::figures() const {
  return {{"noise_steps", static_cast<double>(steps_)},
          {"noise_weight", weight_},
          {"noise_squared_weight", squared_weight_},
          {"noise_sum", noise_},
          {"noise_slope", slope_},
          {"noise_noise_noise", noise_noise_},
          {"noise_noise_slope", noise_slope_},
          {"noise_slope_slope", slope_slope_}};
}

void NoiseScale::restore(const std::map<std::string, double>& figures) {
  if (!figures.contains("noise_steps")) return;
  steps_ = static_cast<std::int64_t>(figures.at("noise_steps"));
  weight_ = figures.at("noise_weight");
  squared_weight_ = figures.at("noise_squared_weight");
  noise_ = figures.at("noise_sum");
  slope_ = figures.at("noise_slope");
  noise_noise_ = figures.at("noise_noise_noise");
  noise_slope_ = figures.at("noise_noise_slope");
  slope_slope_ = figures.at("noise_slope_slope");
}

}  // namespace lockstep::measure
