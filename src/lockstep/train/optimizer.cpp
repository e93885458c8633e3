#include "lockstep/train/optimizer.h"

#include <fmt/format.h>

#include "lockstep/base/error.h"
#include "lockstep/train/adam.h"
#include "lockstep/train/lamb.h"
#include "lockstep/train/lars.h"
#include "lockstep/train/sgd.h"

namespace lockstep::train {
namespace {

void require(bool holds, const char* option, double value, const char* range) {
  if (holds) return;
  throw Error(ErrorKind::kUsage, fmt::format("{} {} is out of range", option, value),
              fmt::format("give a number {}", range));
}

void check(const OptimizerOptions& options) {
  const auto share = [](double x) { return x >= 0 && x < 1; };
  require(share(options.momentum), "momentum", options.momentum, "from 0 to below 1");
  require(share(options.beta1), "beta", options.beta1, "from 0 to below 1");
  require(share(options.beta2), "beta", options.beta2, "from 0 to below 1");
  require(options.weight_decay >= 0, "weight decay", options.weight_decay, "of 0 or more");
  require(options.trust > 0, "trust", options.trust, "above 0");
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          std::vector<TensorRange> tensors, std::size_t count) {
  check(options);
  switch (options.rule) {
    case record::Optimizer::kSgd:
      return make_sgd(options, count);
    case record::Optimizer::kAdam:
      return make_adam(options, count);
    case record::Optimizer::kAdamW:
      return make_adamw(options, count);
    case record::Optimizer::kLars:
      return make_lars(options, std::move(tensors), count);
    case record::Optimizer::kLamb:
      return make_lamb(options, std::move(tensors), count);
  }
  throw Error(ErrorKind::kInternal, "unknown optimizer");
}

}  // namespace lockstep::train
