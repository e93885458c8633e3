#include "lockstep/import/readers/readers.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lockstep/import/model/metric_names.h"
#include "lockstep/import/scan/figure_scan.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// A rate or time and the devices it was measured on: "4728.8 examples/sec on cuda:0".
struct Verdict {
  std::string_view before;  ///< the line up to the number
  std::string_view unit;    ///< "examples/sec", "tokens/sec", "sec/epoch"
  std::string_view devices;
  double value = 0;
};

constexpr std::string_view kUnits[] = {"examples/sec", "samples/sec", "images/sec", "tokens/sec",
                                       "sec/epoch"};

/// "8 GPUs": the count before the word.
std::optional<std::int64_t> counted_devices(std::string_view devices) {
  const auto count = take_number(devices);
  const std::string word = lower(trim(devices).substr(0, 3));
  const bool counts = count && *count >= 1 && *count < 1e6 && *count == std::floor(*count);
  if (!counts || (word != "gpu" && word != "tpu" && word != "cpu")) return std::nullopt;
  return static_cast<std::int64_t>(*count);
}

/// "cuda:0", "[gpu(0), gpu(1)]", "8 GPUs"; not "ResNet-50", as prose has it.
bool names_devices(std::string_view devices) {
  devices = trim(devices);
  if (counted_devices(devices)) return true;
  while (devices.starts_with('[')) devices.remove_prefix(1);
  const std::string text = lower(devices.substr(0, 16));
  for (std::string_view kind : {"device(", "cuda", "gpu", "cpu", "mps", "tpu", "xpu"}) {
    if (text.starts_with(kind)) return true;
  }
  return false;
}

std::optional<Verdict> verdict(std::string_view text) {
  for (std::string_view unit : kUnits) {
    const std::size_t at = text.find(unit);
    if (at == std::string_view::npos || at < 2) continue;
    const std::string_view rest = text.substr(at + unit.size());
    if (!rest.starts_with(" on ") || !names_devices(rest.substr(4))) continue;
    std::size_t begin = at;
    while (begin > 0 && text[begin - 1] == ' ') --begin;
    while (begin > 0 &&
           (is_digit(text[begin - 1]) || text[begin - 1] == '.' || text[begin - 1] == ',' ||
            text[begin - 1] == 'e' || text[begin - 1] == '+' || text[begin - 1] == '-')) {
      --begin;
    }
    const auto value = parse_number(text.substr(begin, at - begin));
    if (!value || *value <= 0) continue;
    return Verdict{text.substr(0, begin), unit, trim(rest.substr(4)), *value};
  }
  return std::nullopt;
}

/// "[device(type='cuda', index=0), device(type='cuda', index=1)]" -> 2; "8 GPUs" -> 8; "cuda:0" ->
/// 1.
std::int64_t count_devices(std::string_view devices) {
  if (const auto count = counted_devices(devices)) return *count;
  if (devices.empty() || devices[0] != '[') return 1;
  std::int64_t count = 0;
  int depth = 0;
  bool inside = false;
  for (char c : devices.substr(1)) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ']' && depth <= 0) break;
    if (c == ',' && depth <= 0) {
      inside = false;
    } else if (c != ' ' && !inside) {
      inside = true;
      ++count;
    }
  }
  return count;
}

std::string device_kind(std::string_view devices) {
  const std::string text = lower(devices);
  for (std::string_view kind : {"cuda", "gpu", "mps", "tpu", "cpu"}) {
    if (contains(text, kind)) return std::string(kind);
  }
  return printable(devices, 40);
}

bool same_figures(const ImportedRun& a, const ImportedRun& b) {
  if (a.other.size() != b.other.size() || a.other.empty()) return false;
  return std::equal(a.other.begin(), a.other.end(), b.other.begin(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.last() == y.second.last();
                    });
}

/// "Running on a T4 - 2 CPUs:", "#### DGX Node - 1 GPU": the first line of a paragraph that has no
/// figure of its own. Empty for any other.
std::string heading_of(std::string_view text) {
  text = trim(text);
  while (text.starts_with('#')) text.remove_prefix(1);
  text = trim(text);
  for (const std::string_view words : {"Running on a ", "Running on an ", "Running on "}) {
    if (text.starts_with(words)) text.remove_prefix(words.size());
  }
  while (text.ends_with(':')) text.remove_suffix(1);
  const bool words = text.size() >= 3 && text.size() <= 80 && is_letter(text[0]);
  if (!words || contains(text, ": ") || contains(text, "=") || contains(text, "|") ||
      contains(text, "loss"))
    return {};
  return printable(text, 80);
}

class ExamplesPerSecondParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const bool begins = last_line_ == 0 || line.number > last_line_ + 1;
    last_line_ = line.number;
    const auto found = verdict(line.text);
    if (!found) {
      if (begins) {
        if (std::string heading = heading_of(line.text); !heading.empty()) heading_ = heading;
      }
      if (after(line.text)) return true;
      if (contains(line.text, "loss") || contains(line.text, "acc")) {
        figures_of(line.text);
        return true;
      }
      return false;
    }
    figures_of(found->before);
    // "27.3 examples/sec on cpu (...)" then "1486.7 sec/epoch on cpu" with the same losses: two
    // lines about one run.
    const std::string_view device = found->devices.substr(0, found->devices.find(" ("));
    if (found->unit == "sec/epoch" && !runs_.empty() && !closed_ && !runs_.back().epoch_s &&
        device == last_device_ && same_figures(runs_.back(), run_)) {
      runs_.back().epoch_s = found->value;
      run_ = ImportedRun();
      return true;
    }
    closed_ = false;
    last_device_ = device;
    const std::int64_t devices = count_devices(found->devices);
    if (devices > 0) run_.workers.offer(devices);
    run_.device.offer(device_kind(found->devices));
    if (found->unit == "sec/epoch") {
      run_.epoch_s = found->value;
    } else if (found->unit == "tokens/sec") {
      run_.other["tokens_per_s"].add(0, found->value);
    } else {
      run_.throughput.add(0, found->value);
      run_.reported_throughput = found->value;
      of_epoch(found->devices);
    }
    if (!heading_.empty()) run_.notes["heading"] = heading_;
    run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
    runs_.push_back(std::move(run_));
    run_ = ImportedRun();
    return true;
  }

  std::vector<ImportedRun> finish() override {
    for (ImportedRun& run : runs_) {
      // The rate of one epoch is not the rate of twenty.
      if (!run.notes.contains(kLastEpoch) || run.epochs_planned.value.value_or(1) < 2) continue;
      run.other["last_epoch_throughput"] = run.throughput;
      run.throughput = Series();
      run.reported_throughput.reset();
    }
    for (ImportedRun& run : runs_) run.notes.erase(kLastEpoch);
    return std::move(runs_);
  }

 private:
  static constexpr const char* kLastEpoch = "of the last epoch";

  /// "cpu (40597.0 examples in 1486.4 seconds during this epoch)".
  void of_epoch(std::string_view rest) {
    if (!contains(rest, "during this epoch")) return;
    run_.notes[kLastEpoch] = "";
    const std::size_t open = rest.find('(');
    if (open == std::string_view::npos) return;
    rest.remove_prefix(open + 1);
    const auto examples = take_number(rest);
    if (examples && *examples >= 1 && *examples < 1e12 && trim(rest).starts_with("examples"))
      run_.examples.offer(static_cast<std::int64_t>(*examples));
  }

  /// What is printed about the run after its rates: "Num epochs: 20", "Total training time: 556.6
  /// seconds". A heading ends it.
  bool after(std::string_view text) {
    if (runs_.empty() || trim(text).empty()) return false;
    if (const auto epochs = integer_after(text, "Num epochs:"); epochs && *epochs > 0) {
      runs_.back().epochs_planned.offer(*epochs);
      return true;
    }
    if (const auto total = number_after(text, "Total training time:"); total && *total > 0) {
      if (!closed_) runs_.back().total_s = *total;
      closed_ = true;
      return true;
    }
    if (contains(text, "Running on") || contains(text, "####")) closed_ = true;
    return false;
  }

  void figures_of(std::string_view text) {
    for_each_figure(text, [&](const Figure& figure) {
      if (figure.name.empty()) return;
      const MetricName name = metric_of(figure.name);
      record::EpochResult& end = run_.at_end ? *run_.at_end : run_.at_end.emplace();
      const double scale = figure.percent ? 0.01 : 1;
      switch (name.metric) {
        case Metric::kTrainLoss:
          end.train_loss = figure.value;
          break;
        case Metric::kTrainAccuracy:
          end.train_accuracy = figure.value * scale;
          break;
        case Metric::kValLoss:
          end.val_loss = figure.value;
          break;
        case Metric::kValAccuracy:
          end.val_accuracy = figure.value * scale;
          break;
        default:
          if (run_.other.size() < 64) run_.other[printable(figure.name, 60)].add(0, figure.value);
      }
    });
  }

  std::vector<ImportedRun> runs_;
  ImportedRun run_;
  std::string last_device_;
  std::string heading_;
  std::uint64_t last_line_ = 0;  ///< blank lines are left out before they come here
  bool closed_ = false;          ///< nothing more belongs to the last run
};

Match recognise_examples_per_second(const Sample& sample) {
  for (std::string_view unit : kUnits) {
    const std::string mark = std::string(unit) + " on ";
    for (std::size_t at = sample.text.find(mark); at != std::string_view::npos;
         at = sample.text.find(mark, at + 1)) {
      if (names_devices(sample.text.substr(at + mark.size(), 40))) return Match::kCertain;
    }
  }
  return Match::kNo;
}

}  // namespace

LogFormat examples_per_second_format() {
  return {"examples-per-second",
          "\"loss .., train acc .., N examples/sec on DEVICE\" printouts (d2l.ai)",
          recognise_examples_per_second, []() -> std::unique_ptr<LogParser> {
            return std::make_unique<ExamplesPerSecondParser>();
          }};
}

}  // namespace lockstep::import
