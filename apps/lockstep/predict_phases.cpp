#include "predict_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/base/csv.h"
#include "lockstep/base/error.h"
#include "lockstep/base/statistics.h"
#include "lockstep/base/units.h"
#include "lockstep/predict/contention.h"
#include "lockstep/predict/phase_model.h"
#include "lockstep/predict/roofline.h"
#include "lockstep/store/calibrations.h"
#include "lockstep/store/store.h"
#include "predict_output.h"
#include "quantities.h"

namespace lockstep::cli {
namespace {

constexpr std::size_t kWarmUpSteps = 10;
/// What a stated latency and bandwidth are taken to be off by.
constexpr double kStatedLinkSpread = 0.3;

std::size_t column(const std::vector<std::string>& header, const std::string& name,
                   const std::string& path) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) {
    throw Error(ErrorKind::kData, fmt::format("{}: line 1 has no column '{}'", path, name),
                "a collectives calibration has the columns bytes, seconds, workers");
  }
  return static_cast<std::size_t>(found - header.begin());
}

std::vector<predict::CollectiveTime> read_collectives(const std::string& path) {
  std::ifstream in(path);
  std::size_t lines = 0;
  std::vector<std::string> fields;
  if (!in || !read_csv_record(in, fields, lines)) {
    throw Error(ErrorKind::kData, fmt::format("cannot read the collectives in {}", path),
                "make them with lockstep bench collectives");
  }
  const std::size_t bytes = column(fields, "bytes", path);
  const std::size_t seconds = column(fields, "seconds", path);
  const std::size_t workers = column(fields, "workers", path);
  std::vector<predict::CollectiveTime> result;
  while (read_csv_record(in, fields, lines)) {
    if (fields.size() <= std::max({bytes, seconds, workers})) continue;
    result.push_back({std::atof(fields[bytes].c_str()), std::atof(fields[seconds].c_str()),
                      std::atoi(fields[workers].c_str())});
  }
  return result;
}

/// A link and where it was taken from.
struct KnownLink {
  predict::Link link;
  std::string origin;
};

/// Workers of one host: a link of that host, best of so many workers and over shared memory, which
/// they use by default. On several hosts: a link between any hosts, best of so many workers.
KnownLink stored_link(const std::string& store_path, const record::RunStarted& run,
                      const PhasesQuestion& question) {
  const bool across = question.nodes > 1;
  const auto worth = [&](const record::LinkCalibration& link) {
    return 2 * (link.workers == question.workers) +
           (link.backend == (across ? "gloo" : "shm"));  // what they use by default
  };
  const store::Calibrations known = store::calibrations(store_path);
  const record::LinkCalibration* best = nullptr;
  for (const record::LinkCalibration& link : known.links) {
    if (link.bytes_per_s <= 0 || (link.nodes > 1) != across) continue;
    if (!across && link.machine.host != run.machine.host) continue;
    if (best == nullptr || worth(link) > worth(*best)) best = &link;
  }
  if (best == nullptr) {
    throw Error(ErrorKind::kData,
                fmt::format("{} has no calibration of a link {}", store_path,
                            across ? "between hosts" : "of this host"),
                fmt::format("make one with lockstep bench collectives{}, or give --collectives or "
                            "--link",
                            across ? " --launcher ..." : ""));
  }
  return {{best->alpha_s, best->bytes_per_s, best->spread},
          fmt::format("calibrated: {} on {} workers{}", best->backend, best->workers,
                      across ? fmt::format(" of {} hosts", best->nodes) : "")};
}

KnownLink link_of(const std::string& store_path, const record::RunStarted& run,
                  const PhasesQuestion& question) {
  if (!question.link.empty()) {
    const LinkText stated = parse_link(question.link);
    return {{stated.latency_s, stated.bytes_per_s, kStatedLinkSpread}, "as stated"};
  }
  if (!question.collectives.empty()) {
    return {predict::fit_link(read_collectives(question.collectives)),
            "calibrated: " + question.collectives};
  }
  return stored_link(store_path, run, question);
}

double mean_cores_used(const store::StoredRun& run) {
  double used = 0;
  double seconds = 0;
  for (const record::Utilisation& sample : run.utilisation) {
    used += sample.cpu_cores * sample.seconds;
    seconds += sample.seconds;
  }
  return seconds > 0 ? used / seconds : 0;
}

