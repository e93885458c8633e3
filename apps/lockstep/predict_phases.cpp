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
#include "lockstep/store/store.h"
#include "predict_output.h"

namespace lockstep::cli {
namespace {

constexpr std::size_t kWarmUpSteps = 10;

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
  const predict::Link link = predict::fit_link(read_collectives(question.collectives));
  predict::PhaseQuestion asked;
  asked.workers = static_cast<int>(question.workers);
  asked.gradient_bytes = 4.0 * static_cast<double>(run.started.spec.parameters);
  asked.overlap = run.started.spec.strategy == "overlap";
  asked.contention = question.contention;
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
                              {"link_alpha_s", link.alpha_s},
                              {"link_bytes_per_s", link.bytes_per_s}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{} workers, from the phases of run {} ({} steps) and the link\n", question.workers,
             question.run, one.steps);
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
  fmt::print("note: link: latency {}, bandwidth {}/s\n", format_seconds(Seconds(link.alpha_s)),
             format_bytes(Bytes{static_cast<std::uint64_t>(link.bytes_per_s)}));
}

}  // namespace lockstep::cli
