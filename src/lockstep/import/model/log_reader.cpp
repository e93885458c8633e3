#include "lockstep/import/model/log_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lockstep/import/model/log_facts.h"
#include "lockstep/import/scan/decimal_comma.h"
#include "lockstep/import/scan/rank_prefix.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kStyleSample = 256 * 1024;
constexpr std::size_t kMostStreams = 65536;

/// How many figures a rank's output has.
std::uint64_t weight(const std::vector<ImportedRun>& runs) {
  std::uint64_t total = 0;
  for (const ImportedRun& run : runs) {
    total += run.epochs.size() * 4 + run.step_time.count() + run.throughput.count() +
             run.throughput_per_worker.count() + run.train_loss.count() +
             (run.reported_throughput || run.total_s ? 1 : 0);
    for (const auto& [name, series] : run.other) total += series.count();
  }
  return total;
}

}  // namespace

void warn_of_damage(const LineSource& lines, const Input& input, ImportSink& sink) {
  if (lines.binary_line() != 0) {
    sink.warn(fmt::format("{} line {} contains binary data; the text around it was read",
                          input.name(), lines.binary_line()));
  }
  if (lines.cut_line() != 0) {
    sink.warn(fmt::format("{} line {} is longer than {} MB; only its beginning was read",
                          input.name(), lines.cut_line(), LineSource::kLongestLine / 1024 / 1024));
  }
}

void LogReader::read(Input& input, ImportSink& sink) const {
  const PrefixStyle style = prefix_style(input.peek(kStyleSample));
  const bool commas = writes_decimal_commas(input.peek(kStyleSample));
  std::string pointed;
  LineSource lines(input);
  LogFacts facts;
  std::map<int, std::unique_ptr<LogParser>> streams;
  int last_rank = -1;
  LogParser* parser = nullptr;
  std::set<int> ranks;
  int ranks_stated = 0;
  std::uint64_t last_number = 0;
  Line line;
  while (lines.next(line)) {
    RankedText ranked = split_rank(line.text, style);
    // Only the first of the pieces that overwrite each other carries the prefix.
    if (ranked.rank < 0 && line.number == last_number) ranked.rank = last_rank;
    last_number = line.number;
    line.text = commas ? with_decimal_points(ranked.text, pointed) : ranked.text;
    if (ranked.rank != last_rank || parser == nullptr) {
      auto found = streams.find(ranked.rank);
      if (found == streams.end()) {
        if (streams.size() >= kMostStreams) continue;
        found = streams.emplace(ranked.rank, format_.make()).first;
      }
      parser = found->second.get();
      last_rank = ranked.rank;
      if (ranked.rank >= 0) ranks.insert(ranked.rank);
      ranks_stated = std::max(ranks_stated, ranked.of);
    }
    if (parser->line(line)) {
      facts.time_of(line.text);
    } else {
      facts.line(line.text, ranked.rank);
    }
  }
  warn_of_damage(lines, input, sink);
  if (commas)
    sink.warn(fmt::format("{} writes decimals with commas: 0,91 was read as 0.91", input.name()));
  std::vector<ImportedRun> best;
  std::uint64_t best_weight = 0;
  for (auto& [rank, stream] : streams) {
    std::vector<ImportedRun> runs = stream->finish();
    const std::uint64_t tells = weight(runs);
    if (tells > best_weight || (best.empty() && !runs.empty())) {
      best = std::move(runs);
      best_weight = tells;
    }
  }
  if (best.empty() && facts.out_of_memory()) best.emplace_back();
  for (ImportedRun& run : best) {
    facts.offer(run, std::max(ranks_stated, count_of_ranks(ranks)), best.size() > 1);
    sink.add(std::move(run));
  }
}

}  // namespace lockstep::import
