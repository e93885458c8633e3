#include "lockstep/simulate/jitter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lockstep/base/rng.h"
#include "lockstep/base/statistics.h"

namespace lockstep::simulate {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
/// Standard deviations of the logarithm beyond which nothing is looked for.
constexpr double kFarthest = 9;
constexpr std::size_t kDraws = 4000;

double log_normal_below(double z) {
  // log1p keeps the digits of probabilities next to 1, which the slowest of many workers needs.
  return std::log1p(-0.5 * std::erfc(z / std::sqrt(2.0)));
}

}  // namespace

Jitter Jitter::measured(std::vector<double> samples) {
  std::erase_if(samples, [](double value) { return !(value > 0) || !std::isfinite(value); });
  Jitter jitter;
  if (samples.size() < 2) return jitter;
  const Summary all = summarize(samples);
  for (double& value : samples) value /= all.mean;
  std::sort(samples.begin(), samples.end());
  if (samples.front() == samples.back()) return jitter;
  jitter.deviation_ = all.deviation / all.mean;
  jitter.samples_ = std::move(samples);
  return jitter;
}

Jitter Jitter::stated(double deviation) {
  Jitter jitter;
  jitter.deviation_ = deviation;
  return jitter;
}

double Jitter::log_probability(double factor) const {
  if (none()) return factor >= 1 ? 0 : kNever;
  if (samples_.empty()) {
    const double sigma = std::sqrt(std::log1p(deviation_ * deviation_));
    return log_normal_below(std::log(factor) / sigma + sigma / 2);
  }
  if (factor >= samples_.back()) return 0;
  if (factor <= samples_.front()) return kNever;
  const auto above = std::upper_bound(samples_.begin(), samples_.end(), factor);
  const double left = *(above - 1);
  const auto index = static_cast<double>(above - 1 - samples_.begin());
  const double between = (factor - left) / (*above - left);
  return std::log((index + between) / static_cast<double>(samples_.size() - 1));
}

double Jitter::smallest() const {
  if (none()) return 1;
  if (!samples_.empty()) return samples_.front();
  const double sigma = std::sqrt(std::log1p(deviation_ * deviation_));
  return std::exp(-kFarthest * sigma - sigma * sigma / 2);
}

double Jitter::largest() const {
  if (none()) return 1;
  if (!samples_.empty()) return samples_.back();
  const double sigma = std::sqrt(std::log1p(deviation_ * deviation_));
  return std::exp(kFarthest * sigma - sigma * sigma / 2);
}

Jitter Jitter::averaged(std::int64_t steps, std::uint64_t seed) const {
  if (steps < 2 || none()) return *this;
  if (samples_.empty()) return stated(deviation_ / std::sqrt(static_cast<double>(steps)));
  // Beyond this many steps the mean is as good as normal.
  constexpr std::int64_t kMostSummed = 256;
  const std::int64_t summed = std::min(steps, kMostSummed);
  const double shrink = std::sqrt(static_cast<double>(summed) / static_cast<double>(steps));
  Rng rng(seed, 0x6a17);
  std::vector<double> means(kDraws);
  for (double& mean : means) {
    double sum = 0;
    for (std::int64_t i = 0; i < summed; ++i) sum += samples_[rng.below(samples_.size())];
    mean = 1 + (sum / static_cast<double>(summed) - 1) * shrink;
  }
  return measured(std::move(means));
}

double slowest_factor(const Jitter& jitter, const std::vector<WorkerClass>& classes, double u) {
  double slowest = 0;
  for (const WorkerClass& one : classes) slowest = std::max(slowest, one.slowdown);
  if (jitter.none()) return slowest;
  const double wanted = std::log(u);
  double low = jitter.smallest() * slowest;
  double high = jitter.largest() * slowest;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    double log_probability = 0;
    for (const WorkerClass& one : classes) {
      log_probability += one.workers * jitter.log_probability(middle / one.slowdown);
    }
    (log_probability < wanted ? low : high) = middle;
  }
  return high;
}

}  // namespace lockstep::simulate
