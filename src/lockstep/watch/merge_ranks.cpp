#include "lockstep/watch/merge_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "lockstep/base/units.h"
#include "lockstep/watch/noise_of_run.h"
#include "lockstep/watch/number_epochs.h"
#include "lockstep/watch/number_processes.h"

namespace lockstep::watch {
namespace {

using record::Phase;
using record::StepTimes;

/// One process per rank: of a rank that was restarted, the process that came furthest.
std::vector<RankRecord> one_per_rank(std::vector<RankRecord> records, WatchedRun& run) {
  std::map<int, RankRecord> longest;
  std::size_t others = 0;
  for (RankRecord& record : records) {
    const auto found = longest.find(record.rank);
    if (found == longest.end()) {
      longest.emplace(record.rank, std::move(record));
      continue;
    }
    ++others;
    if (record.steps.size() > found->second.steps.size()) found->second = std::move(record);
  }
  if (others > 0) {
    run.notes.push_back(
        fmt::format("{} trained with a rank already in use; for each rank, the process "
                    "with the most steps is recorded",
                    counted(others, "further process", "further processes")));
  }
  std::vector<RankRecord> ranks;
  for (auto& [rank, record] : longest) ranks.push_back(std::move(record));
  return ranks;
}

/// Puts the times of other hosts on the clock of rank 0: ranks leave an all-reduce together.
void align_clocks(std::vector<RankRecord>& ranks) {
  const auto last_ends = [](const RankRecord& rank) {
    std::map<std::int64_t, std::int64_t> ends;
    for (const WatchedStep& step : rank.steps) {
      if (step.collectives && !step.collectives->empty()) {
        ends[step.times.step] = step.collectives->back().end_ns;
      }
    }
    return ends;
  };
  const auto reference = last_ends(ranks.front());
  for (RankRecord& rank : ranks) {
    if (rank.host == ranks.front().host) continue;
    std::vector<std::int64_t> offsets;
    for (const auto& [step, end] : last_ends(rank)) {
      if (const auto found = reference.find(step); found != reference.end()) {
        offsets.push_back(end - found->second);
      }
    }
    // Without common collectives, wall clocks are the best there is.
    std::int64_t offset = ranks.front().wall_minus_monotonic_ns - rank.wall_minus_monotonic_ns;
    if (!offsets.empty()) {
      std::nth_element(offsets.begin(), offsets.begin() + offsets.size() / 2, offsets.end());
      offset = offsets[offsets.size() / 2];
    }
    for (WatchedStep& step : rank.steps) {
      step.times.start_ns -= offset;
      if (!step.collectives) continue;
      for (CollectiveSpan& span : *step.collectives) {
        span.begin_ns -= offset;
        span.end_ns -= offset;
      }
    }
    for (UsageSample& sample : rank.usage) {
      sample.from_ns -= offset;
      sample.to_ns -= offset;
    }
    for (EnergySample& sample : rank.energy) sample.at_ns -= offset;
  }
}

bool comparable(std::span<const WatchedStep* const> ranks) {
  const auto& first = ranks.front()->collectives;
  return std::all_of(ranks.begin(), ranks.end(), [&](const WatchedStep* step) {
    return step->collectives && !step->collectives->empty() &&
           step->collectives->size() == first->size();
  });
}

/// Ranks of which collective times are known: each waits in a collective until the last enters it.
/// The step's ready times are those of the collective at which the ranks were furthest apart.
void split_by_entry(std::span<const WatchedStep* const> ranks, std::span<StepTimes> out) {
  std::int64_t widest = -1;
  std::vector<double> waits(ranks.size(), 0.0);
  for (std::size_t k = 0; k < ranks.front()->collectives->size(); ++k) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
    for (const WatchedStep* step : ranks) {
      first = std::min(first, (*step->collectives)[k].begin_ns);
      last = std::max(last, (*step->collectives)[k].begin_ns);
    }
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const CollectiveSpan& span = (*ranks[r]->collectives)[k];
      const std::int64_t longest = std::max<std::int64_t>(0, span.end_ns - span.begin_ns);
      waits[r] += static_cast<double>(std::min(last - span.begin_ns, longest)) * 1e-9;
      if (last - first > widest) out[r].ready_ns = span.begin_ns;
    }
    widest = std::max(widest, last - first);
  }
  for (std::size_t r = 0; r < out.size(); ++r) {
    const double exposed = out[r].exposed_s();
    out[r][Phase::kWait] = std::min(waits[r], exposed);
    out[r][Phase::kTransfer] = exposed - out[r][Phase::kWait];
  }
}

