#include "lockstep/collect/run_digests.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <thread>

#include "lockstep/analyze/steps/step_breakdown.h"
#include "lockstep/base/error.h"
#include "lockstep/collect/digest_text.h"
#include "lockstep/store/step_digests.h"

namespace lockstep::collect {
namespace {

/// Below this number, reading them again is as fast as reading the stored digest.
constexpr std::int64_t kRowsWorthKeeping = 20'000;

void read_steps(store::Store& store, RunDigest& digest) {
  const std::int64_t id = digest.run.summary.id;
  const int workers = digest.run.started.spec.workers;
  analyze::StepBreakdownBuilder breakdown(workers);
  StepDigestBuilder steps(digest.run.steps, workers);
  record::StepBlock block;
  block.steps.resize(1);
  store.visit_steps(id, [&](const record::StepTimes& step) {
    block.steps[0] = step;
    breakdown.add(block);
    steps.add(step);
  });
  digest.breakdown = breakdown.result();
  digest.steps = steps.finish();
}

RunDigest digest_of(store::Store& store, std::int64_t id) {
  RunDigest digest;
  if (const auto kept = store.step_digest(id, kDigestForm); kept && read_digest(*kept, digest)) {
    digest.run = store.load(id, store::Store::Steps::kNotCounted);
    return digest;
  }
  digest.run = store.load(id);
  read_steps(store, digest);
  if (digest.run.summary.state != store::RunState::kDone || digest.run.steps < kRowsWorthKeeping) {
    return digest;
  }
  try {
    store::keep_step_digest(store.path(), id, kDigestForm, digest_text(digest));
  } catch (const Error&) {
    // A store that may only be read; the next page reads all steps again.
  }
  return digest;
}

}  // namespace

void keep_digest(const std::string& store_path, std::int64_t run) {
  store::Store store(store_path);
  if (store.load(run).steps >= kRowsWorthKeeping) digest_of(store, run);
}

RunDigests::Identity RunDigests::identity_of(const store::RunSummary& run) {
  const double total_s = std::isfinite(run.total_s) ? run.total_s : 0;
  return {run.id, run.started_wall_ns, std::llround(total_s * 1e9)};
}

RunDigests::Digest RunDigests::find(const store::RunSummary& run) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(identity_of(run));
  return found == kept_.end() ? nullptr : found->second;
}

void RunDigests::keep(const store::RunSummary& run, Digest digest) {
  // A killed run has no time of its end, and may be another one after all.
  if (run.state != store::RunState::kDone) return;
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kMost) kept_.erase(kept_.begin());
  kept_[identity_of(run)] = std::move(digest);
}

std::vector<RunDigest> RunDigests::of(const std::string& store_path,
                                      std::span<const store::RunSummary> runs) {
  constexpr std::size_t kMostThreads = 4;
  std::vector<RunDigest> digests(runs.size());
  std::vector<std::size_t> unread;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (const Digest known = find(runs[i])) {
      digests[i] = *known;
      digests[i].run.summary = runs[i];
    } else {
      unread.push_back(i);
    }
  }
  std::atomic<std::size_t> next = 0;
  // Each thread reads through its own connection.
  const auto read = [&] {
    store::Store store(store_path);
    for (std::size_t at = next++; at < unread.size(); at = next++) {
      const std::size_t i = unread[at];
      digests[i] = digest_of(store, runs[i].id);
      keep(runs[i], std::make_shared<const RunDigest>(digests[i]));
    }
  };
  const std::size_t threads =
      std::min({unread.size(), kMostThreads,
                static_cast<std::size_t>(std::max(1u, std::thread::hardware_concurrency()))});
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < threads; ++i) {
    others.push_back(std::async(std::launch::async, read));
  }
  if (!unread.empty()) read();
  for (std::future<void>& other : others) other.get();
  return digests;
}

}  // namespace lockstep::collect
