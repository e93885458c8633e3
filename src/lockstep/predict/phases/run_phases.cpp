#include "lockstep/predict/phases/run_phases.h"

#include <algorithm>

#include "lockstep/analyze/communication.h"
#include "lockstep/analyze/steps/step_breakdown.h"
#include "lockstep/base/error.h"
#include "lockstep/predict/devices/roofline.h"

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
  host.threads_alone = std::max(spec.threads_per_worker, 1);  // other programs may not state them
  host.threads_each = host.threads_alone;
  if (machine.cores > 0) {
    host.threads_each = std::clamp(machine.cores / host.workers, 1, host.threads_alone);
  }
  if (host.threads_each == host.threads_alone) host.cores_used = mean_cores_used(run.utilisation);
  const int all = host.threads_each * host.workers;
  host.alone = rate(host.threads_alone);
  host.together = rate(machine.cores > 0 ? std::min(all, machine.cores) : all);
  if (host.alone.flops > 0) host.memory_bound = memory_bound_part(spec, host.alone);
  return host;
}

std::int64_t rounded_up(std::int64_t workers, std::int64_t among) {
  return (workers + among - 1) / among;
}

/// What ranks that share a link add to what the calibration has of it.
SharedLink shared_link(std::int64_t on_one_host, const RunPhasesQuestion& question) {
  SharedLink shared;
  if (question.calibrated_workers < 1 || question.calibrated_nodes < 1) return shared;
  if (question.nodes > 1) {
    const double flows = static_cast<double>(question.calibrated_workers) /
                         static_cast<double>(question.calibrated_nodes);
    shared.flows_factor = std::max(1.0, static_cast<double>(on_one_host) / flows);
  }
  return shared;
}

}  // namespace

Sharing sharing_of(const OneWorkerRun& run, const RateOfThreads& rate,
                   const RunPhasesQuestion& question) {
  const std::int64_t machines = question.machines > 0 ? question.machines : question.nodes;
  const std::int64_t on_one_host = rounded_up(question.workers, question.nodes);
  const std::int64_t on_one_machine = rounded_up(question.workers, machines);
  const int cores = run.started.machine.cores;
  Sharing sharing;
  sharing.host = shared_host(run, rate, on_one_machine);
  sharing.spare_core =
      run.started.spec.device != "cpu" || sharing.host.threads_each * on_one_machine < cores;
  sharing.contention = contention(sharing.host);
  if (question.contention > 0) {
    sharing.contention = {question.contention, question.contention, question.contention};
  }
  sharing.link = shared_link(on_one_host, question);
  return sharing;
}

RunPhasesPrediction predict_run_phases(const OneWorkerRun& run, const Link& link,
                                       const RateOfThreads& rate,
                                       const RunPhasesQuestion& question) {
  const record::RunSpec& spec = run.started.spec;
  const auto warm_up = analyze::warm_up_steps(static_cast<std::int64_t>(run.steps.size()));
  const StepPhases one = mean_phases(run.steps, static_cast<std::size_t>(warm_up));
  const Sharing sharing = sharing_of(run, rate, question);
  RunPhasesPrediction answer;
  answer.steps = one.totals_s.size();
  answer.host = sharing.host;
  PhaseQuestion& asked = answer.asked;
  asked.workers = static_cast<int>(question.workers);
  asked.gradient_bytes = analyze::gradient_bytes(spec.parameters);
  // Other people's scripts use DistributedDataParallel, which overlaps too. Adding up gradients
  // takes a core as well: with all of them computing, nothing hides it.
  const bool overlaps = spec.strategy == record::Strategy::kOverlap || !spec.command.empty();
  asked.overlap = overlaps && sharing.spare_core;
  asked.contention = sharing.contention;
  asked.shared_link = sharing.link;
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
  const auto usual = across ? record::Backend::kGloo : record::Backend::kSharedMemory;
  const auto worth = [&](const record::LinkCalibration& link) {
    return 2 * (link.workers == workers) + (link.backend == usual);
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
