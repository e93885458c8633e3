#include "lockstep/study/plan/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::study {
namespace {

std::string text_of(std::int64_t number) {
  return std::to_string(number);
}
std::string text_of(const std::optional<record::Strategy>& strategy) {
  return std::string(record::name_of(strategy));
}

template <class T>
void require_distinct(const std::vector<T>& values, const char* option) {
  if (values.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("{} lists no values", option),
                "see lockstep study --help");
  }
  for (auto at = values.begin(); at != values.end(); ++at) {
    if (std::find(values.begin(), at, *at) == at) continue;
    throw Error(ErrorKind::kUsage, fmt::format("{} lists {} twice", option, text_of(*at)),
                "use --repeat to run a configuration more than once");
  }
}

void check(const Sweep& sweep) {
  require_distinct(sweep.workers, "--workers");
  require_distinct(sweep.strategies, "--strategy");
  if (!sweep.batches.empty() && !sweep.global_batches.empty()) {
    throw Error(ErrorKind::kUsage, "--batch and --global-batch cannot be combined",
                "--batch fixes the batch per worker (weak scaling), --global-batch the batch of "
                "all workers together (strong scaling)");
  }
  if (sweep.ladder.first > 0) {
    if (!sweep.batches.empty() || !sweep.global_batches.empty()) {
      throw Error(ErrorKind::kUsage, "a batch ladder cannot be combined with other batches",
                  "give the ladder alone: --batch 32..x4");
    }
  } else if (sweep.global_batches.empty()) {
    require_distinct(sweep.batches, "--batch");
  } else {
    require_distinct(sweep.global_batches, "--global-batch");
  }
  for (const int workers : sweep.workers) {
    for (const std::int64_t batch : sweep.global_batches) {
      if (batch % workers == 0) continue;
      throw Error(ErrorKind::kUsage,
                  fmt::format("a global batch of {} cannot be divided equally among {} workers",
                              batch, workers),
                  fmt::format("use {} or {}, or omit one of the two values",
                              batch - batch % workers, batch - batch % workers + workers));
    }
  }
  if (sweep.repeats < 1) throw Error(ErrorKind::kUsage, "--repeat must be at least 1");
}

std::string digest_of(const Cell& cell, const std::string& fixed) {
  const std::string text = fmt::format("{}\n{}\n{}\n{}", cell.workers, cell.batch_per_worker,
                                       record::name_of(cell.strategy), fixed);
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
  if (strategy) text += fmt::format(" strategy={}", record::name_of(strategy));
  return text + " #" + digest;
}

std::vector<std::int64_t> BatchLadder::rungs() const {
  std::vector<std::int64_t> batches;
  for (std::int64_t batch = first; first > 0 && batch <= most; batch *= factor) {
    batches.push_back(batch);
  }
  return batches;
}

bool is_rung_below(const PlannedRun& lower, const PlannedRun& upper) {
  return !lower.ladder.empty() && lower.ladder == upper.ladder && lower.repeat == upper.repeat &&
         lower.cell.workers == upper.cell.workers && lower.cell.strategy == upper.cell.strategy &&
         lower.cell.batch_per_worker < upper.cell.batch_per_worker;
}

std::vector<Cell> cells_of(const Sweep& sweep) {
  check(sweep);
  const bool strong = !sweep.global_batches.empty();
  const std::vector<std::int64_t> rungs = sweep.ladder.rungs();
  const auto& batches = strong ? sweep.global_batches : rungs.empty() ? sweep.batches : rungs;
  std::vector<Cell> cells;
  for (const std::optional<record::Strategy>& strategy : sweep.strategies) {
    for (const std::int64_t batch : batches) {
      for (const int workers : sweep.workers) {
        Cell& cell = cells.emplace_back();
        cell.workers = workers;
        cell.batch_per_worker = strong ? batch / workers : batch;
        cell.strategy = strategy;
        cell.threads = sweep.threads;
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
    const auto round = static_cast<std::ptrdiff_t>(plan.size());
    const std::string ladder =
        sweep.ladder.first > 0 ? format_digest(digest(std::as_bytes(std::span(sweep.fixed)))) : "";
    for (const std::uint32_t at : order) plan.push_back({cells[at], repeat, ladder});
    if (ladder.empty()) continue;
    std::stable_sort(plan.begin() + round, plan.end(),
                     [](const PlannedRun& a, const PlannedRun& b) {
                       return a.cell.batch_per_worker < b.cell.batch_per_worker;
                     });
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
                  fmt::format("separate numbers with commas, for example {} 1,2,4", option));
    }
    if (value < 1 || value > most) {
      throw Error(ErrorKind::kUsage, fmt::format("{} {} is out of range", option, value),
                  fmt::format("give numbers from 1 to {}", most));
    }
    counts.push_back(value);
  }
  return counts;
}

bool is_ladder(std::string_view text) {
  return text.find("..") != text.npos;
}

BatchLadder parse_ladder(std::string_view text, std::string_view option, std::int64_t most) {
  BatchLadder ladder{0, 0, most};
  const char* const end = text.data() + text.size();
  const auto take = [&](const char* from, std::int64_t& value) {
    const auto result = std::from_chars(from, end, value);
    return result.ec == std::errc{} && value >= 1 && value <= most ? result.ptr : nullptr;
  };
  const char* at = take(text.data(), ladder.first);
  if (at && end - at > 2 && at[0] == '.' && at[1] == '.') {
    at += 2;
    if (*at != 'x') at = take(at, ladder.most);
    if (at && at != end && *at == 'x') at = take(at + 1, ladder.factor);
  } else {
    at = nullptr;
  }
  if (at != end || ladder.factor < 2 || ladder.most < ladder.first) {
    throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not a batch ladder", option, text),
                fmt::format("write {0} 32..x4 for 32, 128, 512, ... until memory runs out, or {0} "
                            "32..4096x4 to stop at 4096",
                            option));
  }
  return ladder;
}

std::vector<std::string> parse_names(std::string_view text, std::string_view option,
                                     bool may_be_absent) {
  if (text.empty() && may_be_absent) return {""};
  std::vector<std::string> names = split(text);
  for (const std::string& name : names) {
    if (!name.empty()) continue;
    throw Error(ErrorKind::kUsage, fmt::format("{} '{}' has an empty entry", option, text),
                fmt::format("separate names with commas, for example {} a,b", option));
  }
  return names;
}

}  // namespace lockstep::study
