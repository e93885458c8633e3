#include "lockstep/report/delays_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "lockstep/base/statistics.h"

namespace lockstep::report {
namespace {

constexpr double kSlowCostShare = 0.05;
/// Among equals each rank is the last in 1/N of the steps.
constexpr double kSlowFactor = 1.5;

bool is_slow(const RunDelays& run) {
  return run.slowest && run.slowest->cost_share >= kSlowCostShare &&
         run.slowest->last_share * run.workers >= kSlowFactor;
}

/// One rank over the runs of a configuration in which it was the slow one.
struct SlowRank {
  std::vector<double> last_share, cost_s, cost_share;
  double cost() const {
    double sum = 0;
    for (const double one : cost_s) sum += one;
    return sum;
  }
};

struct Row {
  std::int64_t runs = 0;
  std::vector<double> waits;
  std::map<int, SlowRank> slow;
};

void add(const RunDelays& run, Row& row) {
  ++row.runs;
  if (run.queue_wait_s >= 0) row.waits.push_back(run.queue_wait_s);
  if (!is_slow(run)) return;
  SlowRank& rank = row.slow[run.slowest->rank];
  rank.last_share.push_back(run.slowest->last_share);
  rank.cost_s.push_back(run.slowest->cost.count());
  rank.cost_share.push_back(run.slowest->cost_share);
}

void add_slow_cells(const Row& row, std::vector<Cell>& cells) {
  const auto worst = std::max_element(
      row.slow.begin(), row.slow.end(),
      [](const auto& a, const auto& b) { return a.second.cost() < b.second.cost(); });
  if (worst == row.slow.end()) {
    cells.insert(cells.end(), {Cell("none"), Cell(), Cell(), Cell(), Cell()});
    return;
  }
  const SlowRank& rank = worst->second;
  cells.push_back(count(worst->first));
  cells.push_back(count(static_cast<std::int64_t>(rank.cost_s.size())));
  cells.push_back(decimal(100 * median(rank.last_share), 0));
  cells.push_back(significant(1e3 * median(rank.cost_s)));
  cells.push_back(decimal(100 * median(rank.cost_share), 1));
}

Table empty_table() {
  Table table;
  table.title = "Queue and slow ranks (measured)";
  table.columns = {
      {"N", "", "workers", Align::kRight, "workers"},
      {"b", "", "batch_per_worker", Align::kRight, "examples per worker and step"},
      {"hosts", "", "nodes", Align::kRight, ""},
      {"runs", "", "runs", Align::kRight, ""},
      {"queue wait", "s", "queue_wait_s", Align::kRight,
       "from submission to start, median of the runs; not part of any other time"},
      {"longest", "s", "longest_queue_wait_s", Align::kRight, "of the runs"},
      {"slow rank", "", "slow_rank", Align::kRight,
       "the rank that the others waited for most, over all runs in which it was slow"},
      {"in runs", "", "slow_in_runs", Align::kRight, "in which that rank was the slow one"},
      {"last in", "%", "slow_last_percent", Align::kRight,
       "of the steps: its gradients were ready last"},
      {"cost", "ms", "slow_cost_ms", Align::kRight,
       "mean time per step that the others waited because of it"},
      {"of step", "%", "slow_cost_percent", Align::kRight, "cost / step time"}};
  table.label_columns = 2;
  table.notes.push_back(
      fmt::format("a rank counts as slow if it is last in at least {} times as many steps as "
                  "expected by chance and costs at least {:.0f} % of the step.",
                  kSlowFactor, 100 * kSlowCostShare));
  return table;
}

}  // namespace

std::vector<RunDelays> delays_of(std::span<const collect::RunDigest> runs) {
  std::vector<RunDelays> delays;
  for (const collect::RunDigest& digest : runs) {
    const record::RunSpec& spec = digest.run.summary.spec;
    const bool known = spec.queue_wait_s >= 0 || digest.breakdown.slowest;
    if (digest.run.summary.imported && !known) continue;
    delays.emplace_back(spec, digest.breakdown.slowest);
  }
  return delays;
}

std::optional<Table> delays_table(std::span<const RunDelays> runs) {
  const bool any = std::any_of(runs.begin(), runs.end(), [](const RunDelays& run) {
    return run.queue_wait_s >= 0 || is_slow(run);
  });
  if (!any) return std::nullopt;
  std::map<std::tuple<int, std::int64_t, int>, Row> rows;
  for (const RunDelays& run : runs) {
    add(run, rows[{run.workers, run.batch_per_worker, run.nodes}]);
  }
  Table table = empty_table();
  for (const auto& [key, row] : rows) {
    const auto& [workers, batch, nodes] = key;
    std::vector<Cell> cells{count(workers), count(batch), count(nodes), count(row.runs)};
    if (row.waits.empty()) {
      cells.insert(cells.end(), {Cell(), Cell()});
    } else {
      cells.push_back(significant(median(row.waits)));
      cells.push_back(significant(quantile(row.waits, 1)));
    }
    add_slow_cells(row, cells);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace lockstep::report
