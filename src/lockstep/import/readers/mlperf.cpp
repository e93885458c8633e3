#include "lockstep/import/readers/readers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/scan/json_line.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// One entry of any version.
struct Entry {
  std::string_view benchmark;  // where each line names it
  std::string_view key;
  double time_s = 0;
  bool has_number = false;
  double number = 0;
  std::string_view text;
  std::string_view status;
  // Of the metadata:
  std::optional<double> epoch;
  std::optional<double> first_epoch;
  std::optional<double> epoch_count;
  std::optional<double> samples;
  std::optional<double> throughput;                        // of the value itself
  std::vector<std::pair<std::string_view, double>> parts;  // of a value that has several
};

std::optional<double>* metadata(const JsonLineField& field, Entry& entry) {
  if (field.outer == "value") return field.name == "throughput" ? &entry.throughput : nullptr;
  if (field.name == "epoch_num") return &entry.epoch;
  if (field.name == "first_epoch_num") return &entry.first_epoch;
  if (field.name == "epoch_count") return &entry.epoch_count;
  if (field.name == "samples_count") return &entry.samples;
  return nullptr;
}

/// The fields "value" and "metadata.*" of an entry's JSON.
void read_fields(const JsonLine& json, Entry& entry) {
  for (const JsonLineField& field : json.fields()) {
    if (field.outer.empty()) {
      if (field.name == "key") {
        entry.key = field.raw;
      } else if (field.name == "time_ms") {
        entry.time_s = field.number().value_or(0) / 1000;
      } else if (field.name == "value") {
        const auto number = field.number();
        entry.has_number = number.has_value();
        entry.number = number.value_or(0);
        if (!number) entry.text = field.raw;
      }
    } else if (field.is("metadata", "status")) {
      entry.status = field.raw;
    } else if (field.outer == "metadata" || field.outer == "value") {
      if (field.outer == "value" && field.number() && entry.parts.size() < 16)
        entry.parts.emplace_back(field.name, *field.number());
      std::optional<double>* target = metadata(field, entry);
      const auto number = target == nullptr ? std::nullopt : field.number();
      if (number && std::abs(*number) < 1e15) *target = number;
    }
  }
}

/// After ":::MLPv0.5.0": " resnet 1541710592.117 (/a/main.py:12) eval_accuracy: {"epoch": 1,
/// "value": 0.41}", the value also a number, a text or nothing.
std::optional<Entry> read_first_version(std::string_view text, JsonLine& json) {
  const std::size_t version = text.find(' ');
  if (version == std::string_view::npos) return std::nullopt;
  text = trim(text.substr(version));
  const std::size_t name = text.find(' ');
  if (name == std::string_view::npos) return std::nullopt;
  Entry entry;
  entry.benchmark = text.substr(0, name);
  text.remove_prefix(name);
  const auto time = take_number(text);
  const std::size_t place = text.find(") ");
  if (!time || place == std::string_view::npos) return std::nullopt;
  entry.time_s = *time;
  text = trim(text.substr(place + 2));
  const std::size_t colon = text.find(':');
  entry.key = text.substr(0, colon);
  if (entry.key.empty() || entry.key.size() > 200) return std::nullopt;
  if (colon == std::string_view::npos) return entry;
  text = trim(text.substr(colon + 1));
  if (text.starts_with("{")) {
    json.parse(text);
    for (const JsonLineField& field : json.fields()) {
      if (field.name == "epoch") entry.epoch = field.number();
      if (field.name == "value") {
        entry.has_number = field.number().has_value();
        entry.number = field.number().value_or(0);
      }
      if (field.name == "success") entry.status = field.raw == "true" ? "success" : "failed";
    }
    return entry;
  }
  const auto number = parse_number(text);
  entry.has_number = number.has_value();
  entry.number = number.value_or(0);
  entry.text = text;
  return entry;
}

std::optional<Entry> read_entry(std::string_view text, JsonLine& json) {
  const std::size_t at = position_of(":::ML", text);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + 5);
  if (text.starts_with("Pv0.")) return read_first_version(text, json);
  if (!text.starts_with("L")) return std::nullopt;
  text.remove_prefix(1);
  Entry entry;
  if (text.starts_with("OG")) {
    text.remove_prefix(2);
  } else {
    const auto time = take_number(text);
    const std::size_t colon = text.find(": ");
    if (!time || colon == std::string_view::npos) return std::nullopt;
    entry.time_s = *time;
    entry.key = trim(text.substr(0, colon));
    text.remove_prefix(colon + 2);
  }
  json.parse(text);  // of a line that was cut, what is there
  read_fields(json, entry);
  if (entry.key.empty() || entry.key.size() > 200) return std::nullopt;
  return entry;
}

class MlperfParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const auto entry = read_entry(line.text, json_);
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
  static std::optional<std::int64_t> whole(const Entry& entry) {
    if (!entry.has_number && !entry.text.empty()) return parse_integer(entry.text);
    if (!entry.has_number || !(entry.number >= 1) || entry.number > 9e15) return std::nullopt;
    return std::llround(entry.number);
  }

  bool fact(const Entry& entry) {
    const auto count = whole(entry);
    const std::string_view key = entry.key;
    if (key == "submission_benchmark") {
      run_.model.offer(printable(entry.text));
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
    if (!rest.empty()) run_.device.offer(printable(rest));
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
    run_.device.offer(printable(text));
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

  void event(const Entry& entry) {
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
  static SpanKey span_of(const Entry& entry) {
    const auto first = entry.first_epoch ? entry.first_epoch : entry.epoch;
    if (!first) return {};
    return {std::llround(std::floor(*first)), entry.epoch_count.value_or(1)};
  }

  void figure(const Entry& entry, std::string_view key) {
    // {"BBOX": 0.37, "SEGM": 0.34}: neither alone is the accuracy.
    for (const auto& [part, value] : entry.parts) {
      if (run_.other.size() < 256)
        run_.other[std::string(key) + "." + printable(part, 40)].add(
            static_cast<std::int64_t>(entry.epoch.value_or(0)), value);
    }
    if (!entry.has_number) return;
    if (!entry.epoch || *entry.epoch < 0 || *entry.epoch >= 20'000 ||
        counts_samples(*entry.epoch)) {
      // Language models count samples instead of epochs.
      const double at = entry.samples ? *entry.samples : entry.epoch.value_or(0);
      run_.other[std::string(key)].add(static_cast<std::int64_t>(at), entry.number);
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
    for (const auto& [first, span] : epochs ? spans_ : blocks_) {
      if (!(span.stop > span.start) || !(span.count >= 1) || counts_samples(span.count)) continue;
      if (span.count == 1 && !is_whole_epoch(span.stop - span.start)) continue;
      const double each = (span.stop - span.start) / span.count;
      const auto last = static_cast<std::int64_t>(static_cast<double>(first) + span.count - 1);
      auto found = evaluated_.lower_bound(first);
      const bool inside = found != evaluated_.end() && found->first <= last;
      table_.set(inside ? found->first : last, Metric::kEpochTime, each);
      if (span.count > 1) run_.notes["epoch_time"] = "mean over the epochs between two evaluations";
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
      if (started_ && stopped_ && *stopped_ > *started_) run_.total_s = *stopped_ - *started_;
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
