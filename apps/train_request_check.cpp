#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lockstep/base/error.h"
#include "train_options.h"

namespace lockstep::cli {
namespace {

[[noreturn]] void refuse(const std::string& problem, const std::string& hint) {
  throw Error(ErrorKind::kUsage, problem, hint);
}

void check_optimizer(const record::TrainRequest& request) {
  const auto& spec = request.spec;
  const bool adam = spec.optimizer.starts_with("adam") || spec.optimizer == "lamb";
  if (spec.beta1 >= 0 && !spec.optimizer.empty() && !adam) {
    refuse(fmt::format("--betas means nothing to --optimizer {}", spec.optimizer),
           "use it with adam, adamw or lamb");
  }
  if (spec.momentum >= 0 && adam) {
    refuse(fmt::format("--momentum means nothing to --optimizer {}", spec.optimizer),
           "give --betas instead");
  }
  if (spec.schedule == "step" && spec.lr_steps.empty()) {
    refuse("--schedule step does not say when", "add --lr-steps, for example --lr-steps 30,60");
  }
  if (!spec.lr_steps.empty() && spec.schedule != "step") {
    refuse("--lr-steps needs --schedule step", "add --schedule step");
  }
  for (std::size_t i = 1; i < spec.lr_steps.size(); ++i) {
    if (spec.lr_steps[i] > spec.lr_steps[i - 1]) continue;
    refuse(fmt::format("--lr-steps {} is not in rising order", fmt::join(spec.lr_steps, ",")),
           "name each epoch once, first ones first");
  }
  if (spec.schedule == "plateau" && !request.validate) {
    refuse("--schedule plateau needs the validation loss", "drop --no-validation");
  }
  if (spec.base_batch > 0 && spec.lr_scale == "none") {
    refuse("--base-batch means nothing without --lr-scale", "add --lr-scale linear or sqrt");
  }
}

void check_exchange(const record::RunSpec& spec) {
  if (spec.average_every > 0 && spec.strategy != "local") {
    refuse("--every needs --strategy local", "add --strategy local");
  }
  if (spec.strategy == "local" && spec.wire != "fp32") {
    refuse(fmt::format("--wire {} with --strategy local: no gradients travel there", spec.wire),
           "drop --wire");
  }
  if (spec.strategy == "local" && spec.sync_batch_norm) {
    refuse("--sync-bn with --strategy local, where workers train apart", "drop one of them");
  }
  if (spec.strategy == "central" && spec.wire != "fp32") {
    refuse(fmt::format("--wire {} with --strategy central", spec.wire),
           "it sends what DataParallel sends: use overlap or blocking");
  }
  if (spec.device != "cuda" && spec.backend == "nccl") {
    refuse("--backend nccl serves GPUs only", "add --device cuda, or use another --backend");
  }
  if (spec.device == "cuda" && spec.backend == "shm") {
    refuse("--backend shm serves workers on CPUs", "use --backend nccl or gloo");
  }
  if (spec.amp && spec.device != "cuda") {
    refuse("--amp needs --device cuda", "drop --amp; CPUs train in 32 bits");
  }
}

}  // namespace

void check_train_request(const record::TrainRequest& request) {
  if (request.resume && request.checkpoint_dir.empty()) {
    refuse("--resume needs the folder of the checkpoints", "add --checkpoint DIR");
  }
  if (request.checkpoint_every > 0 && request.checkpoint_dir.empty()) {
    refuse("--checkpoint-every needs a folder for the checkpoints", "add --checkpoint DIR");
  }
  if (request.checkpoint_every > 0 && request.spec.strategy == "local") {
    refuse("--checkpoint-every with --strategy local, where workers differ",
           "drop it: there is a checkpoint after each epoch");
  }
  check_optimizer(request);
  check_exchange(request.spec);
}

}  // namespace lockstep::cli
