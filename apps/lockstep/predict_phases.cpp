#include "predict_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/base/csv.h"
#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/predict/phase_model.h"
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

KnownLink stored_link(const std::string& store_path, const record::RunStarted& run, int workers) {
  const store::Calibrations known = store::calibrations(store_path);
  const record::LinkCalibration* best = nullptr;
  for (const record::LinkCalibration& link : known.links) {
    if (link.machine.host != run.machine.host || link.bytes_per_s <= 0 || link.nodes > 1) continue;
    const bool fits = link.workers == workers;
    const bool shared = link.backend == "shm";  // what workers of one host use by default
    const bool better = best == nullptr || (fits && best->workers != workers) ||
                        (fits == (best->workers == workers) && shared && best->backend != "shm");
    if (better) best = &link;
  }
  if (best == nullptr) {
    throw Error(ErrorKind::kData,
                fmt::format("{} has no calibration of a link of this host", store_path),
                "make one with lockstep bench collectives, or give --collectives or --link");
  }
  return {{best->alpha_s, best->bytes_per_s, best->spread},
          fmt::format("calibrated: {} on {} workers", best->backend, best->workers)};
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
  return stored_link(store_path, run, static_cast<int>(question.workers));
}

/// N workers of t threads against one: how much less arithmetic each gets done.
double stored_contention(const std::string& store_path, const record::RunStarted& run,
                         std::int64_t workers) {
  const store::Calibrations known = store::calibrations(store_path);
  const int threads = run.spec.threads_per_worker;
  const auto all = static_cast<int>(threads * workers);
  const record::DeviceCalibration* alone = known.device(run.machine.host, threads);
  const record::DeviceCalibration* together = known.device(run.machine.host, all);
  if (alone == nullptr || together == nullptr || !(together->flops > 0)) return 1;
  const auto n = static_cast<double>(workers);
  return std::clamp(n * alone->flops / together->flops, 1.0, n);
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
  const KnownLink known = link_of(global.store_path, run.started, question);
  const predict::Link& link = known.link;
  predict::PhaseQuestion asked;
  asked.workers = static_cast<int>(question.workers);
  asked.gradient_bytes = 4.0 * static_cast<double>(run.started.spec.parameters);
  asked.overlap = run.started.spec.strategy == "overlap";
  asked.contention = question.contention > 0
                         ? question.contention
                         : stored_contention(global.store_path, run.started, question.workers);
  const predict::PhasePrediction step = predict::predict_phases(one, link, asked);
  const double per_epoch = static_cast<double>(run.started.spec.data.train_examples) /
                           static_cast<double>(run.started.spec.global_batch() * question.workers);
  const predict::Estimate epoch =
      predict::mapped(step.step_s, [&](double s) { return s * per_epoch; });
  if (global.json) {
    const nlohmann::json json{{"run", question.run},
                              {"workers", question.workers},
                              {"kind", "predicted"},
                              {"step_time_s", estimate_json(step.step_s)},
                              {"epoch_time_s", estimate_json(epoch)},
                              {"compute_s", step.compute_s},
                              {"communication_s", step.communication_s},
                              {"exposed_s", step.exposed_s},
                              {"straggler_s", step.straggler_s},
                              {"input_bound", step.input_bound},
                              {"contention", asked.contention},
                              {"link", known.origin},
                              {"link_alpha_s", link.alpha_s},
                              {"link_bytes_per_s", link.bytes_per_s}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{} workers, predicted from the measured phases of run {} ({} steps) and the link\n",
             question.workers, question.run, one.steps);
  const auto line = [](const char* name, double seconds) {
    fmt::print("  {:<26} {}\n", name, format_seconds(Seconds(seconds)));
  };
  line("compute", step.compute_s);
  line("communication", step.communication_s);
  line("of it exposed", step.exposed_s);
  line("waiting for the slowest", step.straggler_s);
  fmt::print("  {:<26} {}\n", "step", time_with_interval(step.step_s));
  fmt::print("  {:<26} {}\n", "epoch", time_with_interval(epoch));
  if (step.input_bound) fmt::print("note: the loader, not the device, is the limit\n");
  fmt::print(
      "note: in brackets: 90 % intervals; they hold what the phases leave out (caches, memory "
      "and cores shared by the workers: 8 %), the misfit of the link and stragglers\n");
  if (asked.contention != 1) {
    fmt::print("note: compute is taken to be {:.2f} times as slow with all workers at it\n",
               asked.contention);
  } else if (question.workers > 1) {
    fmt::print(
        "note: workers are taken not to slow each other down; if they share memory and "
        "caches, measure by how much with lockstep bench device, or give --contention\n");
  }
  fmt::print("note: link ({}): latency {}, bandwidth {}/s\n", known.origin,
             format_seconds(Seconds(link.alpha_s)),
             format_bytes(Bytes{static_cast<std::uint64_t>(link.bytes_per_s)}));
}

}  // namespace lockstep::cli
