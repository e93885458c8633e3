#include "predict_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/base/csv.h"
#include "lockstep/base/error.h"
#include "lockstep/base/quantities.h"
#include "lockstep/base/statistics.h"
#include "lockstep/base/units.h"
#include "lockstep/predict/run_phases.h"
#include "lockstep/store/calibrations.h"
#include "lockstep/store/store.h"
#include "predict_output.h"

namespace lockstep::cli {
namespace {

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

KnownLink stored_link(const std::string& store_path, const record::RunStarted& run,
                      const PhasesQuestion& question) {
  const bool across = question.nodes > 1;
  const store::Calibrations known = store::calibrations(store_path);
  const record::LinkCalibration* best =
      predict::best_link(known.links, run.machine.host, question.workers, question.nodes);
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
  KnownLink link;
  predict::RunPhasesPrediction predicted;
};

nlohmann::json phases_json(const PhasesAnswer& answer) {
  const predict::PhasePrediction& step = answer.predicted.step;
  return {{"run", answer.question.run},
          {"workers", answer.question.workers},
          {"nodes", answer.question.nodes},
          {"kind", "predicted"},
          {"step_time_s", estimate_json(step.step_s)},
          {"epoch_time_s", estimate_json(answer.predicted.epoch_s)},
          {"compute_s", step.compute_s},
          {"communication_s", step.communication_s},
          {"exposed_s", step.exposed_s},
          {"straggler_s", step.straggler_s},
          {"input_bound", step.input_bound},
          {"contention", estimate_json(answer.predicted.asked.contention)},
          {"run_spread", answer.predicted.asked.run_spread},
          {"threads_measured", answer.predicted.host.threads_alone},
          {"threads_predicted", answer.predicted.host.threads_each},
          {"link", answer.link.origin},
          {"link_alpha_s", answer.link.link.alpha_s},
          {"link_bytes_per_s", answer.link.link.bytes_per_s}};
}

void print_contention(const PhasesAnswer& answer) {
  const predict::SharedHost& host = answer.predicted.host;
  const bool stated = answer.question.contention > 0;
  const bool fewer = host.threads_each < host.threads_alone;
  const bool calibrated = host.alone.flops > 0 && host.together.flops > 0;
  fmt::print("note: compute is taken to be {} times as slow with all workers at it ({})\n",
             with_interval(answer.predicted.asked.contention, 2),
             stated       ? "as stated"
             : fewer      ? "each has fewer threads than the one measured"
             : calibrated ? "calibrated: arithmetic and memory of all threads at once"
                          : "cores counted; lockstep bench device would measure it");
  if (!fewer || stated) return;
  fmt::print(
      "note: cannot be determined: what {} instead of {} threads per worker cost; to settle it, "
      "run "
      "lockstep train {} -n 1 --threads {} and predict from that run\n",
      host.threads_each, host.threads_alone, answer.recipe, host.threads_each);
}

void print_phases(const PhasesAnswer& answer) {
  const predict::PhasePrediction& step = answer.predicted.step;
  fmt::print("{} workers, predicted from the measured phases of run {} ({} steps) and the link\n",
             answer.question.workers, answer.question.run, answer.predicted.steps);
  const auto line = [](const char* name, double seconds) {
    fmt::print("  {:<26} {}\n", name, format_seconds(Seconds(seconds)));
  };
  line("compute", step.compute_s);
  line("communication", step.communication_s);
  line("of it exposed", step.exposed_s);
  line("waiting for the slowest", step.straggler_s);
  fmt::print("  {:<26} {}\n", "step", time_with_interval(step.step_s));
  fmt::print("  {:<26} {}\n", "epoch", time_with_interval(answer.predicted.epoch_s));
  if (step.input_bound) fmt::print("note: the loader, not the device, is the limit\n");
  fmt::print(
      "note: in brackets: 90 % intervals; they cover the spread between runs ({:.0f} %{}), what "
      "workers do to each other ({:.0f} %), link and stragglers ({:.0f} %), and what phases leave "
      "out (8 %)\n",
      100 * step.run_part, answer.predicted.asked.run_spread > 0 ? "" : ", assumed",
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
  predict::OneWorkerRun one{run.started, {}, run.utilisation, spread_between_runs(store, run)};
  store.visit_steps(question.run,
                    [&](const record::StepTimes& step) { one.steps.push_back(step); });
  const store::Calibrations known = store::calibrations(global.store_path);
  const auto rate = [&](int threads) {
    const record::DeviceCalibration* found = known.device(run.started.machine.host, threads);
    return found == nullptr ? predict::CalibratedRate{}
                            : predict::CalibratedRate{found->flops, found->bytes_per_s};
  };
  PhasesAnswer answer{
      question, run.started.spec.recipe, link_of(global.store_path, run.started, question), {}};
  answer.predicted = predict::predict_run_phases(
      one, answer.link.link, rate, {question.workers, question.nodes, question.contention});
  if (global.json) {
    print_line(phases_json(answer));
  } else {
    print_phases(answer);
  }
}

}  // namespace lockstep::cli