/// Part of a step that is bound by memory, where the layers of the network are known.
double memory_bound_part(const record::RunSpec& spec, const predict::CalibratedRate& rate) {
  predict::Device device{"cpu", rate.flops, rate.bytes_per_s};
  device.calibrated = true;
  try {
    return predict::bound_step(predict::training_cost(spec.recipe), device,
                               static_cast<double>(spec.batch_per_worker))
        .memory_bound_part;
  } catch (const Error&) {
    return predict::SharedHost{}.memory_bound;
  }
}

/// Workers of one host as `lockstep train -n N` places them: a share of the cores each. Devices of
/// their own do not compete.
predict::SharedHost shared_host(const std::string& store_path, const store::StoredRun& run,
                                std::int64_t workers) {
  const record::RunSpec& spec = run.started.spec;
  const record::Machine& machine = run.started.machine;
  predict::SharedHost host;
  host.workers = spec.device == "cpu" ? static_cast<int>(workers) : 1;
  host.cores = machine.cores;
  host.threads_alone = spec.threads_per_worker;
  host.threads_each = spec.threads_per_worker;
  if (machine.cores > 0) {
    host.threads_each = std::clamp(machine.cores / host.workers, 1, spec.threads_per_worker);
  }
  if (host.threads_each == host.threads_alone) host.cores_used = mean_cores_used(run);
  const store::Calibrations known = store::calibrations(store_path);
  const auto rate = [&](int threads) {
    const record::DeviceCalibration* found = known.device(machine.host, threads);
    return found == nullptr ? predict::CalibratedRate{}
                            : predict::CalibratedRate{found->flops, found->bytes_per_s};
  };
  const int all = host.threads_each * host.workers;
  host.alone = rate(host.threads_alone);
  host.together = rate(machine.cores > 0 ? std::min(all, machine.cores) : all);
  if (host.alone.flops > 0) host.memory_bound = memory_bound_part(spec, host.alone);
  return host;
}

/// Relative standard deviation of the speed of runs like this one; 0 when it is the only one.
double spread_between_runs(store::Store& store, const store::StoredRun& run) {
  const record::RunSpec& spec = run.started.spec;
  std::vector<double> logs;
  for (const store::RunSummary& other : store.runs(
           {.recipe = spec.recipe, .workers = 1, .batch_per_worker = spec.batch_per_worker})) {
    if (!(other.train_s > 0) || other.examples < 1) continue;
    const store::StoredRun loaded = store.load(other.id);
    if (loaded.started.spec.threads_per_worker != spec.threads_per_worker ||
        loaded.started.machine.host != run.started.machine.host) {
      continue;
    }
    logs.push_back(std::log(static_cast<double>(other.examples) / other.train_s));
  }
  return logs.size() < 2 ? 0 : summarize(logs).deviation;
}

/// What was asked and what came out, for either form of output.
struct PhasesAnswer {
  PhasesQuestion question;
  std::string recipe;
  std::size_t steps = 0;  ///< that were measured
  KnownLink link;
  predict::SharedHost host;
  predict::PhaseQuestion asked;
  predict::PhasePrediction step;
  predict::Estimate epoch;
};

nlohmann::json phases_json(const PhasesAnswer& answer) {
  const predict::PhasePrediction& step = answer.step;
  return {{"run", answer.question.run},
          {"workers", answer.question.workers},
          {"nodes", answer.question.nodes},
          {"kind", "predicted"},
          {"step_time_s", estimate_json(step.step_s)},
          {"epoch_time_s", estimate_json(answer.epoch)},
          {"compute_s", step.compute_s},
          {"communication_s", step.communication_s},
          {"exposed_s", step.exposed_s},
          {"straggler_s", step.straggler_s},
          {"input_bound", step.input_bound},
          {"contention", estimate_json(answer.asked.contention)},
          {"run_spread", answer.asked.run_spread},
          {"threads_measured", answer.host.threads_alone},
          {"threads_predicted", answer.host.threads_each},
          {"link", answer.link.origin},
          {"link_alpha_s", answer.link.link.alpha_s},
          {"link_bytes_per_s", answer.link.link.bytes_per_s}};
}

