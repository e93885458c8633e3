#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/model/offer_stated.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/readers/transcript/line_kinds.h"
#include "lockstep/import/readers/transcript/segments.h"
#include "lockstep/import/readers/transcript/time_figures.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/decimal_comma.h"
#include "lockstep/import/scan/figure_scan.h"
#include "lockstep/import/scan/rank_prefix.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kStyleBytes = 256 * 1024;
constexpr std::size_t kMostRanks = 65536;
constexpr std::size_t kMostShared = 1000;
constexpr std::size_t kLongestLooked = 4096;
constexpr int kLinesOfEpoch = 8;

/// Blocks under one heading that are as many as its workers: each rank printed its own.
bool are_ranks(const std::vector<const Block*>& blocks) {
  const auto workers = static_cast<std::size_t>(stated_workers(blocks.front()->facts));
  if (workers < 2 || blocks.size() != workers) return false;
  return std::all_of(blocks.begin(), blocks.end(), [&](const Block* block) {
    return stated_number(block->facts, FactKey::kBatch) ==
               stated_number(blocks.front()->facts, FactKey::kBatch) &&
           block->first_epoch() == blocks.front()->first_epoch() &&
           block->last_epoch() == blocks.front()->last_epoch();
  });
}

std::vector<ImportedRun> runs_of(const std::vector<Block>& blocks, bool training_is_part) {
  std::vector<ImportedRun> runs;
  for (std::size_t i = 0; i < blocks.size();) {
    std::vector<const Block*> group;
    std::size_t end = i;
    while (end < blocks.size() && blocks[end].group == blocks[i].group)
      group.push_back(&blocks[end++]);
    const bool ranks = are_ranks(group);
    const std::size_t shown = ranks ? 1 : group.size();
    for (std::size_t k = 0; k < shown; ++k) {
      ImportedRun run = group[k]->finish(training_is_part);
      if (!run.has_figures() && run.warnings.empty()) continue;  // it started and printed nothing
      offer_stated(group[k]->facts, run);
      if (ranks)
        run.notes["ranks"] =
            fmt::format("{} blocks, one per rank; the first is shown", group.size());
      const bool unclear = !ranks && group.size() > 1 && stated_workers(group[k]->facts) > 1;
      if (unclear) {
        run.warnings.push_back(
            fmt::format("{} blocks of epochs are under one heading of {} workers: taken as "
                        "separate runs, not as ranks",
                        group.size(), stated_workers(group[k]->facts)));
      }
      runs.push_back(std::move(run));
    }
    i = end;
  }
  return runs;
}

std::uint64_t figures_in(const std::vector<ImportedRun>& runs) {
  std::uint64_t total = 0;
  for (const ImportedRun& run : runs) {
    total += run.epochs.size() * 4 + run.step_time.count() + run.throughput.count() +
             run.train_loss.count() + (run.total_s || run.epoch_s ? 1 : 0);
  }
  return total;
}

/// Whether any of them shows how the training went on, and not only what it came to.
bool have_a_course(const std::vector<ImportedRun>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const ImportedRun& run) {
    return !run.epochs.empty() || run.train_loss.count() > 0 || run.step_time.count() > 1 ||
           run.throughput.count() > 1;
  });
}

/// "GPU memory full at batch size: 8192, use 2048 for 1 GPU": the count that a ladder of batches
/// ran on, which nothing else in the file states.
void offer_workers_of_failure(std::vector<ImportedRun>& runs) {
  std::int64_t workers = 0;
  for (const ImportedRun& run : runs) {
    if (run.workers) return;
    const std::size_t at = run.failure.find(" for ");
    if (at == std::string::npos || !contains(run.failure, "memory full")) continue;
    std::string_view rest = std::string_view(run.failure).substr(at + 5);
    const auto count = take_number(rest);
    if (count && *count >= 1 && *count < 1e6 && rest.starts_with(" GPU"))
      workers = static_cast<std::int64_t>(*count);
  }
  for (ImportedRun& run : runs) {
    if (workers == 0) return;
    run.workers.offer(workers, Provenance::kDerived);
    run.notes["workers"] = "stated in the out-of-memory message";
  }
}

/// Each rank named itself on the lines that begin its epochs ("[GPU1] Epoch 0 | Steps: 64") and
/// printed the figures below without: as many blocks as ranks, all of the same epochs.
bool are_blocks_of_ranks(const std::vector<ImportedRun>& runs, int ranks) {
  if (ranks < 2 || runs.size() != static_cast<std::size_t>(ranks)) return false;
  return std::all_of(runs.begin(), runs.end(), [&](const ImportedRun& run) {
    return !run.epochs.empty() && run.epochs.size() == runs.front().epochs.size() &&
           run.epochs.front().epoch == runs.front().epochs.front().epoch && !run.workers;
  });
}

/// "#2" for the second run of a file, and so on.
void number_runs(std::vector<ImportedRun>& runs) {
  for (std::size_t i = 1; i < runs.size(); ++i) runs[i].label = fmt::format("#{}", i + 1);
}

