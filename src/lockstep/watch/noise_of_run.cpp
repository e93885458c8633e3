#include "lockstep/watch/noise_of_run.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "lockstep/measure/noise_scale.h"

namespace lockstep::watch {
namespace {

/// Samples that an estimate needs at least to be of use.
constexpr std::ptrdiff_t kEnough = 12;
/// Steps over which `lockstep train` smooths.
constexpr double kMemory = 100;
/// Samples over which rarer ones are smoothed. With fewer, |G|^2 is lost in its own noise so often
/// that the ratio is anything; with more, the value is that of a much earlier network.
constexpr double kSamples = 32;

}  // namespace

NoiseOfRun::NoiseOfRun(const std::vector<RankRecord>& ranks) : ranks_(ranks.size()) {
  for (const RankRecord& rank : ranks) {
    for (const GradientNorms& norms : rank.norms) samples_[norms.step].push_back(&norms);
  }
  // An average over unequal batches is not the gradient of their union.
  std::erase_if(samples_, [&](const auto& sample) {
    const std::vector<const GradientNorms*>& of_ranks = sample.second;
    return of_ranks.size() != ranks_ ||
           std::any_of(of_ranks.begin(), of_ranks.end(), [&](const GradientNorms* norms) {
             return norms->examples != of_ranks.front()->examples;
           });
  });
}

bool NoiseOfRun::all_alike() const {
  constexpr std::size_t kLeast = 10;
  constexpr double kRounding = 1e-5;
  for (const auto& [step, sample] : samples_) {
    for (const GradientNorms* norms : sample) {
      const double change = std::fabs(norms->own_squares - norms->averaged_squares);
      if (change > kRounding * norms->averaged_squares) return false;
    }
  }
  return ranks_ > 1 && samples_.size() >= kLeast;
}

/// Where samples are rare, the smoothing reaches so far back that the noise of an untrained
/// network, which is small and sampled most often, would outweigh that of the trained one. Its
/// steps are left out as soon as the second half has enough samples, or else as many as can be
/// spared.
NoiseOfRun::Samples::const_iterator NoiseOfRun::later_ones(std::int64_t last_step,
                                                           Samples::const_iterator end) const {
  const auto begin = samples_.begin();
  const auto half = samples_.upper_bound(begin->first + (last_step - begin->first) / 2);
  if (std::distance(half, end) >= kEnough) return half;
  return std::distance(begin, end) > kEnough ? std::prev(end, kEnough) : begin;
}

void NoiseOfRun::estimate_at(std::int64_t last_step, record::EpochResult& epoch) const {
  if (ranks_ < 2 || all_alike()) return;
  const auto end = samples_.upper_bound(last_step);
  const std::ptrdiff_t count = std::min(kEnough, std::distance(samples_.begin(), end));
  if (count < 2) return;
  const auto steps = static_cast<double>(std::prev(end)->first - std::prev(end, count)->first);
  const double period = steps / static_cast<double>(count - 1);
  const bool rare = kSamples * period > kMemory;
  measure::NoiseScale noise(rare ? kSamples * period : kMemory);
  const auto first = rare ? later_ones(last_step, end) : samples_.begin();
  for (auto sample = first; sample != end; ++sample) {
    double own = 0, averaged = 0;
    for (const GradientNorms* norms : sample->second) {
      own += norms->own_squares;
      averaged += norms->averaged_squares;
    }
    const auto n = static_cast<double>(ranks_);
    const auto small = static_cast<double>(sample->second.front()->examples);
    // It stands for the steps since the one before.
    const auto since = sample == samples_.begin() ? 1 : sample->first - std::prev(sample)->first;
    noise.add(own / n, small, averaged / n, n * small, static_cast<double>(since));
  }
  const auto estimate = noise.estimate();
  if (!estimate) return;
  epoch.noise_scale = estimate->value;
  epoch.noise_scale_low = estimate->low;
  if (estimate->high) epoch.noise_scale_high = *estimate->high;
}

}  // namespace lockstep::watch
