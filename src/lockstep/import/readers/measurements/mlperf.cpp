#include "lockstep/import/readers/readers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/readers/measurements/mlperf_entry.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// Epochs or samples, where they are a whole number at all.
std::int64_t position_of_entry(double value) {
  return std::abs(value) < 9e15 ? static_cast<std::int64_t>(value) : 0;
}

class MlperfParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const auto entry = read_mlperf_entry(line.text, json_);
    if (!entry) return contains(line.text, ":::ML");
    if (!entry->benchmark.empty() && !run_.model) run_.model.offer(printable(entry->benchmark));
    if (entry->key == "run_start") {
      // Every rank may print it; only after a stop is it another run.
      if (started_ && stopped_) end_run();
      if (!started_) started_ = entry->time_s;
    } else if (entry->key == "run_stop" || entry->key == "run_final") {
      if (entry->key == "run_stop") {
        stopped_ = entry->time_s;
        close_open_epoch(entry->time_s);
      }
      if (!entry->status.empty()) run_.notes["status"] = printable(entry->status);
    } else if (!fact(*entry)) {
      event(*entry);
    }
    any_ = true;
    return true;
  }

  std::vector<ImportedRun> finish() override {
    end_run();
    return std::move(runs_);
  }

 private:
  static std::optional<std::int64_t> whole(const MlperfEntry& entry) {
    if (!entry.has_number && !entry.text.empty()) return parse_integer(entry.text);
    if (!entry.has_number || !(entry.number >= 1) || entry.number > 9e15) return std::nullopt;
    return std::llround(entry.number);
  }

  bool fact(const MlperfEntry& entry) {
    const auto count = whole(entry);
    const std::string_view key = entry.key;
    if (key == "submission_benchmark") {
      run_.model.offer(printable(entry.text));
      // Large language models are split, in ways that these logs do not state.
      run_.may_split_model = entry.text.starts_with("llama") || entry.text.starts_with("gpt") ||
                             entry.text.starts_with("mixtral");
    } else if (key == "submission_platform") {
      platform(entry.text);
    } else if (key == "submission_org" || key == "submission_division" || key == "opt_name" ||
               key == "submission_status") {
      run_.notes[std::string(key)] = printable(entry.text);
    } else if (key == "global_batch_size" && count) {
      run_.global_batch.offer(*count);
    } else if (key == "local_batch_size" && count) {
      run_.batch_per_worker.offer(*count);
    } else if ((key == "num_train_examples" || key == "train_samples" ||
                key == "preproc_num_train_examples") &&
               count) {
      run_.examples.offer(*count);
    } else if (key == "input_batch_size" && count) {
      run_.batch_said = *count;
    } else if (key == "gradient_accumulation_steps" && count) {
      run_.accumulate.offer(*count);
    } else if ((key == "number_of_nodes" || key == "num_nodes") && count) {
      run_.nodes.offer(*count);
    } else if (key == "accelerators_per_node" && count) {
      per_node_ = *count;
    } else if ((key == "world_size" || key == "num_accelerators") && count) {
      run_.workers.offer(*count);
    } else {
      return false;
    }
    return true;
  }

  /// "ESC-N8-E11" and "hpf_n16" are names of machines: what computes in them is not stated.
  static bool names_an_accelerator(std::string_view text) {
    return contains_any<"100", "200", "300", "v2", "v3", "v4", "v5", "p40", "k80", "t4", "l40",
                        "a30", "a40", "h20", "mi2", "mi3", "tpu", "gaudi", "hpu", "ipu", "pod",
                        "xeon", "cpu", "trn", "ascend", "rtx", "tesla", "quadro", "nvidia", "amd",
                        "intel", "gpu">(lower(text));
  }

  /// "16xXE9712x4GB200": nodes, machine, devices per node, device. "2xMI300X": nodes and device.
  /// "1xDGX-1 with V100": the device last. The whole text stays in the notes.
  void nodes_and_devices(std::string_view text) {
    std::string_view rest = text;
    std::int64_t nodes = 0;
    const std::size_t digits = rest.find_first_not_of("0123456789");
    if (digits != std::string_view::npos && digits > 0 && digits < 6 && rest[digits] == 'x') {
      nodes = parse_integer(rest.substr(0, digits)).value_or(0);
      rest.remove_prefix(digits + 1);
    }
    const std::size_t with = rest.find(" with ");
    std::int64_t each = 0;
    if (with != std::string_view::npos) {
      rest.remove_prefix(with + 6);
    } else if (const std::size_t times = rest.rfind('x'); times != std::string_view::npos &&
                                                          times > 0 && times + 1 < rest.size() &&
                                                          is_digit(rest[times + 1])) {
      std::string_view device = rest.substr(times + 1);
      const std::size_t count = device.find_first_not_of("0123456789");
      if (count != std::string_view::npos && count < 4 && is_letter(device[count])) {
        each = parse_integer(device.substr(0, count)).value_or(0);
        rest = device.substr(count);
      }
    }
    if (names_an_accelerator(rest)) run_.device.offer(printable(rest));
    if (nodes > 0) run_.nodes.offer(nodes, Provenance::kDerived);
    if (each > 0) {
      run_.workers.offer(each * std::max<std::int64_t>(nodes, 1), Provenance::kDerived);
      run_.notes["workers"] = "nodes x devices of platform " + printable(text);
    }
  }

  /// "tpu-v3-32" has 32 cores, "16xNVIDIA_A100" 16 devices; "DGXA100_n8_ngpu8" is stated
  /// node by node.
  void platform(std::string_view text) {
    run_.notes["platform"] = printable(text);
    if (names_an_accelerator(text)) run_.device.offer(printable(text));
    const std::string name = lower(text);
    if (!name.starts_with("tpu-")) {
      nodes_and_devices(text);
      return;
    }
    const std::size_t dash = name.rfind('-');
    const auto cores = parse_integer(std::string_view(name).substr(dash + 1));
    if (cores && *cores > 0 && dash > 4) {
      run_.workers.offer(*cores, Provenance::kDerived);
      run_.device.offer(name.substr(0, dash));
      run_.notes["workers"] = "cores of platform " + name;
    }
  }

  void event(const MlperfEntry& entry) {
    const std::string_view key = entry.key;
    if (key == "block_start" || key == "epoch_start") {
      const auto [first, count] = span_of(entry);
      // A block without a count of its epochs ends with the next evaluation, wherever that is.
      const bool block = key == "block_start";
      auto& spans = block ? blocks_ : spans_;
      if (first && (!block || entry.epoch_count)) spans[*first] = {entry.time_s, 0, count};
      if (spans.size() > 100'000) spans.clear();
    } else if (key == "block_stop" || key == "epoch_stop") {
      const auto [first, count] = span_of(entry);
      auto& spans = key == "block_stop" ? blocks_ : spans_;
      const auto found = first ? spans.find(*first) : spans.end();
      if (found != spans.end() && found->second.stop == 0) found->second.stop = entry.time_s;
    } else if (key == "train_epoch" && entry.has_number && entry.number >= 0 &&
               entry.number <= EpochTable::kMostEpochs) {
      close_open_epoch(entry.time_s);
      open_epoch_ = std::llround(entry.number);
      spans_[*open_epoch_] = {entry.time_s, 0, 1};
    } else if (key == "eval_start") {
      // "epoch 1" before epoch 1 began: evaluations count the epochs that are done.
      const auto number = entry.epoch ? std::llround(*entry.epoch) : 0;
      const auto done = spans_.find(number - 1);
      if (number == 1 && done != spans_.end() && done->second.stop > 0 && !spans_.contains(number))
        evaluations_count_done_ = true;
      close_open_epoch(entry.time_s);
      ++evaluations_;
    } else if (key == "eval_accuracy" || key == "eval_loss" || key == "train_loss") {
      figure(entry, key);
    } else if (key == "tracked_stats" || key == "throughput") {
      const double value = entry.throughput.value_or(entry.number);
      if (value > 0) run_.throughput.add(static_cast<std::int64_t>(run_.throughput.count()), value);
    }
  }

  /// The first version logs only when an epoch begins: it lasts until the next one or evaluation.
  void close_open_epoch(double time_s) {
    if (open_epoch_) spans_[*open_epoch_].stop = time_s;
    open_epoch_.reset();
  }

  struct SpanKey {
    std::optional<std::int64_t> first;
    double count = 1;
  };
  static SpanKey span_of(const MlperfEntry& entry) {
    const auto first = entry.first_epoch ? entry.first_epoch : entry.epoch;
    if (!first) return {};
    return {std::llround(std::floor(*first)), entry.epoch_count.value_or(1)};
  }

  void figure(const MlperfEntry& entry, std::string_view key) {
    // {"BBOX": 0.37, "SEGM": 0.34}: neither alone is the accuracy.
    for (const auto& [part, value] : entry.parts) {
      if (run_.other.size() < 256)
        run_.other[std::string(key) + "." + printable(part, 40)].add(
            position_of_entry(entry.epoch.value_or(0)), value);
    }
    if (!entry.has_number) return;
    if (!entry.epoch || !(*entry.epoch >= 0 && *entry.epoch < 20'000) ||
        counts_samples(*entry.epoch)) {
      // Language models count samples instead of epochs.
      const double at = entry.samples ? *entry.samples : entry.epoch.value_or(0);
      run_.other[std::string(key)].add(position_of_entry(at), entry.number);
      return;
    }
    const auto at = static_cast<std::int64_t>(std::ceil(*entry.epoch)) -
                    (evaluations_count_done_ && *entry.epoch >= 1 ? 1 : 0);
    table_.set(at,
               key == "eval_accuracy" ? Metric::kValAccuracy
               : key == "eval_loss"   ? Metric::kValLoss
                                      : Metric::kTrainLoss,
               entry.number);
    evaluated_.emplace(at, *entry.epoch);
  }

  /// Some benchmarks number samples where others number epochs: a number as large as the training
  /// set is none of an epoch.
  bool counts_samples(double number) const {
    return run_.examples && *run_.examples > 1 && number >= static_cast<double>(*run_.examples);
  }

  /// The last epoch of a run that reached its target breaks off.
  void drop_broken_epoch() {
    if (spans_.size() < 3) return;
    std::vector<double> times;
    for (const auto& [first, span] : spans_) {
      if (span.stop > span.start) times.push_back(span.stop - span.start);
    }
    if (times.size() < 3) return;
    const Span& last = spans_.rbegin()->second;
    std::sort(times.begin(), times.end());
    if (last.stop - last.start < 0.8 * times[times.size() / 2])
      spans_.erase(std::prev(spans_.end()));
  }

  /// The only epoch, evaluated again and again, stopped with the run: at the target, not at its
  /// end. Its examples are then those that were seen.
  void drop_epoch_of_whole_run() {
    if (spans_.size() != 1 || evaluations_ < 2 || !stopped_) return;
    const Span& only = spans_.begin()->second;
    if (*stopped_ - only.stop > 0.01 * (only.stop - only.start)) return;
    spans_.clear();
    run_.examples = {};
  }

  /// Where the rate is printed too, it shows whether an epoch was a whole one, and whether the size
  /// of the training set is in samples.
  bool is_whole_epoch(double seconds) {
    if (!run_.examples || run_.throughput.empty()) return true;
    const double share = run_.throughput.median() * seconds / static_cast<double>(*run_.examples);
    if (share > 2 || share < 0.5) {
      run_.notes["train_samples"] =
          std::to_string(*run_.examples) + ", in another unit than samples";
      run_.examples = {};
      return true;
    }
    return share > 0.9;
  }

  /// The time of an evaluated epoch is that of its block, shared among the block's epochs.
  void epoch_times() {
    const bool epochs = std::any_of(spans_.begin(), spans_.end(), [](const auto& entry) {
      return entry.second.stop > entry.second.start;
    });
    if (epochs) drop_broken_epoch();
    if (epochs) drop_epoch_of_whole_run();
    for (const auto& [first, span] : epochs ? spans_ : blocks_) {
      if (!(span.stop > span.start) || !(span.count >= 1) || counts_samples(span.count)) continue;
      if (span.count == 1 && !is_whole_epoch(span.stop - span.start)) continue;
      const double each = (span.stop - span.start) / span.count;
      const auto last = static_cast<std::int64_t>(static_cast<double>(first) + span.count - 1);
      auto found = evaluated_.lower_bound(first);
      const bool inside = found != evaluated_.end() && found->first <= last;
      table_.set(inside ? found->first : last, Metric::kEpochTime, each);
      run_.notes["epoch_time"] = span.count > 1 || run_.notes["epoch_time"].starts_with("mean")
                                     ? "mean over the epochs between two evaluations"
                                     : "difference of two times";
    }
  }

  void end_run() {
    if (any_) {
      epoch_times();
      run_.epochs = table_.results();
      const bool both = run_.global_batch && run_.batch_per_worker && *run_.batch_per_worker > 0;
      if (both && *run_.global_batch % *run_.batch_per_worker == 0 && !run_.accumulate)
        run_.workers.offer(*run_.global_batch / *run_.batch_per_worker, Provenance::kDerived);
      if (per_node_ > 0) run_.workers.offer(per_node_ * run_.nodes.value.value_or(1));
      if (started_ && stopped_ && *stopped_ > *started_) {
        run_.total_s = *stopped_ - *started_;
        run_.notes["total_time"] = "run_stop - run_start";
      }
      if (started_ && std::abs(*started_) < 9e9)
        run_.started_wall_ns = std::llround(*started_ * 1e9);
      if (stopped_ && std::abs(*stopped_) < 9e9) run_.ended_wall_ns = std::llround(*stopped_ * 1e9);
      ImportedRun finished = run_;
      finished.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(std::move(finished));
    }
    // The header is printed once for all runs of a file.
    run_.epochs.clear();
    run_.total_s.reset();
    run_.other.clear();
    run_.throughput = Series();
    table_ = EpochTable();
    spans_.clear();
    blocks_.clear();
    evaluated_.clear();
    open_epoch_.reset();
    evaluations_ = 0;
    started_.reset();
    stopped_.reset();
    any_ = false;
  }

  struct Span {
    double start = 0;
    double stop = 0;
    double count = 1;
  };

  JsonLine json_;
  std::vector<ImportedRun> runs_;
  ImportedRun run_;
  EpochTable table_;
  std::map<std::int64_t, Span> spans_;   ///< epochs by number
  std::map<std::int64_t, Span> blocks_;  ///< of several epochs between evaluations, by their first
  std::map<std::int64_t, double> evaluated_;
  std::optional<std::int64_t> open_epoch_;
  std::optional<double> started_;
  std::optional<double> stopped_;
  std::int64_t per_node_ = 0;
  int evaluations_ = 0;
  bool evaluations_count_done_ = false;
  bool any_ = false;
};

Match recognise_mlperf(const Sample& sample) {
  if (contains(sample.text, ":::MLLOG {") || contains(sample.text, ":::MLPv0."))
    return Match::kCertain;
  const std::size_t at = sample.text.find(":::MLL ");
  const bool timed =
      at != std::string_view::npos && at + 7 < sample.text.size() && is_digit(sample.text[at + 7]);
  return timed ? Match::kCertain : Match::kNo;
}

}  // namespace

LogFormat mlperf_format() {
  return {"mlperf",
          "MLPerf training logs (:::MLLOG {...}, :::MLL 1558420755.3 key: {...}, :::MLPv0.5.0)",
          recognise_mlperf,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<MlperfParser>(); }};
}

}  // namespace lockstep::import