/// Lines of a script that prints what it ran on and, at its end, one rate or time of the whole.
class SummaryLines {
 public:
  void line(std::string_view line, MetricCache& metrics) {
    facts_.clear();
    find_facts(line, facts_);
    placed_ = placed_ || std::any_of(facts_.begin(), facts_.end(), [](const StatedFact& fact) {
                return fact.key >= FactKey::kWorldSize && fact.key <= FactKey::kGlobalBatch;
              });
    if (!placed_ || figures_ || !contains_any<"/s", "ime", "inished", "omplete">(line)) return;
    found_.clear();
    line_figures(line, line, {false, false, Split::kNone}, metrics, found_);
    figures_ = std::any_of(found_.begin(), found_.end(), Block::sums_up);
  }
  bool complete() const { return figures_; }

 private:
  std::vector<StatedFact> facts_;
  std::vector<LineFigure> found_;
  bool placed_ = false;
  bool figures_ = false;
};

class TranscriptReader final : public Reader {
 public:
  std::string_view name() const override { return "transcript"; }
  std::string_view description() const override {
    return "anything a script prints about its epochs or steps ([Epoch 3] loss=0.4 val_acc=91.2% "
           "1520 "
           "img/s)";
  }
  Match recognise(const Sample& sample) const override;
  void read(Input& input, ImportSink& sink) const override;
};

/// "[" or "{" and below it names and values: a document of JSON, which may quote anything.
bool is_json_document(std::string_view text) {
  text = trim(text);
  if (text.empty() || (text[0] != '[' && text[0] != '{')) return false;
  const std::string_view next = trim(text.substr(1));
  if (next.empty() || !contains("\"{[", next.substr(0, 1))) return false;
  if (text[0] == '[' && next[0] == '"') return contains(next.substr(1, 200), "\",");
  return next[0] == '{' || next[0] == '[' || contains(next.substr(1, 200), "\":") ||
         contains(next.substr(1, 200), "\" :");
}

Match TranscriptReader::recognise(const Sample& sample) const {
  if (is_json_document(sample.text)) return Match::kNo;
  std::string_view text = sample.text;
  int marks = 0;
  int figures = 0;
  int steps = 0;
  int lists = 0;
  int means = 0;
  SummaryLines summary;
  int below = kLinesOfEpoch;  ///< how many lines stand below the last mark
  MetricCache metrics;
  for (int lines = 0; !text.empty() && lines < 20000; ++lines) {
    const std::size_t stop = text.find('\n');
    const std::string_view line = text.substr(0, stop);
    text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
    if (line.size() > kLongestLooked) continue;
    if (contains_any<"oss", "/s">(line) && find_step(line)) ++steps;
    if (marks > 0 && below < kLinesOfEpoch && contains_any<"oss", "cc", "ime">(line)) {
      ++below;
      if (!find_epoch_mark(line))
        for_each_figure(line, [&](const Figure& figure) {
          figures += metrics.of(figure.name).metric != Metric::kOther ? 1 : 0;
        });
    }
    summary.line(line, metrics);
    if (!contains_any<"poch", "POCH", "rain | ", "Ep", "ep=", "ep ">(line)) continue;
    if (line.ends_with(']') && find_value_list(line, metrics)) ++lists;
    if (line.find('<') != std::string_view::npos && find_tqdm_bar(line)) ++figures;
    const auto mark = find_epoch_mark(line);
    if (!mark && mean_epoch_time(line)) ++means;
    below = mark ? 0 : below;
    if (!mark) continue;
    ++marks;
    for_each_figure(line.substr(mark->end), [&](const Figure&) { ++figures; });
  }
  if ((marks > 0 && figures > 0) || steps > 2 || lists > 0) return Match::kLikely;
  if (marks > 0 || means > 0 || summary.complete()) return Match::kPossible;
  const bool failed = contains_any<"out of memory", "OutOfMemoryError", "OOM when allocating",
                                   "t allocate memory", "std::bad_alloc">(sample.text);
  return failed ? Match::kPossible : Match::kNo;
}

/// The lines of each process, and what was printed without naming one.
class RankStreams {
 public:
  explicit RankStreams(ImportSink& sink) : sink_(sink) {}

  void line(const Line& line, const RankedText& ranked) {
    auto found = streams_.find(ranked.rank);
    if (found == streams_.end()) {
      if (streams_.size() >= kMostRanks) return;
      found = streams_.emplace(ranked.rank, Segments(&sink_, ranked.rank)).first;
      if (ranked.rank >= 0) {
        for (const std::string& text : shared_) found->second.context(text);
      }
    }
    ranks_stated_ = std::max(ranks_stated_, ranked.of);
    found->second.line(line);
    if (ranked.rank < 0 && named_) share(line.text);
  }

  void expect_ranks() { named_ = true; }
  std::vector<ImportedRun> finish();

 private:
  /// "Running with 4 GPUs", which the launcher printed, is about the lines of all ranks.
  void share(std::string_view text) {
    facts_.clear();
    find_facts(text, facts_);
    if (facts_.empty()) return;
    for (auto& [rank, stream] : streams_) {
      if (rank >= 0) stream.context(text);
    }
    if (shared_.size() < kMostShared) shared_.emplace_back(text);
  }

