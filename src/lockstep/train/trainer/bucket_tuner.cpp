#include "lockstep/train/trainer/bucket_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lockstep/base/statistics.h"
#include "lockstep/base/units.h"

namespace lockstep::train {
namespace {

constexpr std::uint64_t kCandidates[] = {256'000,    1'000'000,  4'000'000,
                                         16'000'000, 50'000'000, 100'000'000};
/// Steps that are slow for other reasons: memory is touched for the first time, caches are cold.
constexpr int kWarmUpSteps = 3;
/// Turns of each size per stage.
constexpr int kRounds = 6;

int steps_of_stage(std::size_t sizes) {
  return sizes > 1 ? kRounds * static_cast<int>(sizes) : 0;
}

}  // namespace

BucketTuner::BucketTuner(std::uint64_t largest) : warm_up_(kWarmUpSteps) {
  for (const std::uint64_t size : kCandidates) {
    sizes_.push_back(size);
    if (size >= largest) break;  // one bucket for all
  }
  exposed_.resize(sizes_.size());
  left_ = steps_of_stage(sizes_.size());
}

void BucketTuner::step_begins(std::int64_t step) {
  if (done()) return;
  if (warm_up_ > 0) {
    --warm_up_;
    return;
  }
  if (left_ == 0) return;  // waiting for the times of the last turns
  turns_.push_back({step, turn_});
  --left_;
  if (left_ > 0) turn_ = (turn_ + 1) % sizes_.size();
}

void BucketTuner::observe(std::int64_t step, double exposed_s) {
  if (turns_.empty() || turns_.front().step != step) return;
  exposed_[turns_.front().candidate].push_back(exposed_s);
  turns_.erase(turns_.begin());
}

bool BucketTuner::decide(const Gather& gather) {
  if (done() || left_ > 0 || !turns_.empty()) return false;
  std::vector<double> cost(sizes_.size());
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const std::vector<double> all = gather(median(exposed_[i]));
    cost[i] = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  }
  std::vector<std::size_t> order(sizes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return cost[a] < cost[b]; });
  for (std::size_t place = order.size(); place-- > (order.size() + 1) / 2;) {
    results_.insert(results_.begin(), {sizes_[order[place]], cost[order[place]]});
  }
  order.resize((order.size() + 1) / 2);
  if (order.size() == 1) results_.insert(results_.begin(), {sizes_[order[0]], cost[order[0]]});
  std::vector<std::uint64_t> kept;
  std::vector<std::vector<double>> exposed;  // of the stages before too
  for (const std::size_t i : order) {
    kept.push_back(sizes_[i]);
    exposed.push_back(std::move(exposed_[i]));
  }
  sizes_ = std::move(kept);
  exposed_ = std::move(exposed);
  turn_ = 0;
  left_ = steps_of_stage(sizes_.size());
  return done();
}

std::string BucketTuner::summary() const {
  if (results_.empty()) return format_bytes({size()}) + " (all gradients fit into one)";
  std::string text;
  for (const auto& [size, seconds] : results_) {
    const std::string one =
        fmt::format("{} {}", format_bytes({size}), format_seconds(Seconds(seconds)));
    if (text.empty()) {
      text = fmt::format("{} ({} exposed", format_bytes({size}), format_seconds(Seconds(seconds)));
    } else {
      text += (text.find(';') == std::string::npos ? "; " : ", ") + one;
    }
  }
  return text + ")";
}

}  // namespace lockstep::train