void print_contention(const PhasesAnswer& answer) {
  const predict::SharedHost& host = answer.host;
  const bool stated = answer.question.contention > 0;
  const bool fewer = host.threads_each < host.threads_alone;
  const bool calibrated = host.alone.flops > 0 && host.together.flops > 0;
  fmt::print("note: compute is taken to be {} times as slow with all workers at it ({})\n",
             with_interval(answer.asked.contention, 2),
             stated       ? "as stated"
             : fewer      ? "each has fewer threads than the one measured"
             : calibrated ? "calibrated: arithmetic and memory of all threads at once"
                          : "cores counted; lockstep bench device would measure it");
  if (!fewer || stated) return;
  fmt::print(
      "note: cannot be told: what {} instead of {} threads a worker cost; to settle it, run "
      "lockstep train {} -n 1 --threads {} and predict from that run\n",
      host.threads_each, host.threads_alone, answer.recipe, host.threads_each);
}

void print_phases(const PhasesAnswer& answer) {
  const predict::PhasePrediction& step = answer.step;
  fmt::print("{} workers, predicted from the measured phases of run {} ({} steps) and the link\n",
             answer.question.workers, answer.question.run, answer.steps);
  const auto line = [](const char* name, double seconds) {
    fmt::print("  {:<26} {}\n", name, format_seconds(Seconds(seconds)));
  };
  line("compute", step.compute_s);
  line("communication", step.communication_s);
  line("of it exposed", step.exposed_s);
  line("waiting for the slowest", step.straggler_s);
  fmt::print("  {:<26} {}\n", "step", time_with_interval(step.step_s));
  fmt::print("  {:<26} {}\n", "epoch", time_with_interval(answer.epoch));
  if (step.input_bound) fmt::print("note: the loader, not the device, is the limit\n");
  fmt::print(
      "note: in brackets: 90 % intervals; they hold the spread between runs ({:.0f} %{}), what "
      "workers do to each other ({:.0f} %), link and stragglers ({:.0f} %), and what phases leave "
      "out (8 %)\n",
      100 * step.run_part, answer.asked.run_spread > 0 ? "" : ", assumed",
      100 * step.contention_part, 100 * step.link_part);
  if (answer.question.workers > 1) print_contention(answer);
  const predict::Link& link = answer.link.link;
  fmt::print("note: link ({}): latency {}, bandwidth {}/s\n", answer.link.origin,
             format_seconds(Seconds(link.alpha_s)),
             format_bytes(Bytes{static_cast<std::uint64_t>(link.bytes_per_s)}));
}

}  // namespace

void predict_from_phases(const GlobalOptions& global, const PhasesQuestion& question) {
  store::Store store(global.store_path);
  const store::StoredRun run = store.load(question.run);
  if (run.started.spec.workers != 1) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("run {} was made with {} workers", question.run, run.started.spec.workers),
        "name a run of one worker: its phases are free of communication");
  }
  std::vector<record::StepTimes> steps;
  store.visit_steps(question.run, [&](const record::StepTimes& step) { steps.push_back(step); });
  const std::size_t warm_up = steps.size() > 3 * kWarmUpSteps ? kWarmUpSteps : steps.size() / 4;
  const predict::StepPhases one = predict::mean_phases(steps, warm_up);
  const record::RunSpec& spec = run.started.spec;
  PhasesAnswer answer;
  answer.question = question;
  answer.recipe = spec.recipe;
  answer.steps = one.totals_s.size();
  answer.link = link_of(global.store_path, run.started, question);
  const std::int64_t on_one_host = (question.workers + question.nodes - 1) / question.nodes;
  answer.host = shared_host(global.store_path, run, on_one_host);
  predict::PhaseQuestion& asked = answer.asked;
  asked.workers = static_cast<int>(question.workers);
  asked.gradient_bytes = 4.0 * static_cast<double>(spec.parameters);
  // Adding up gradients takes a core too: with all of them computing, nothing hides it.
  const bool spare_core =
      spec.device != "cpu" || answer.host.threads_each * on_one_host < run.started.machine.cores;
  // Other people's scripts use DistributedDataParallel, which overlaps too.
  const bool overlaps = spec.strategy == record::Strategy::kOverlap || !spec.command.empty();
  asked.overlap = overlaps && spare_core;
  asked.contention = predict::contention(answer.host);
  if (question.contention > 0) {
    asked.contention = {question.contention, question.contention, question.contention};
  }
  asked.run_spread = spread_between_runs(store, run);
  answer.step = predict::predict_phases(one, answer.link.link, asked);
  const double per_epoch = static_cast<double>(spec.data.train_examples) /
                           static_cast<double>(spec.global_batch() * question.workers);
  answer.epoch = predict::mapped(answer.step.step_s, [&](double s) { return s * per_epoch; });
  if (global.json) {
    print_line(phases_json(answer));
  } else {
    print_phases(answer);
  }
}

}  // namespace lockstep::cli