  struct RankOutcome {
    std::size_t runs = 0;
    bool out_of_memory = false;
    std::string failure;
  };
  void settle(const std::map<int, RankOutcome>& outcomes, int shown,
              std::vector<ImportedRun>& best);

  ImportSink& sink_;
  std::map<int, Segments> streams_;
  std::vector<std::string> shared_;
  std::vector<StatedFact> facts_;
  int ranks_stated_ = 0;
  bool named_ = false;
};

std::vector<ImportedRun> RankStreams::finish() {
  std::map<int, RankOutcome> outcomes;
  std::vector<ImportedRun> best;
  int shown = -1;
  std::uint64_t most = 0;
  for (auto& [rank, stream] : streams_) {
    const std::vector<Block> blocks = stream.finish();
    std::vector<ImportedRun> runs = runs_of(blocks, stream.training_is_part());
    RankOutcome& outcome = outcomes[rank];
    outcome.runs = runs.size();
    for (const ImportedRun& run : runs) {
      if (run.out_of_memory && outcome.failure.empty()) outcome.failure = run.failure;
      outcome.out_of_memory = outcome.out_of_memory || run.out_of_memory;
    }
    // Summaries that every process printed without its rank are those of one run.
    const bool sums = rank < 0 && !have_a_course(runs);
    const std::uint64_t figures =
        sums ? std::min<std::uint64_t>(figures_in(runs), 1) : figures_in(runs);
    if (best.empty() || figures > most) {
      best = std::move(runs);
      most = figures;
      shown = rank;
    }
  }
  settle(outcomes, shown, best);
  return best;
}

/// What the other ranks add to the runs of the one that is shown.
void RankStreams::settle(const std::map<int, RankOutcome>& outcomes, int shown,
                         std::vector<ImportedRun>& best) {
  std::set<int> ranks;
  bool alike = true;
  bool failed = false;
  std::string failure;
  for (const auto& [rank, outcome] : outcomes) {
    if (rank >= 0) ranks.insert(rank);
    alike = alike && !streams_.at(rank).repeats() &&
            (rank < 0 || best.size() == 1 || outcome.runs == best.size());
    if (failure.empty()) failure = outcome.failure;
    failed = failed || outcome.out_of_memory;
  }
  // Another rank's failure ends the run of all of them, but of several runs it names none.
  if (failed && best.size() == 1 && outcomes.size() > 1) {
    best.front().out_of_memory = true;
    best.front().failure = failure;
  }
  // Several runs had all ranks only where each rank printed as many.
  const bool any = std::any_of(best.begin(), best.end(), [](const ImportedRun& run) {
    return run.has_figures() || run.notes.contains("epochs");
  });
  int counted = std::max(ranks_stated_, alike && any ? count_of_ranks(ranks) : 0);
  if (shown < 0 && are_blocks_of_ranks(best, count_of_ranks(ranks))) {
    counted = std::max(counted, count_of_ranks(ranks));
    best.resize(1);
  }
  if (best.size() == 1) {
    for (auto& [rank, stream] : streams_) stream.whole_file().offer_facts(best.front(), counted);
  }
  for (ImportedRun& run : best) {
    if (!run.workers && counted > 1) run.workers.offer(counted);
    if (ranks.size() < 2) continue;
    run.notes["ranks"] =
        shown < 0
            ? fmt::format("{} ranks printed; the lines without a rank are shown", ranks.size())
            : fmt::format("{} ranks printed; rank {} is shown", ranks.size(), shown);
    if (!run.workers) {
      run.warnings.push_back(
          fmt::format("ranks up to {} appear in the output, but not each of them once: the worker "
                      "count is unknown; state it with --set workers=N",
                      *ranks.rbegin()));
    }
  }
}

void TranscriptReader::read(Input& input, ImportSink& sink) const {
  const PrefixStyle style = prefix_style(input.peek(kStyleBytes));
  const bool commas = writes_decimal_commas(input.peek(kStyleBytes));
  std::string pointed;
  LineSource lines(input);
  RankStreams streams(sink);
  if (style != PrefixStyle::kNone) streams.expect_ranks();
  int last_rank = -1;
  std::uint64_t last_number = 0;
  Line line;
  while (lines.next(line)) {
    RankedText ranked = split_rank(line.text, style);
    if (ranked.rank < 0 && line.number == last_number) ranked.rank = last_rank;
    last_number = line.number;
    last_rank = ranked.rank;
    line.text = commas ? with_decimal_points(ranked.text, pointed) : ranked.text;
    streams.line(line, ranked);
  }
  warn_of_damage(lines, input, sink);
  if (commas)
    sink.warn(fmt::format("{} writes decimals with commas: 0,91 was read as 0.91", input.name()));
  std::vector<ImportedRun> runs = streams.finish();
  offer_workers_of_failure(runs);
  number_runs(runs);
  for (ImportedRun& run : runs) sink.add(std::move(run));
}

}  // namespace

std::unique_ptr<Reader> make_transcript_reader() {
  return std::make_unique<TranscriptReader>();
}

}  // namespace lockstep::import
