#include "lockstep/predict/phases/run_phases.h"

#include <algorithm>
#include <iterator>

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
SharedHost shared_host(const MeasuredRun& run, const RateOfThreads& rate, std::int64_t workers) {
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
  // Several workers also sleep while they communicate: of them, what compute needs is not known.
  if (spec.workers < 2 && host.threads_each == host.threads_alone) {
    host.cores_used = mean_cores_used(run.utilisation);
  }
  const int all = host.threads_each * host.workers;
  host.alone = rate(host.threads_alone);
  host.together = rate(machine.cores > 0 ? std::min(all, machine.cores) : all);
  if (host.alone.flops > 0) host.memory_bound = memory_bound_part(spec, host.alone);
  return host;
}

std::int64_t rounded_up(std::int64_t workers, std::int64_t among) {
  return (workers + among - 1) / among;
}

/// By how much more, or less, workers slow each other down than those of the run did, of whom
/// `more` fewer shared a machine. Either end of one belongs to that of the other.
Estimate contention_beyond(const Estimate& asked, const Estimate& measured, int more) {
  if (more == 0) return {1, 1, 1};
  const auto ratio = [&](double a, double b) {
    return more > 0 ? std::max(a / b, 1.0) : std::min(a / b, 1.0);
  };
  const double value = ratio(asked.value, measured.value);
  const double low = ratio(asked.low, measured.low);
  const double high = ratio(asked.high, measured.high);
  return {value, std::min({value, low, high}), std::max({value, low, high})};
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

/// A calibrated link, or what the run measured on it: the time of these very gradients.
Link link_seen_by(const MeasuredRun& run, const Link& link, const StepPhases& phases,
                  const PhaseQuestion& asked, const RunPhasesQuestion& question) {
  const record::RunSpec& spec = run.started.spec;
  const std::int64_t nodes = std::max(spec.nodes, 1);
  const bool stated = !(link.peak_bytes_per_s > 0);
  // Where backward hides a part, only the rest was measured.
  const bool whole = spec.strategy == record::Strategy::kBlocking && spec.command.empty();
  const bool alike =
      (nodes > 1) == (question.nodes > 1) &&
      rounded_up(spec.workers, nodes) == rounded_up(question.workers, question.nodes);
  if (stated || !whole || !alike || spec.workers < 2 || !(phases.transfer_s > 0)) return link;
  return link.measured_at(asked.gradient_bytes, spec.workers, phases.transfer_s);
}

/// What carries gradients. Of other programs it is recorded where ranks were several; that of one
/// worker is taken to become the process group of PyTorch on CPUs.
record::Backend usual_backend(const record::RunSpec& spec, bool across) {
  if (!spec.command.empty()) {
    const auto recorded = spec.backend.value_or(record::Backend::kGloo);
    const bool inside_only = recorded == record::Backend::kSharedMemory;
    if (recorded != record::Backend::kNone && !(inside_only && across)) return recorded;
  }
  return across || !spec.command.empty() ? record::Backend::kGloo : record::Backend::kSharedMemory;
}

}  // namespace

Sharing sharing_of(const MeasuredRun& run, const RateOfThreads& rate,
                   const RunPhasesQuestion& question) {
  const record::RunSpec& spec = run.started.spec;
  const std::int64_t machines =
      question.machines > 0 ? std::min(question.machines, question.nodes) : question.nodes;
  const std::int64_t on_one_host = rounded_up(question.workers, question.nodes);
  const std::int64_t on_one_machine = rounded_up(question.workers, machines);
  const std::int64_t measured = std::max(spec.workers, 1);
  const std::int64_t measured_machines =
      rounded_up(std::max(spec.nodes, 1) * machines, question.nodes);
  const std::int64_t measured_on_one = rounded_up(measured, measured_machines);
  const int cores = run.started.machine.cores;
  Sharing sharing;
  sharing.host = shared_host(run, rate, on_one_machine);
  sharing.spare_core = spec.device != "cpu" || sharing.host.threads_each * on_one_machine < cores;
  sharing.contention = contention(sharing.host);
  if (measured_on_one > 1) {
    sharing.contention =
        contention_beyond(sharing.contention, contention(shared_host(run, rate, measured_on_one)),
                          static_cast<int>(on_one_machine - measured_on_one));
  }
  if (question.contention > 0) {
    sharing.contention = {question.contention, question.contention, question.contention};
  }
  sharing.link = shared_link(on_one_host, question);
  return sharing;
}

RunPhasesPrediction predict_run_phases(const MeasuredRun& run, const Link& link,
                                       const RateOfThreads& rate,
                                       const RunPhasesQuestion& question) {
  const record::RunSpec& spec = run.started.spec;
  const std::int64_t ranks = std::max(spec.workers, 1);
  const auto warm_up = analyze::warm_up_steps(std::ssize(run.steps) / ranks);
  const StepPhases one = mean_phases(run.steps, static_cast<std::size_t>(warm_up * ranks));
  const Sharing sharing = sharing_of(run, rate, question);
  RunPhasesPrediction answer;
  answer.steps = one.totals_s.size() / static_cast<std::size_t>(ranks);
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
  answer.link = link_seen_by(run, link, one, asked, question);
  answer.step = predict_phases(one, answer.link, asked);
  if (spec.data.train_examples > 0 && spec.global_batch() > 0) {
    const double per_epoch =
        static_cast<double>(spec.data.train_examples) /
        (static_cast<double>(spec.global_batch() * question.workers) / static_cast<double>(ranks));
    answer.epoch_s = mapped(answer.step.step_s, [&](double s) { return s * per_epoch; });
  }
  return answer;
}

const record::LinkCalibration* best_link(std::span<const record::LinkCalibration> links,
                                         const record::RunStarted& run, std::int64_t workers,
                                         std::int64_t nodes) {
  const bool across = nodes > 1;
  const auto usual = usual_backend(run.spec, across);
  const auto worth = [&](const record::LinkCalibration& link) {
    return 2 * (link.workers == workers) + (link.backend == usual);
  };
  const record::LinkCalibration* best = nullptr;
  for (const record::LinkCalibration& link : links) {
    if (link.bytes_per_s <= 0 || (link.nodes > 1) != across) continue;
    if (!across && link.machine.host != run.machine.host) continue;
    if (best == nullptr || worth(link) > worth(*best)) best = &link;
  }
  return best;
}

}  // namespace lockstep::predict
