#include "lockstep/launch/collectives_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/launch/training_run.h"
#include "lockstep/launch/worker_group.h"

namespace lockstep::launch {
namespace {

/// Collects the lines of rank 0.
class RowCollector final : public GroupObserver {
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
    record::CollectivesRow row;
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

  record::CollectivesResult result;

 private:
  std::string prefix_;
  Console& console_;
};

}  // namespace

record::CollectivesResult run_collectives(const CollectivesRequest& request, Console& console,
                                          SignalInbox& signals, const Clock& clock) {
  WorkerCommand command;
  command.name = "lockstep-collectives";
  command.spec.workers = request.workers;
  command.spec.threads_per_worker = 1;
  command.spec.oversubscribed = request.oversubscribe;
  command.spec.backend = request.backend;
  if (request.launcher.local()) plan_workers(command.spec);
  command.arguments = {"collectives", fmt::format("--backend={}", record::name_of(request.backend)),
                       fmt::format("--most={}", request.most.count),
                       fmt::format("--seconds={}", request.seconds_per_size)};
  if (command.spec.oversubscribed) command.arguments.emplace_back("--oversubscribe");
  if (!request.interface.empty()) command.arguments.push_back("--interface=" + request.interface);
  RowCollector collector(
      fmt::format("{} on {} workers", record::name_of(request.backend), request.workers), console);
  const Launch launch = make_launch(command, request.launcher);
  const GroupOutcome outcome = run_group(launch.specs, collector, signals, clock);
  console.clear_status();
  if (outcome.failure) throw outcome.failure->error;
  if (outcome.stop_requested) throw Error(ErrorKind::kInterrupted, "the benchmark was interrupted");
  return std::move(collector.result);
}

}  // namespace lockstep::launch
