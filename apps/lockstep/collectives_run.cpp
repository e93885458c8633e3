#include "collectives_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lockstep/analyze/communication.h"
#include "lockstep/base/error.h"
#include "lockstep/launch/worker_group.h"
#include "lockstep/predict/phase_model.h"
#include "training_run.h"

namespace lockstep::cli {
namespace {

/// Collects the lines of rank 0.
class RowCollector final : public launch::GroupObserver {
 public:
  RowCollector(std::string prefix, Console& console)
      : prefix_(std::move(prefix)), console_(console) {}

  void on_event(int, const record::Event&) override {}
  void on_output(int rank, std::string_view line) override {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (rank != 0 || !json.is_object() || !json.contains("seconds")) {
      console_.err(line.starts_with("[rank ") ? std::string(line)
                                              : fmt::format("[rank {}] {}", rank, line));
      return;
    }
    result.nodes = json.value("nodes", 1);
    result.host = json.value("host", "");
    CollectivesRow row;
    row.point.bytes = json.value("bytes", std::int64_t{0});
    row.point.seconds = json.value("seconds", 0.0);
    row.point.rounds = json.value("rounds", 0);
    row.deviation_s = json.value("deviation_s", 0.0);
    row.wrong = json.value("wrong", std::int64_t{0});
    result.rows.push_back(row);
    console_.set_status(fmt::format(
        "{}: {}", prefix_, format_bytes(Bytes{static_cast<std::uint64_t>(row.point.bytes)})));
  }
  void on_stop(bool) override {}

  CollectivesResult result;

 private:
  std::string prefix_;
  Console& console_;
};

}  // namespace

std::int64_t CollectivesResult::wrong() const {
  std::int64_t total = 0;
  for (const CollectivesRow& row : rows) total += row.wrong;
  return total;
}

CollectivesResult run_collectives(const CollectivesRequest& request, Console& console,
                                  launch::SignalInbox& signals, const Clock& clock) {
  WorkerCommand command;
  command.name = "lockstep-collectives";
  command.spec.workers = request.workers;
  command.spec.threads_per_worker = 1;
  command.spec.oversubscribed = request.oversubscribe;
  command.spec.backend = request.backend;
  if (request.launcher.local()) plan_workers(command.spec);
  command.arguments = {"collectives", "--backend=" + request.backend,
                       fmt::format("--most={}", request.most.count),
                       fmt::format("--seconds={}", request.seconds_per_size)};
  if (command.spec.oversubscribed) command.arguments.emplace_back("--oversubscribe");
  if (!request.interface.empty()) command.arguments.push_back("--interface=" + request.interface);
  RowCollector collector(fmt::format("{} on {} workers", request.backend, request.workers),
                         console);
  const Launch launch = make_launch(command, request.launcher);
  const launch::GroupOutcome outcome = launch::run_group(launch.specs, collector, signals, clock);
  console.clear_status();
  if (outcome.failure) throw outcome.failure->error;
  if (outcome.stop_requested) throw Error(ErrorKind::kInterrupted, "the benchmark was interrupted");
  return std::move(collector.result);
}

record::LinkCalibration calibrate(const CollectivesResult& result,
                                  const CollectivesRequest& request, const record::Machine& machine,
                                  std::int64_t wall_ns) {
  record::LinkCalibration link;
  link.machine = machine;
  link.backend = request.backend;
  link.workers = request.workers;
  link.nodes = result.nodes;
  if (result.nodes > 1) link.machine.host = result.host;
  link.measured_wall_ns = wall_ns;
  std::vector<predict::CollectiveTime> times;
  for (const CollectivesRow& row : result.rows) {
    const auto bytes = static_cast<double>(row.point.bytes);
    link.points.push_back(row.point);
    times.push_back({bytes, row.point.seconds, request.workers});
    link.peak_bus_per_s = std::max(
        link.peak_bus_per_s, analyze::bus_bandwidth(bytes, row.point.seconds, request.workers));
  }
  const predict::Link fitted = predict::fit_link(times);
  link.alpha_s = fitted.alpha_s;
  link.bytes_per_s = fitted.bytes_per_s;
  link.spread = fitted.spread;
  return link;
}

}  // namespace lockstep::cli
