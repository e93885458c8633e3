#include "lockstep/import/readers/readers.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/model/offer_stated.h"
#include "lockstep/import/readers/programs/keras_benchmark.h"
#include "lockstep/import/scan/rank_prefix.h"
#include "lockstep/import/scan/ratio.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// "Epoch 3/16", at the start or stuck to the end of an overwritten bar.
std::optional<Ratio> epoch_header(std::string_view text) {
  const std::size_t at = text.rfind("Epoch ");
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + 6);
  return take_ratio(text);
}

bool is_bar_char(char c) {
  return c == '=' || c == '>' || c == '.' || c == '-';
}

/// Where the last progress bar in `text` begins ("391/391 [===" or "391/391 \u2501"): a terminal
/// would have shown only that one.
std::size_t last_bar(std::string_view text) {
  std::size_t mark = std::string_view::npos;
  for (std::size_t at = text.rfind('['); at != std::string_view::npos && at > 0;
       at = text.rfind('[', at - 1)) {
    if (at + 1 < text.size() && is_bar_char(text[at + 1]) && text[at - 1] == ' ') {
      mark = at;
      break;
    }
  }
  if (mark == std::string_view::npos) {
    mark = text.find("\xE2\x94\x81");  // the first cell of Keras 3's bar
    if (mark == std::string_view::npos) return std::string_view::npos;
  }
  std::size_t begin = mark;
  while (begin > 0 && text[begin - 1] == ' ') --begin;
  while (begin > 0 && (is_digit(text[begin - 1]) || text[begin - 1] == '/')) --begin;
  return begin < mark ? begin : std::string_view::npos;
}

/// What one bar or epoch line reports.
struct EpochLine {
  std::optional<Ratio> progress;
  bool eta = false;
  std::optional<double> time_s;
  std::optional<double> per_step_s;
  bool per_sample = false;
  std::vector<std::pair<std::string_view, double>> metrics;
};

/// "2s/step": Keras rounds to whole seconds, so that 1.6 s and 2.4 s look the same. The time of the
/// epoch is exact enough.
bool is_rough(std::string_view time, double seconds) {
  const bool whole = time.size() > 1 && time.ends_with('s') && is_digit(time[time.size() - 2]);
  return whole && seconds < 10 && time.find('.') == std::string_view::npos;
}

/// "12s", "12s 31ms/step", "31ms/step", "1:23 221ms/step", "ETA: 0s".
void read_times(std::string_view part, EpochLine& line) {
  while (!part.empty()) {
    const std::size_t stop = part.find(' ');
    const std::string_view word = part.substr(0, stop);
    part = stop == std::string_view::npos ? std::string_view() : trim(part.substr(stop));
    const std::size_t slash = word.find('/');
    const auto duration = parse_duration(word.substr(0, slash));
    if (!duration) continue;
    if (slash == std::string_view::npos) {
      line.time_s = line.time_s.value_or(0) + *duration;  // "1m 12s"
    } else if ((word.ends_with("/step") || word.ends_with("/sample")) &&
               !is_rough(word.substr(0, slash), *duration)) {
      line.per_step_s = *duration;
      line.per_sample = word.substr(slash) == "/sample";
    }
  }
}

EpochLine read_line(std::string_view text) {
  EpochLine line;
  const std::size_t bar = last_bar(text);
  if (bar != std::string_view::npos) text.remove_prefix(bar);
  std::string_view rest = trim(text);
  if (!rest.empty() && is_digit(rest[0])) {
    line.progress = take_ratio(rest);
    if (line.progress) {
      const std::size_t close = rest.find_first_not_of(" [=>.\xE2\x94\x81-");
      if (bar != std::string_view::npos && close != std::string_view::npos)
        rest.remove_prefix(close);
      if (!rest.empty() && rest[0] == ']') rest.remove_prefix(1);
    }
  }
  while (!rest.empty()) {
    const std::size_t stop = rest.find(" - ");
    std::string_view part = trim(rest.substr(0, stop));
    rest = stop == std::string_view::npos ? std::string_view() : rest.substr(stop + 3);
    if (part.starts_with("- ")) part = trim(part.substr(2));
    if (part.empty()) continue;
    const std::size_t colon = part.find(": ");
    if (part.starts_with("ETA")) {
      line.eta = true;
    } else if (colon != std::string_view::npos && !is_digit(part[0])) {
      std::string_view number = part.substr(colon + 2);
      const auto value = take_number(number);
      if (value) line.metrics.emplace_back(part.substr(0, colon), *value);
    } else {
      read_times(part, line);
    }
  }
  return line;
}

