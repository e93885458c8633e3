#include "lockstep/study/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::study {
namespace {

template <class T>
void require_distinct(const std::vector<T>& values, const char* option) {
  if (values.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("{} names nothing to try", option),
                "see lockstep study --help");
  }
  for (auto at = values.begin(); at != values.end(); ++at) {
    if (std::find(values.begin(), at, *at) == at) continue;
    throw Error(ErrorKind::kUsage, fmt::format("{} names {} twice", option, *at),
                "use --repeat to run a configuration more than once");
  }
}

void check(const Sweep& sweep) {
  require_distinct(sweep.workers, "--workers");
  require_distinct(sweep.strategies, "--strategy");
  if (!sweep.batches.empty() && !sweep.global_batches.empty()) {
    throw Error(ErrorKind::kUsage, "--batch and --global-batch contradict each other",
                "--batch fixes the batch of a worker (weak scaling), --global-batch that of all "
                "workers together (strong scaling)");
  }
  if (sweep.global_batches.empty()) {
    require_distinct(sweep.batches, "--batch");
  } else {
    require_distinct(sweep.global_batches, "--global-batch");
  }
  for (const int workers : sweep.workers) {
    for (const std::int64_t batch : sweep.global_batches) {
      if (batch % workers == 0) continue;
      throw Error(ErrorKind::kUsage,
                  fmt::format("a global batch of {} cannot be shared equally by {} workers", batch,
                              workers),
                  fmt::format("use {} or {}, or leave one of them out", batch - batch % workers,
                              batch - batch % workers + workers));
    }
  }
  if (sweep.repeats < 1) throw Error(ErrorKind::kUsage, "--repeat must be at least 1");
}

std::string digest_of(const Cell& cell, const std::string& fixed) {
  const std::string text =
      fmt::format("{}\n{}\n{}\n{}", cell.workers, cell.batch_per_worker, cell.strategy, fixed);
  return format_digest(digest(std::as_bytes(std::span(text))));
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(',', begin);
    std::string_view part = text.substr(begin, end == text.npos ? end : end - begin);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.emplace_back(part);
    if (end == text.npos) return parts;
    begin = end + 1;
  }
}

}  // namespace

std::string Cell::name() const {
  std::string text = fmt::format("workers={} batch={}", workers, batch_per_worker);
  if (!strategy.empty()) text += " strategy=" + strategy;
  return text + " #" + digest;
}

std::vector<Cell> cells_of(const Sweep& sweep) {
  check(sweep);
  const bool strong = !sweep.global_batches.empty();
  std::vector<Cell> cells;
  for (const std::string& strategy : sweep.strategies) {
    for (const std::int64_t batch : strong ? sweep.global_batches : sweep.batches) {
      for (const int workers : sweep.workers) {
        Cell& cell = cells.emplace_back();
        cell.workers = workers;
        cell.batch_per_worker = strong ? batch / workers : batch;
        cell.strategy = strategy;
        cell.digest = digest_of(cell, sweep.fixed);
      }
    }
  }
  return cells;
}

std::vector<PlannedRun> plan_runs(const Sweep& sweep) {
  const std::vector<Cell> cells = cells_of(sweep);
  std::vector<PlannedRun> plan;
  for (int repeat = 1; repeat <= sweep.repeats; ++repeat) {
    const auto order =
        random_permutation(static_cast<std::uint32_t>(cells.size()),
                           Rng(sweep.order_seed, static_cast<std::uint64_t>(repeat)));
    for (const std::uint32_t at : order) plan.push_back({cells[at], repeat});
  }
  return plan;
}

std::vector<std::int64_t> parse_counts(std::string_view text, std::string_view option,
                                       std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (const std::string& part : split(text)) {
    std::int64_t value = 0;
    const char* end = part.data() + part.size();
    const auto result = std::from_chars(part.data(), end, value);
    if (part.empty() || result.ec != std::errc{} || result.ptr != end) {
      throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not a list of numbers", option, text),
                  fmt::format("write numbers with commas, for example {} 1,2,4", option));
    }
    if (value < 1 || value > most) {
      throw Error(ErrorKind::kUsage, fmt::format("{} {} is out of range", option, value),
                  fmt::format("give numbers from 1 to {}", most));
    }
    counts.push_back(value);
  }
  return counts;
}

std::vector<std::string> parse_names(std::string_view text, std::string_view option) {
  std::vector<std::string> names = split(text);
  for (const std::string& name : names) {
    if (!name.empty()) continue;
    throw Error(ErrorKind::kUsage, fmt::format("{} '{}' has an empty entry", option, text),
                fmt::format("write names with commas, for example {} a,b", option));
  }
  return names;
}

}  // namespace lockstep::study
