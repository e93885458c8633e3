#include "lockstep/report/run_export.h"

#include <nlohmann/json.hpp>

#include "lockstep/analyze/run_measurements.h"
#include "lockstep/report/measurements_csv.h"

namespace lockstep::report {
namespace {

constexpr std::size_t kStepsPerLine = 512;

nlohmann::json event_json(const record::Event& event) {
  return nlohmann::json::parse(record::to_line(event));
}

template <class E>
nlohmann::json event_list(const std::vector<E>& events) {
  nlohmann::json list = nlohmann::json::array();
  for (const E& event : events) {
    nlohmann::json entry = event_json(event);
    entry.erase("v");
    entry.erase("type");
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

void export_events(store::Store& store, std::int64_t id, std::ostream& out) {
  const store::StoredRun run = store.load(id);
  out << record::to_line(run.started) << "\n";
  record::StepBlock block;
  const auto flush = [&] {
    if (!block.steps.empty()) out << record::to_line(block) << "\n";
    block.steps.clear();
  };
  store.visit_steps(id, [&](const record::StepTimes& step) {
    block.steps.push_back(step);
    if (block.steps.size() == kStepsPerLine) flush();
  });
  flush();
  if (!run.utilisation.empty()) {
    out << record::to_line(record::UtilisationBlock{run.utilisation}) << "\n";
  }
  for (const auto& epoch : run.epochs) out << record::to_line(epoch) << "\n";
  for (const auto& checkpoint : run.checkpoints) out << record::to_line(checkpoint) << "\n";
  for (const auto& error : run.errors) out << record::to_line(error) << "\n";
  if (run.ended) out << record::to_line(*run.ended) << "\n";
}

std::string run_json(const store::StoredRun& run) {
  nlohmann::ordered_json out;
  out["id"] = run.summary.id;
  out["status"] = store::state_name(run.summary.state);
  const nlohmann::json started = event_json(run.started);
  for (const char* name :
       {"started_wall_ns", "steps_per_epoch", "first_epoch", "spec", "machine", "build"}) {
    out[name] = started.at(name);
  }
  if (!run.summary.label.study.empty()) {
    out["study"] = {{"name", run.summary.label.study},
                    {"cell", run.summary.label.cell},
                    {"repeat", run.summary.label.repeat}};
  }
  out["epochs"] = event_list(run.epochs);
  out["utilisation"] = event_json(record::UtilisationBlock{run.utilisation}).at("samples");
  out["checkpoints"] = event_list(run.checkpoints);
  out["errors"] = event_list(run.errors);
  out["steps"] = run.steps;
  if (run.ended) {
    const nlohmann::json ended = event_json(*run.ended);
    for (const char* name : {"ended_wall_ns", "total_s", "peak_memory_bytes", "parameters_digest",
                             "energy_j", "energy_source", "others_cpu"}) {
      out[name] = ended.at(name);
    }
  }
  return out.dump(2) + "\n";
}

}  // namespace lockstep::report
