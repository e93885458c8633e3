#include "lockstep/train/optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> kNames{"sgd", "adam", "adamw", "lars", "lamb"};
  return kNames;
}

double usual_learning_rate(std::string_view optimizer) {
  if (optimizer == "adam" || optimizer == "adamw") return 0.001;
  if (optimizer == "lars") return 8;
  if (optimizer == "lamb") return 0.01;
  return 0.1;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          std::vector<TensorRange> tensors, std::size_t count) {
  check(options);
  if (options.name == "sgd") return make_sgd(options, count);
  if (options.name == "adam") return make_adam(options, count);
  if (options.name == "adamw") return make_adamw(options, count);
  if (options.name == "lars") return make_lars(options, std::move(tensors), count);
  if (options.name == "lamb") return make_lamb(options, std::move(tensors), count);
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not an optimizer", options.name),
              fmt::format("choose one of: {}", fmt::join(optimizer_names(), ", ")));
}

}  // namespace lockstep::train
