#include "lockstep/collect/phases_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "lockstep/analyze/communication.h"
#include "lockstep/base/error.h"
#include "lockstep/base/statistics.h"
#include "lockstep/base/text/csv.h"
#include "lockstep/base/text/quantities.h"
#include "lockstep/predict/phases/link_calibration.h"
#include "lockstep/store/calibrations.h"
#include "lockstep/store/store.h"

namespace lockstep::collect {
namespace {

/// What a stated latency and bandwidth are taken to be off by.
constexpr double kStatedLinkSpread = 0.3;

std::size_t collectives_column(const std::vector<std::string>& header, const std::string& name,
                               const std::string& path) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) {
    throw Error(ErrorKind::kData, fmt::format("{}: column '{}' is missing in line 1", path, name),
                "a collectives calibration has the columns bytes, seconds, workers");
  }
  return static_cast<std::size_t>(found - header.begin());
}

std::vector<predict::CollectiveTime> read_collectives(const std::string& path) {
  std::ifstream in(path);
  std::size_t lines = 0;
  std::vector<std::string> fields;
  if (!in || !read_csv_record(in, fields, lines)) {
    throw Error(ErrorKind::kData, fmt::format("cannot read the collectives calibration {}", path),
                "measure them with lockstep bench collectives");
  }
  const std::size_t bytes = collectives_column(fields, "bytes", path);
  const std::size_t seconds = collectives_column(fields, "seconds", path);
  const std::size_t workers = collectives_column(fields, "workers", path);
  std::vector<predict::CollectiveTime> result;
  while (read_csv_record(in, fields, lines)) {
    if (fields.size() <= std::max({bytes, seconds, workers})) continue;
    result.push_back({std::atof(fields[bytes].c_str()), std::atof(fields[seconds].c_str()),
                      std::atoi(fields[workers].c_str())});
  }
  return result;
}

KnownLink stored_link(const std::string& store_path, const record::RunStarted& run,
                      const PhasesQuestion& question) {
  const bool across = question.workers.nodes > 1;
  const store::Calibrations known = store::calibrations(store_path);
  const record::LinkCalibration* best =
      predict::best_link(known.links, run, question.workers.workers, question.workers.nodes);
  if (best == nullptr) {
    throw Error(
        ErrorKind::kData,
        fmt::format("{} has no calibration of a link {}", store_path,
                    across ? "between hosts" : "of this host"),
        fmt::format("measure it with lockstep bench collectives{}, or give --collectives or --link",
                    across ? " --launcher ..." : ""));
  }
  return {predict::link_near(*best, analyze::gradient_bytes(run.spec.parameters)),
          fmt::format("calibrated: {} on {} workers{}", record::name_of(best->backend),
                      best->workers, across ? fmt::format(" of {} hosts", best->nodes) : ""),
          best->workers, best->nodes};
}

KnownLink link_of(const std::string& store_path, const record::RunStarted& run,
                  const PhasesQuestion& question) {
  if (!question.link.empty()) {
    const LinkText stated = parse_link(question.link);
    return {{stated.latency_s, stated.bytes_per_s, kStatedLinkSpread}, "as stated"};
  }
  if (!question.collectives.empty()) {
    return {predict::fit_link_near(read_collectives(question.collectives),
                                   analyze::gradient_bytes(run.spec.parameters)),
            "calibrated: " + question.collectives};
  }
  return stored_link(store_path, run, question);
}

/// Relative standard deviation of the speed of runs like this one; 0 when it is the only one.
double spread_between_runs(store::Store& store, const store::StoredRun& run) {
  const record::RunSpec& spec = run.started.spec;
  std::vector<double> logs;
  for (const store::RunSummary& other : store.runs({.recipe = spec.recipe,
                                        .workers = spec.workers,
                                        .batch_per_worker = spec.batch_per_worker})) {
    if (!(other.train_s > 0) || other.examples < 1) continue;
    const store::StoredRun loaded = store.load(other.id);
    if (loaded.started.spec.threads_per_worker != spec.threads_per_worker ||
        loaded.started.spec.nodes != spec.nodes ||
        loaded.started.machine.host != run.started.machine.host) {
      continue;
    }
    logs.push_back(std::log(static_cast<double>(other.examples) / other.train_s));
  }
  return logs.size() < 2 ? 0 : summarize(logs).deviation;
}

}  // namespace

PhasesPrediction predict_from_phases(const std::string& store_path,
                                     const PhasesQuestion& question) {
  store::Store store(store_path);
  const store::StoredRun run = store.load(question.run);
  predict::MeasuredRun measured{run.started, {}, run.utilisation, spread_between_runs(store, run)};
  store.visit_steps(question.run,
                    [&](const record::StepTimes& step) { measured.steps.push_back(step); });
  const store::Calibrations known = store::calibrations(store_path);
  const auto rate = [&](int threads) {
    const record::DeviceCalibration* found = known.device(run.started.machine.host, threads);
    return found == nullptr ? predict::CalibratedRate{}
                            : predict::CalibratedRate{found->flops, found->bytes_per_s};
  };
  PhasesPrediction result{
      question, run.started.spec, link_of(store_path, run.started, question), {}};
  predict::RunPhasesQuestion workers = question.workers;
  workers.calibrated_workers = result.link.workers;
  workers.calibrated_nodes = result.link.nodes;
  result.predicted = predict::predict_run_phases(measured, result.link.link, rate, workers);
  return result;
}

}  // namespace lockstep::collect