/// Without times of their own: all ranks leave together, so who was exposed least came last.
void split_by_exposure(std::span<StepTimes> out) {
  const StepTimes& first = out.front();
  const std::int64_t end = first.start_ns + std::llround(first.total_s * 1e9);
  for (StepTimes& step : out) step.ready_ns = end - std::llround(step.exposed_s() * 1e9);
  record::split_exposed(out);
}

void join_steps(const std::vector<RankRecord>& ranks, WatchedRun& run) {
  std::map<std::int64_t, std::vector<const WatchedStep*>> by_step;
  for (const RankRecord& rank : ranks) {
    for (const WatchedStep& step : rank.steps) by_step[step.times.step].push_back(&step);
  }
  for (const auto& [index, members] : by_step) {
    if (members.size() != ranks.size()) continue;
    for (const WatchedStep* member : members) run.steps.push_back(member->times);
    if (ranks.size() < 2) continue;
    const auto out = std::span(run.steps).last(ranks.size());
    if (comparable(members)) {
      split_by_entry(members, out);
    } else {
      split_by_exposure(out);
    }
  }
}

void join_epochs(const std::vector<RankRecord>& ranks, WatchedRun& run) {
  std::map<int, record::EpochResult> epochs;
  std::map<int, std::int64_t> last_step;
  std::map<int, bool> unknown;
  for (const StepTimes& step : run.steps) {
    record::EpochResult& epoch = epochs[step.epoch];
    epoch.epoch = step.epoch;
    epoch.examples += step.examples;
    if (step.rank == ranks.front().rank) epoch.train_s += step.total_s;
    unknown[step.epoch] |= step.examples == 0;
    last_step[step.epoch] = step.step;
  }
  std::map<int, std::int64_t> tokens;
  for (const RankRecord& rank : ranks) {
    for (const WatchedStep& step : rank.steps) tokens[step.times.epoch] += step.tokens;
  }
  const NoiseOfRun noise(ranks);
  for (auto& [number, epoch] : epochs) {
    if (unknown[number]) epoch.examples = 0;
    if (epoch.train_s > 0) {
      epoch.examples_per_s = static_cast<double>(epoch.examples) / epoch.train_s;
    }
    const auto evaluation = ranks.front().evaluation_s.find(number);
    if (evaluation != ranks.front().evaluation_s.end()) epoch.val_s = evaluation->second;
    noise.estimate_at(last_step[number], epoch);
    if (tokens[number] > 0) epoch.metrics["tokens"] = static_cast<double>(tokens[number]);
    for (const RankRecord& rank : ranks) {
      if (!rank.peak_cuda_bytes) continue;
      double& peak = epoch.metrics["peak_cuda_memory_bytes"];
      peak = std::max(peak, static_cast<double>(*rank.peak_cuda_bytes));
    }
    for (const LoggedFigure& figure : ranks.front().figures) {
      if (figure.epoch == number) take_figure(figure, epoch);
    }
    run.epochs.push_back(epoch);
  }
}

void join_usage(const std::vector<RankRecord>& ranks, WatchedRun& run) {
  if (run.steps.empty()) return;
  const std::int64_t begin = run.steps.front().start_ns;
  for (const RankRecord& rank : ranks) {
    for (const UsageSample& sample : rank.usage) {
      record::Utilisation& out = run.utilisation.emplace_back();
      out.rank = rank.rank;
      out.epoch = sample.epoch;
      out.at_s = static_cast<double>(sample.to_ns - begin) * 1e-9;
      out.seconds = static_cast<double>(sample.to_ns - sample.from_ns) * 1e-9;
      out.cpu_cores = out.seconds > 0 ? sample.cpu_s / out.seconds : 0;
      out.resident_bytes = sample.resident_bytes;
    }
  }
}

std::int64_t most_common_batch(const std::vector<StepTimes>& steps) {
  std::map<std::int64_t, std::size_t> counts;
  for (const StepTimes& step : steps) ++counts[step.examples];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 0 : most->first;
}

