#include <fmt/format.h>

#include <cmath>

#include "lockstep/analyze/verdict/verdict_parts.h"

namespace lockstep::analyze {
bool DevicePair::same_time() const {
  return std::fabs(ratio - 1) <= kSameTime;
}

std::vector<DevicePair> device_pairs(std::span<const SpeedupGroup> groups) {
  std::vector<DevicePair> pairs;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = i + 1; j < groups.size(); ++j) {
      const SpeedupGroup& a = groups[i];
      const SpeedupGroup& b = groups[j];
      const bool one_differs = (a.device != b.device) != (a.variant != b.variant);
      if (a.model != b.model || a.dataset != b.dataset || a.epochs != b.epochs ||
          a.basis != b.basis || !one_differs) {
        continue;
      }
      for (const SpeedupPoint& p : a.points) {
        for (const SpeedupPoint& q : b.points) {
          const Configuration& x = p.configuration;
          const Configuration& y = q.configuration;
          if (x.workers != y.workers || x.batch_per_worker != y.batch_per_worker ||
              x.global_batch != y.global_batch || x.examples != y.examples) {
            continue;
          }
          pairs.push_back({&p, &q, a.basis, speed_ratio(q, p, a.basis)});
        }
      }
    }
  }
  return pairs;
}

void assess_device(std::span<const SpeedupGroup> groups, std::vector<Finding>& findings) {
  for (const DevicePair& pair : device_pairs(groups)) {
    const std::string from = devices_text(pair.a->configuration);
    const std::string to = devices_text(pair.b->configuration);
    const std::string model = pair.a->configuration.model;
    if (pair.same_time()) {
      findings.push_back(
          {Topic::kDevice,
           fmt::format(
               "{}: going from {} to {} changed nothing: {} ({:.1f} % apart), so the device "
               "is not the bottleneck.",
               model, from, to, figures_text(*pair.a, *pair.b, pair.basis, "and"),
               100 * std::fabs(pair.ratio - 1))});
      continue;
    }
    const bool faster = pair.ratio > 1;
    const SpeedupPoint& fast = faster ? *pair.b : *pair.a;
    const SpeedupPoint& slow = faster ? *pair.a : *pair.b;
    findings.push_back(
        {Topic::kDevice,
         fmt::format("{}: {} {} {:.2f}x as fast as {}: {}.", model,
                     devices_text(fast.configuration),
                     fast.configuration.workers.value_or(1) == 1 ? "is" : "are",
                     faster ? pair.ratio : 1 / pair.ratio, devices_text(slow.configuration),
                     figures_text(fast, slow, pair.basis))});
  }
}

}  // namespace lockstep::analyze
