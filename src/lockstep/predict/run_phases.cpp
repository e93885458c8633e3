#include "lockstep/predict/run_phases.h"

#include <algorithm>

#include "lockstep/analyze/step_breakdown.h"
#include "lockstep/base/error.h"
#include "lockstep/predict/roofline.h"

namespace lockstep::predict {
namespace {

double mean_cores_used(const std::vector<record::Utilisation>& samples) {
  double used = 0;
  double seconds = 0;
  for (const record::Utilisation& sample : samples) {
    used += sample.cpu_cores * sample.seconds;
    seconds += sample.seconds;
  }
  return seconds > 0 ? used / seconds : 0;
}

/// Part of a step that is bound by memory, where the layers of the network are known.
double memory_bound_part(const record::RunSpec& spec, const CalibratedRate& rate) {
  Device device{"cpu", rate.flops, rate.bytes_per_s};
  device.calibrated = true;
  try {
    return bound_step(training_cost(spec.recipe), device,
                      static_cast<double>(spec.batch_per_worker))
        .memory_bound_part;
  } catch (const Error&) {
    return SharedHost{}.memory_bound;
  }
}

/// Workers of one host as `lockstep train -n N` places them: a share of the cores each. Devices of
/// their own do not compete.
SharedHost shared_host(const OneWorkerRun& run, const RateOfThreads& rate, std::int64_t workers) {
  const record::RunSpec& spec = run.started.spec;
  const record::Machine& machine = run.started.machine;
  SharedHost host;
  host.workers = spec.device == "cpu" ? static_cast<int>(workers) : 1;
  host.cores = machine.cores;
  host.threads_alone = spec.threads_per_worker;
  host.threads_each = spec.threads_per_worker;
  if (machine.cores > 0) {
    host.threads_each = std::clamp(machine.cores / host.workers, 1, spec.threads_per_worker);
  }
  if (host.threads_each == host.threads_alone) host.cores_used = mean_cores_used(run.utilisation);
  const int all = host.threads_each * host.workers;
  host.alone = rate(host.threads_alone);
  host.together = rate(machine.cores > 0 ? std::min(all, machine.cores) : all);
  if (host.alone.flops > 0) host.memory_bound = memory_bound_part(spec, host.alone);
  return host;
}

}  // namespace

RunPhasesPrediction predict_run_phases(const OneWorkerRun& run, const Link& link,
                                       const RateOfThreads& rate,
                                       const RunPhasesQuestion& question) {
  const record::RunSpec& spec = run.started.spec;
  const auto warm_up = analyze::warm_up_steps(static_cast<std::int64_t>(run.steps.size()));
  const StepPhases one = mean_phases(run.steps, static_cast<std::size_t>(warm_up));
  RunPhasesPrediction answer;
  answer.steps = one.totals_s.size();
  const std::int64_t on_one_host = (question.workers + question.nodes - 1) / question.nodes;
  answer.host = shared_host(run, rate, on_one_host);
  PhaseQuestion& asked = answer.asked;
  asked.workers = static_cast<int>(question.workers);
  asked.gradient_bytes = 4.0 * static_cast<double>(spec.parameters);
  // Adding up gradients takes a core too: with all of them computing, nothing hides it.
  const bool spare_core =
      spec.device != "cpu" || answer.host.threads_each * on_one_host < run.started.machine.cores;
  // Other people's scripts use DistributedDataParallel, which overlaps too.
  const bool overlaps = spec.strategy == record::Strategy::kOverlap || !spec.command.empty();
  asked.overlap = overlaps && spare_core;
  asked.contention = contention(answer.host);
  if (question.contention > 0) {
    asked.contention = {question.contention, question.contention, question.contention};
  }
  asked.run_spread = run.run_spread;
  answer.step = predict_phases(one, link, asked);
  const double per_epoch = static_cast<double>(spec.data.train_examples) /
                           static_cast<double>(spec.global_batch() * question.workers);
  answer.epoch_s = mapped(answer.step.step_s, [&](double s) { return s * per_epoch; });
  return answer;
}

const record::LinkCalibration* best_link(std::span<const record::LinkCalibration> links,
                                         const std::string& host, std::int64_t workers,
                                         std::int64_t nodes) {
  const bool across = nodes > 1;
  const auto worth = [&](const record::LinkCalibration& link) {
    return 2 * (link.workers == workers) + (link.backend == (across ? "gloo" : "shm"));
  };
  const record::LinkCalibration* best = nullptr;
  for (const record::LinkCalibration& link : links) {
    if (link.bytes_per_s <= 0 || (link.nodes > 1) != across) continue;
    if (!across && link.machine.host != host) continue;
    if (best == nullptr || worth(link) > worth(*best)) best = &link;
  }
  return best;
}

}  // namespace lockstep::predict