void join_facts(const std::vector<RankRecord>& ranks, WatchedRun& run) {
  const RankRecord& first = ranks.front();
  run.torch = first.torch;
  run.device = first.device;
  run.threads_per_worker = first.threads;
  run.framework = first.framework;
  run.backend = first.backend;
  run.parameters = first.parameters;
  run.flops_per_example = first.flops_per_example;
  run.unit = first.unit;
  run.loader_workers = first.loader.workers;
  // A worker is a device; a process may have several.
  run.loader_batch = first.loader.batch / first.devices;
  run.loader_examples = first.loader.batches * first.loader.batch * first.world;
  run.batch_per_worker = most_common_batch(run.steps) / first.devices;
  for (const RankRecord& rank : ranks) {
    if (std::find(run.hosts.begin(), run.hosts.end(), rank.host) == run.hosts.end()) {
      run.hosts.push_back(rank.host);
    }
    run.peak_memory_bytes = std::max(run.peak_memory_bytes, rank.peak_memory_bytes.value_or(0));
    if (!rank.stopped.empty()) {
      run.notes.push_back(
          fmt::format("watching rank {} stopped early: {}", rank.rank, rank.stopped));
    }
  }
  if (first.sharing > 1) {
    run.notes.push_back(
        fmt::format("{} ranks compute each example together (tensor parallel): each counts its "
                    "share of a batch, their communication is part of forward and backward, and "
                    "operations are not counted",
                    first.sharing));
  }
  if (!run.steps.empty()) {
    run.first_step_wall_ns = run.steps.front().start_ns + first.wall_minus_monotonic_ns;
  }
}

/// The most common mistake in a distributed script: twice the work for the same gradients.
void note_same_examples(const std::vector<RankRecord>& ranks, WatchedRun& run) {
  if (!NoiseOfRun(ranks).all_alike()) return;
  run.notes.push_back(
      fmt::format("the {} ranks computed the same gradients in every sampled step, so they seem to "
                  "train on the same examples: a DistributedSampler, or a seed of its own for each "
                  "rank, would give them different ones",
                  ranks.size()));
}

/// Ranks that train side by side without ever meeting are no data-parallel training.
void note_lonely_ranks(const std::vector<RankRecord>& ranks, WatchedRun& run) {
  if (ranks.size() < 2 || run.torch.empty() || ranks.front().sharing > 1) return;
  for (const RankRecord& rank : ranks) {
    for (const WatchedStep& step : rank.steps) {
      const bool met = !step.collectives || !step.collectives->empty();
      if (met || step.times.exposed_s() > 0) return;
    }
  }
  run.notes.push_back(fmt::format(
      "the {} ranks were not seen to communicate: each trains a network of its own unless the "
      "script averages gradients in a way that cannot be watched",
      ranks.size()));
}

void explain_nothing(const RunRecords& records, WatchedRun& run) {
  if (!records.stopped.empty()) {
    run.notes.push_back("watching stopped before the first step: " + records.stopped.front());
  } else if (records.framework_imported) {
    run.notes.push_back(
        "not watched: PyTorch or Keras was imported, but no step of a torch.optim optimizer and "
        "no fit() was seen");
  } else if (records.python_ran) {
    run.notes.emplace_back("not watched: the command imported neither PyTorch nor Keras");
  } else {
    run.notes.emplace_back(
        "not watched: its Python did not load the watcher (python -I or -E, or an empty "
        "environment)");
  }
}

}  // namespace

WatchedRun merge_ranks(RunRecords records, std::span<const record::EpochResult> printed) {
  WatchedRun run;
  if (records.ranks.empty()) {
    explain_nothing(records, run);
    return run;
  }
  number_processes(records.ranks);
  std::vector<RankRecord> ranks = one_per_rank(std::move(records.ranks), run);
  const int world = ranks.front().world;
  run.workers = world * ranks.front().devices;
  run.epochs_known = number_epochs(ranks, printed);
  align_clocks(ranks);
  join_steps(ranks, run);
  if (static_cast<int>(ranks.size()) != world) {
    run.notes.push_back(fmt::format("{} of {} ranks were watched", ranks.size(), world));
  }
  join_facts(ranks, run);
  join_epochs(ranks, run);
  join_usage(ranks, run);
  run.energy = join_energy(ranks, run.steps);
  note_lonely_ranks(ranks, run);
  note_same_examples(ranks, run);
  return run;
}

}  // namespace lockstep::watch