/// " - 6s - loss: 0.0199 - val_loss: 0.0158" without the line "Epoch 3/10" above it.
bool is_unnumbered(std::string_view text) {
  text = trim(text);
  if (!text.starts_with('-')) return false;
  text.remove_prefix(1);
  const auto seconds = take_number(text);
  return seconds && *seconds >= 0 && text.starts_with("s - ") && contains(text, "loss: ");
}

class KerasParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    std::string_view text = line.text;
    // Nearly all of a log with progress bars is bars that were overwritten.
    const std::size_t eta = epoch_ > 0 ? position_of(" - ETA: ", text) : std::string_view::npos;
    const std::size_t bar_end = eta == std::string_view::npos ? eta : text.rfind(']');
    if (eta != std::string_view::npos && (bar_end == std::string_view::npos || bar_end < eta) &&
        !contains(text, "Epoch ")) {
      note_first_bar(text);
      started_ = epoch_;
      return true;
    }
    if (benchmark_.line(text)) return true;
    if (text.starts_with("Train on ") && contains(text, " samples")) {
      train_samples_ = integer_after(text, "Train on ");
      return true;
    }
    const auto header = epoch_header(text);
    if (header && header->of > 0 && header->done > 0) {
      begin_epoch(*header);
      text = text.substr(0, text.rfind("Epoch "));
      if (text.empty()) return true;
    }
    const bool figures = contains(text, ": ") || contains(text, "/step") || contains(text, "s - ");
    if (epoch_ == 0 && runs_.empty() && is_unnumbered(text)) {
      take_unnumbered(read_line(trim(text).substr(1)));
      return true;
    }
    if (epoch_ == 0 || !figures || !(contains(text, " - ") || contains(text, "/step"))) {
      if (!header) state(text);
      return header.has_value();
    }
    if (take(read_line(text), line.number)) return true;
    state(text);
    return false;
  }

  std::vector<ImportedRun> finish() override {
    end_run();
    end_unnumbered();
    benchmark_.finish(runs_);
    return std::move(runs_);
  }

 private:
  void begin_epoch(const Ratio& header) {
    // The same or an earlier epoch comes again when several ranks write one file; only a fresh
    // start after a whole epoch is another run.
    const bool restart = header.done == 1 && table_.size() > 0 && (epoch_ > 1 || header.of == 1);
    if (restart || (planned_ != 0 && planned_ != header.of)) end_run();
    if (epoch_ == 0) {
      facts_ = stated_;
    } else {
      stated_ = facts_;  // what is printed between epochs is about no other run
    }
    epoch_ = header.done;
    planned_ = header.of;
  }

  /// "Number of devices: 2" is about the epochs below it; what is not stated again stays in force.
  void state(std::string_view text) {
    found_.clear();
    find_facts(text, found_);
    for (StatedFact& fact : found_) {
      if (fact.key < FactKey::kWorldSize || fact.key > FactKey::kGlobalBatch) continue;
      std::erase_if(stated_, [&](const StatedFact& known) { return known.key == fact.key; });
      stated_.push_back(std::move(fact));
    }
  }

  bool take(const EpochLine& line, std::uint64_t number) {
    if (line.metrics.empty() && !line.time_s && !line.per_step_s) return false;
    const bool unfinished = line.eta || (line.progress && line.progress->of > 0 &&
                                         line.progress->done < line.progress->of);
    if (unfinished) {
      if (line.progress) note_first_bar(*line.progress);
      started_ = epoch_;
      return true;
    }
    if (line.metrics.empty() && !line.progress) return false;
    bool validated = false;
    for (const auto& [name, value] : line.metrics) {
      const MetricName metric = metrics_.of(name);
      table_.set(epoch_, metric, value);
      short_names_ = short_names_ || name == "acc";
      validated =
          validated || metric.metric == Metric::kValLoss || metric.metric == Metric::kValAccuracy;
      if (metric.metric == Metric::kOther && run_.other.size() < 64) {
        run_.other[printable(name)].add(epoch_, value);
      }
    }
    if (validated) run_.notes["epoch_time"] = "includes validation";
    if (line.time_s) table_.set(epoch_, Metric::kEpochTime, *line.time_s);
    if (line.per_sample) counter_ = Counter::kSamples;
    if (line.progress && line.progress->of > 0) lengths_.emplace_back(epoch_, line.progress->of);
    if (line.per_step_s && *line.per_step_s > 0 && stepped_ != epoch_) {
      run_.step_time.add(epoch_, *line.per_step_s);
      rates_.add(epoch_, 1 / *line.per_step_s);
      stepped_ = epoch_;
    }
    return true;
  }

  void note_first_bar(std::string_view text) {
    if (counter_ != Counter::kUnknown || barred_ == epoch_) return;
    text = trim(text.substr(std::min(last_bar(text), text.size())));
    if (const auto progress = take_ratio(text)) note_first_bar(*progress);
  }

  /// The first bar of an epoch shows one batch: "1/391" counts steps, "32/50000" examples.
  void note_first_bar(const Ratio& progress) {
    if (counter_ != Counter::kUnknown || barred_ == epoch_) return;
    barred_ = epoch_;
    const auto stated = [&](FactKey key) { return stated_number(facts_, key); };
    const std::int64_t batch = progress.done;
    const bool known = batch == stated(FactKey::kBatch) || batch == stated(FactKey::kGlobalBatch) ||
                       batch == stated(FactKey::kBatchPerWorker);
    counter_ = batch == 1 ? Counter::kSteps : known ? Counter::kSamples : Counter::kEither;
  }

  /// Which epoch it is, or of which rank, is unknown: the last line is the end of the run as far as
  /// the log goes.
  void take_unnumbered(const EpochLine& line) {
    record::EpochResult& end =
        unnumbered_.at_end ? *unnumbered_.at_end : unnumbered_.at_end.emplace();
    for (const auto& [name, value] : line.metrics) {
      set_quality(metrics_.of(name).metric, value, end);
    }
    if (line.time_s && *line.time_s > 0) unnumbered_times_.insert(*line.time_s);
  }

  void end_unnumbered() {
    if (!unnumbered_.at_end || !runs_.empty()) return;
    unnumbered_.warnings.emplace_back(
        "the lines do not name their epochs: the last one is taken as the end of the run");
    if (unnumbered_times_.size() == 1) {
      unnumbered_.epoch_s = *unnumbered_times_.begin();
    } else if (!unnumbered_times_.empty()) {
      unnumbered_.warnings.push_back(fmt::format(
          "epochs of {:g} to {:g} s are printed without their numbers: none is taken as the epoch "
          "time",
          *unnumbered_times_.begin(), *unnumbered_times_.rbegin()));
    }
    runs_.push_back(std::move(unnumbered_));
  }

  /// Older versions count examples where later ones count steps; "us/step" is then of one example.
  void settle_counter() {
    if (train_samples_) counter_ = Counter::kSamples;
    // Without bars: versions that print "acc", or no time per step, counted either.
    if (counter_ == Counter::kUnknown)
      counter_ = run_.step_time.empty() || short_names_ ? Counter::kEither : Counter::kSteps;
    if (counter_ != Counter::kSteps) run_.step_time = Series();
    if (counter_ == Counter::kSamples) run_.throughput = rates_;
    for (const auto& [epoch, length] : lengths_) {
      if (counter_ == Counter::kSamples) {
        run_.examples.offer(length);
        table_.set_examples(epoch, length);
      } else if (counter_ == Counter::kSteps) {
        run_.steps_per_epoch.offer(length);
      }
    }
    if (counter_ == Counter::kEither && !lengths_.empty())
      run_.notes["steps_per_epoch"] = "unknown: the progress bars may count steps or examples";
  }

  void end_run() {
    if (!table_.empty()) {
      settle_counter();
      run_.epochs = table_.results();
      if (planned_ > 0) run_.epochs_planned.offer(planned_);
      if (train_samples_) run_.examples.offer(*train_samples_);
      offer_stated(facts_, run_);
      if (started_ > table_.last()) {
        run_.warnings.push_back("epoch " + std::to_string(started_) + " was not finished");
      }
      run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(std::move(run_));
    }
    run_ = ImportedRun();
    table_ = EpochTable();
    epoch_ = planned_ = started_ = stepped_ = barred_ = 0;
    counter_ = Counter::kUnknown;
    short_names_ = false;
    lengths_.clear();
    rates_ = Series();
  }

  /// What the numbers before and behind the slash of a progress bar count.
  enum class Counter { kUnknown, kSteps, kSamples, kEither };

  KerasBenchmark benchmark_;
  MetricCache metrics_;
  std::vector<ImportedRun> runs_;
  ImportedRun run_;
  EpochTable table_;
  ImportedRun unnumbered_;
  std::set<double> unnumbered_times_;
  std::int64_t epoch_ = 0;
  std::int64_t planned_ = 0;
  std::int64_t started_ = 0;
  std::int64_t stepped_ = 0;
  std::int64_t barred_ = 0;  ///< the epoch whose first bar was seen
  Counter counter_ = Counter::kUnknown;
  bool short_names_ = false;
  std::vector<std::pair<std::int64_t, std::int64_t>> lengths_;  ///< of each epoch, in either
  Series rates_;
  std::optional<std::int64_t> train_samples_;
  std::vector<StatedFact> found_;
  std::vector<StatedFact> stated_;  ///< in force for the run that begins next
  std::vector<StatedFact> facts_;   ///< of this run
};

