#include "lockstep/collect/accumulated_batches.h"

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "lockstep/record/measurement_columns.h"

namespace lockstep::collect {
namespace {

using record::Measurement;

constexpr const char* kAccumulate = "accumulate";

int micro_steps(const Measurement& row) {
  const auto found = row.notes.find(kAccumulate);
  return found == row.notes.end() ? 1 : std::max(1, std::atoi(found->second.c_str()));
}

/// All that two rows of one network have in common beside workers and batches.
std::vector<std::string> job_of(const Measurement& row) {
  std::vector<std::string> job;
  for (const char* column : {"model", "dataset", "device", "study"}) {
    job.push_back(record::column_text(row, column));
  }
  for (const auto& [name, value] : record::settings_of(row)) {
    if (name != kAccumulate && name != "threads_per_worker") job.push_back(name + "=" + value);
  }
  return job;
}

/// Micro-steps by worker count, for each global batch.
using Counts = std::map<std::int64_t, std::map<std::int64_t, std::set<int>>>;

bool keep_the_global_batch(const Counts& counts) {
  bool any = false;
  for (const auto& [batch, by_workers] : counts) {
    std::set<int> seen;
    for (const auto& [workers, micro] : by_workers) {
      if (micro.size() > 1) return false;
      seen.insert(*micro.begin());
    }
    any = any || seen.size() > 1;
  }
  return any;
}

}  // namespace

void join_accumulated(std::vector<Measurement>& rows) {
  std::map<std::vector<std::string>, Counts> jobs;
  for (const Measurement& row : rows) {
    if (!row.workers || !row.global_batch || !row.batch_per_worker) continue;
    jobs[job_of(row)][*row.global_batch][*row.workers].insert(micro_steps(row));
  }
  for (Measurement& row : rows) {
    const int micro = micro_steps(row);
    if (micro == 1 || !row.workers || !row.global_batch || !row.batch_per_worker) continue;
    if (!keep_the_global_batch(jobs[job_of(row)])) continue;
    row.batch_per_worker = *row.batch_per_worker * micro;
    row.notes.erase(kAccumulate);
    row.notes["micro_steps"] = std::to_string(micro);
  }
}

}  // namespace lockstep::collect
