#include "lockstep/store/run_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep::store {
namespace {

constexpr std::array<std::string_view, 5> kStateNames{"running", "done", "interrupted", "failed",
                                                      "killed"};

}  // namespace

const std::string_view kSummaryQuery = R"sql(
SELECT r.id, r.study, r.cell, r.repeat, r.status, r.spec, r.started_wall_ns, r.total_s,
  (SELECT count(*) FROM epochs e WHERE e.run_id = r.id),
  (SELECT coalesce(sum(e.examples), 0) FROM epochs e WHERE e.run_id = r.id),
  (SELECT coalesce(sum(e.train_s), 0.0) FROM epochs e WHERE e.run_id = r.id),
  (SELECT e.val_accuracy FROM epochs e WHERE e.run_id = r.id ORDER BY e.epoch DESC LIMIT 1),
  p.epoch, p.step, p.steps_per_epoch, p.examples_per_s, p.loss,
  (SELECT w.kind FROM worker_errors w WHERE w.run_id = r.id ORDER BY w.id LIMIT 1),
  EXISTS(SELECT 1 FROM imports i WHERE i.run_id = r.id)
FROM runs r LEFT JOIN progress p ON p.run_id = r.id
)sql";

Error damaged_run(std::int64_t id, const std::string& path, const char* detail) {
  return {ErrorKind::kData, fmt::format("run {} of the store {} is damaged: {}", id, path, detail),
          fmt::format("delete it with lockstep runs delete {}", id)};
}

RunState stored_state(const std::string& status, std::int64_t id, const std::string& path) {
  try {
    return static_cast<RunState>(record::status_from_name(status));
  } catch (const Error& error) {
    throw damaged_run(id, path, error.what());
  }
}

RunSummary read_summary(const Statement& row, const std::string& path) {
  RunSummary run;
  run.id = row.integer(0);
  run.label = {row.text(1), row.text(2), static_cast<int>(row.integer(3))};
  run.state = stored_state(row.text(4), run.id, path);
  run.spec = from_text<record::RunSpec>(row.text(5), run.id, path);
  run.started_wall_ns = row.integer(6);
  run.total_s = row.real(7);
  run.epochs_done = static_cast<int>(row.integer(8));
  run.examples = row.integer(9);
  run.train_s = row.real(10);
  run.last_val_accuracy = row.real(11);
  if (!row.is_null(12)) {
    run.progress = record::Progress{static_cast<int>(row.integer(12)), row.integer(13),
                                    row.integer(14), row.real(15), row.real(16)};
  }
  if (!row.is_null(17)) run.error_kind = row.text(17);
  run.imported = row.integer(18) != 0;
  return run;
}

std::string_view state_name(RunState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

double mean_rate(const RunSummary& run) {
  if (std::isfinite(run.imported_rate)) return run.imported_rate;
  return run.train_s > 0 ? static_cast<double>(run.examples) / run.train_s : record::kUnknown;
}

bool ran_out_of_memory(const RunSummary& run) {
  return run.state == RunState::kFailed && run.error_kind == kind_name(ErrorKind::kMemory);
}

RunState state_from_name(std::string_view name) {
  const auto found = std::find(kStateNames.begin(), kStateNames.end(), name);
  if (found == kStateNames.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is not a run status", name),
                fmt::format("choose one of {}", fmt::join(kStateNames, ", ")));
  }
  return static_cast<RunState>(found - kStateNames.begin());
}

}  // namespace lockstep::store