bool own_line(std::string_view after_epoch) {
  while (!after_epoch.empty() && after_epoch[0] == ' ') after_epoch.remove_prefix(1);
  if (!after_epoch.starts_with("- ")) return false;
  after_epoch.remove_prefix(2);
  return !take_number(after_epoch);
}

Match recognise_keras(const Sample& sample) {
  const std::string_view text = sample.text;
  if (contains(text, "BenchmarkMetric: {")) return Match::kLikely;
  bool header = false;
  for (std::size_t at = text.find("Epoch "); at != std::string_view::npos && !header;
       at = text.find("Epoch ", at + 1)) {
    std::string_view rest = text.substr(at + 6, 32);
    // "Epoch 1/5 - loss: 0.4" is some script's own line: Keras prints the epoch apart, or its time
    // first.
    header = take_ratio(rest).has_value() && !own_line(rest);
  }
  if (!header) {
    std::size_t at = text.find("s - loss: ");
    for (int tries = 0; at != std::string_view::npos && tries < 100; ++tries) {
      const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is the beginning
      const std::string_view line = text.substr(begin, at + 14 - begin);
      if (is_unnumbered(split_rank(line, PrefixStyle::kTagged).text)) return Match::kPossible;
      at = text.find("s - loss: ", at + 1);
    }
    return Match::kNo;
  }
  if (contains(text, "/step - ") || contains(text, "s - loss: ") || contains(text, " - ETA: ") ||
      contains(text, "/sample - ")) {
    return Match::kCertain;
  }
  if (contains(text, " - loss: ")) return Match::kLikely;
  return contains(text, " - ") ? Match::kPossible : Match::kNo;
}

}  // namespace

LogFormat keras_format() {
  return {"keras",
          "Keras epoch lines and progress bars (Epoch 3/16, - 83s - loss: 0.42 - val_acc: 0.9)",
          recognise_keras,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<KerasParser>(); }};
}

}  // namespace lockstep::import
