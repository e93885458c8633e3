#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lockstep/base/error.h"
#include "train_options.h"

namespace lockstep::cli {
namespace {

using record::Backend;
using record::ScheduleShape;
using record::Strategy;

[[noreturn]] void refuse(const std::string& problem, const std::string& hint) {
  throw Error(ErrorKind::kUsage, problem, hint);
}

void check_optimizer(const record::RunSpec& spec) {
  if (spec.optimizer) {
    const record::OptimizerFacts& optimizer = record::facts_of(*spec.optimizer);
    if (spec.beta1 >= 0 && !optimizer.uses_betas) {
      refuse(fmt::format("--betas has no effect with --optimizer {}", optimizer.name),
             "use it with one of " + record::optimizer_names(true));
    }
    if (spec.momentum >= 0 && optimizer.uses_betas) {
      refuse(fmt::format("--momentum has no effect with --optimizer {}", optimizer.name),
             "give --betas instead");
    }
  }
}

void check_schedule(const record::TrainRequest& request) {
  const auto& spec = request.spec;
  const bool by_step = spec.schedule == ScheduleShape::kStep;
  if (by_step && spec.lr_steps.empty()) {
    refuse("--schedule step needs the epochs after which the learning rate falls",
           "add --lr-steps, for example --lr-steps 30,60");
  }
  if (!spec.lr_steps.empty() && !by_step) {
    refuse("--lr-steps needs --schedule step", "add --schedule step");
  }
  for (std::size_t i = 1; i < spec.lr_steps.size(); ++i) {
    if (spec.lr_steps[i] > spec.lr_steps[i - 1]) continue;
    refuse(fmt::format("--lr-steps {} is not in ascending order", fmt::join(spec.lr_steps, ",")),
           "list each epoch once, in ascending order");
  }
  if (spec.schedule == ScheduleShape::kPlateau && !request.validate) {
    refuse("--schedule plateau needs the validation loss", "omit --no-validation");
  }
  if (spec.base_batch > 0 && spec.lr_scale == record::RateScaling::kNone) {
    refuse("--base-batch has no effect without --lr-scale", "add --lr-scale linear or sqrt");
  }
}

void check_exchange(const record::RunSpec& spec) {
  const bool local = spec.strategy == Strategy::kLocal;
  const bool rounded = spec.wire != record::Wire::kFloat;
  if (spec.average_every > 0 && !local) {
    refuse("--every needs --strategy local", "add --strategy local");
  }
  if (local && rounded) {
    refuse(
        fmt::format("--wire {} has no effect with --strategy local, which exchanges no gradients",
                    record::name_of(spec.wire)),
        "omit --wire");
  }
  if (local && spec.sync_batch_norm) {
    refuse("--sync-bn cannot be combined with --strategy local, where workers train separately",
           "omit one of the two");
  }
  if (spec.bucket_auto && (local || spec.strategy == Strategy::kCentral)) {
    refuse(fmt::format("--bucket auto has no effect with --strategy {}, which uses no buckets",
                       record::name_of(spec.strategy)),
           "omit it, or use --strategy overlap or blocking");
  }
  if (spec.strategy == Strategy::kCentral && rounded) {
    refuse(fmt::format("--wire {} cannot be combined with --strategy central",
                       record::name_of(spec.wire)),
           "central sends 32-bit floats, as DataParallel does: use overlap or blocking");
  }
  if (spec.device != "cuda" && spec.backend == Backend::kNccl) {
    refuse("--backend nccl works with GPUs only", "add --device cuda, or use another --backend");
  }
  if (spec.amp && spec.device != "cuda") {
    refuse("--amp needs --device cuda", "omit --amp; CPUs train in 32 bits");
  }
  if (spec.amp_type != record::AmpType::kAuto && !spec.amp) {
    refuse("--amp-type needs --amp", "add --amp");
  }
  if (spec.device != "cuda" && !(spec.tf32 && spec.channels_last && spec.cudnn_benchmark)) {
    refuse("--no-tf32, --no-channels-last and --no-cudnn-benchmark need --device cuda",
           "omit them; they have no effect on a CPU");
  }
}

}  // namespace

void check_train_request(const record::TrainRequest& request) {
  if (request.resume && request.checkpoint_dir.empty()) {
    refuse("--resume needs a checkpoint folder", "add --checkpoint DIR");
  }
  if (request.checkpoint_every > 0 && request.checkpoint_dir.empty()) {
    refuse("--checkpoint-every needs a checkpoint folder", "add --checkpoint DIR");
  }
  if (request.checkpoint_every > 0 && request.spec.strategy == Strategy::kLocal) {
    refuse(
        "--checkpoint-every cannot be combined with --strategy local, where the parameters of "
        "workers differ",
        "omit it: a checkpoint is written after each epoch");
  }
  if (request.phases != record::PhaseTiming::kFull && request.spec.device != "cuda") {
    refuse("--phases sampled needs --device cuda",
           "omit it: on a CPU, timing the phases of a step costs nothing");
  }
  check_optimizer(request.spec);
  check_schedule(request);
  check_exchange(request.spec);
}

}  // namespace lockstep::cli
