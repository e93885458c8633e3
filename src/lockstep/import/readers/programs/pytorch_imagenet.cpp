#include "lockstep/import/readers/readers.h"

#include <cmath>
#include <optional>
#include <string>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/scan/meters.h"
#include "lockstep/import/scan/ratio.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

struct Position {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::int64_t steps = 0;
};

/// "[0][  10/10010]" or "[0]  [  10/5005]"; `text` goes on after it.
std::optional<Position> take_position(std::string_view& text) {
  std::string_view rest = trim(text);
  if (rest.empty() || rest[0] != '[') return std::nullopt;
  rest.remove_prefix(1);
  const auto epoch = take_number(rest);
  const std::size_t open = rest.find('[');
  if (!epoch || open == std::string_view::npos || open > 8) return std::nullopt;
  rest.remove_prefix(open + 1);
  const auto steps = take_ratio(rest);
  if (!steps || !(*epoch >= 0 && *epoch <= 1e6) || steps->done > steps->of) return std::nullopt;
  text = rest;
  return Position{static_cast<std::int64_t>(*epoch), steps->done, steps->of};
}

/// " *   Acc@1 69.758 Acc@5 89.078", " * Prec@1 ...", "Test:  Acc@1 69.7 ...".
bool is_validation_result(std::string_view text) {
  text = trim(text.substr(0, 64));
  if (text.starts_with("*")) {
    text = trim(text.substr(1));
  } else if (text.starts_with("Test:")) {
    text = trim(text.substr(5));
  } else {
    return false;
  }
  return text.starts_with("Acc@1") || text.starts_with("Prec@1");
}

/// The accuracy behind "Prec@1". Of two numbers ("Prec@1 001 88.057") either may be a tag.
std::optional<double> only_number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + mark.size());
  const std::size_t first = rest.find_first_not_of(" :=");
  if (first == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(first);
  const auto number = take_number(rest);
  if (!number) return std::nullopt;
  rest = trim(rest);
  return !rest.empty() && is_digit(rest[0]) ? std::nullopt : number;
}

class ImagenetParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    std::string_view text = line.text;
    const std::size_t at = position_of("Epoch: [", text);
    if (at != std::string_view::npos) return train_line(text.substr(at + 7));
    if (is_validation_result(text)) return validation_result(text);
    if (any_ && text.starts_with("Training time ")) {
      run_.total_s = parse_duration(trim(text.substr(14)));
      return true;
    }
    return contains(text, "Test: [");
  }

  std::vector<ImportedRun> finish() override {
    end_epoch();
    end_run();
    return std::move(runs_);
  }

 private:
  bool train_line(std::string_view text) {
    const auto position = take_position(text);
    if (!position) return epoch_total(text);
    // A rank that lags behind ends an epoch after another began the next; a fresh start begins one.
    if (any_ && position->epoch < place_.epoch && position->step > 1) return true;
    if (position->epoch != place_.epoch || !any_) {
      if (any_) end_epoch();
      if (any_ && position->epoch < place_.epoch) end_run();
    }
    print_every_ =
        any_ && position->step > place_.step ? position->step - place_.step : print_every_;
    place_ = *position;
    any_ = true;
    // torchvision's references count images and batches of one process; main.py those of all.
    if (!per_process_ && contains(text.substr(0, 16), "eta: ")) per_process_ = true;
    for (Meter meter; take_meter(text, meter);) figure(meter);
    return true;
  }

  /// "[0] Total time: 0:12:34".
  bool epoch_total(std::string_view text) {
    const std::size_t total = text.find("Total time: ");
    if (total == std::string_view::npos) return false;
    std::string_view number = text.substr(1);
    const auto epoch = take_number(number);
    text = text.substr(total + 12, 16);
    const auto seconds = parse_duration(text.substr(0, text.find(' ')));
    if (epoch && seconds && *epoch >= 0 && *epoch < 1e6) {
      table_.set(static_cast<std::int64_t>(*epoch) + 1, Metric::kEpochTime, *seconds);
    }
    return true;
  }

  void figure(const Meter& meter) {
    if (meter.name == "Time" || meter.name == "time") {
      run_.step_time.add(place_.epoch * place_.steps + place_.step, meter.value);
      mean_time_ = meter.mean;
    } else if (meter.name == "Speed" || meter.name == "img/s") {
      (per_process_ ? run_.throughput_per_worker : run_.throughput)
          .add(place_.epoch * place_.steps + place_.step, meter.value);
    } else if (meter.name == "Loss" || meter.name == "loss") {
      mean_loss_ = meter.mean;
      run_.train_loss.add(place_.epoch * place_.steps + place_.step, meter.value);
    } else if (meter.name == "Acc@1" || meter.name == "Prec@1" || meter.name == "acc1") {
      mean_accuracy_ = meter.mean;
    } else if (meter.name == "lr") {
      rate_ = meter.value;
    } else if (meter.name == "Data" || meter.name == "data") {
      data_time_.add(place_.epoch * place_.steps + place_.step, meter.value);
    }
  }

  /// The epoch is whole when the last line printed was the last that could be.
  void end_epoch() {
    if (!any_) return;
    const std::int64_t left = place_.steps - place_.step;
    const std::int64_t epoch = place_.epoch + 1;
    if (left > std::max<std::int64_t>(print_every_, 1)) {
      run_.warnings.push_back("epoch " + std::to_string(epoch) + " ends at step " +
                              std::to_string(place_.step) + " of " + std::to_string(place_.steps));
    } else {
      if (mean_loss_) table_.set(epoch, Metric::kTrainLoss, *mean_loss_);
      if (mean_accuracy_)
        table_.set_percent(epoch, MetricName{Metric::kTrainAccuracy}, *mean_accuracy_);
      if (rate_) table_.set(epoch, Metric::kLearningRate, *rate_);
      if (mean_time_) {
        table_.set(epoch, Metric::kEpochTime, *mean_time_ * static_cast<double>(place_.steps));
        run_.notes["epoch_time"] = "mean step time x steps of the epoch, without validation";
      }
    }
    if (place_.steps > 0) run_.steps_per_epoch.offer(place_.steps);
    mean_loss_ = mean_accuracy_ = mean_time_ = rate_ = std::nullopt;
  }

  bool validation_result(std::string_view text) {
    for (std::string_view mark : {"Acc@1", "Prec@1"}) {
      const auto accuracy = only_number_after(text, mark);
      if (accuracy && any_) {
        table_.set_percent(place_.epoch + 1, MetricName{Metric::kValAccuracy}, *accuracy);
      }
    }
    return true;
  }

  void end_run() {
    if (any_) {
      run_.epochs = table_.results();
      if (!data_time_.empty()) run_.other["data_time_s"] = std::move(data_time_);
      run_.batch_said_is_global = !per_process_;  // "--batch-size: the total of all GPUs of a node"
      run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(std::move(run_));
    }
    run_ = ImportedRun();
    data_time_ = Series();
    table_ = EpochTable();
    any_ = false;
  }

  std::vector<ImportedRun> runs_;
  ImportedRun run_;
  Series data_time_;
  EpochTable table_;
  Position place_;
  bool any_ = false;
  bool per_process_ = false;
  std::int64_t print_every_ = 0;
  std::optional<double> mean_loss_;
  std::optional<double> mean_accuracy_;
  std::optional<double> mean_time_;
  std::optional<double> rate_;
};

/// "Time 0.36 (0.45)": this step's and the mean. A time alone may as well be a clock.
bool has_mean_time(std::string_view text) {
  for (const std::string_view name : {"Time ", "time: "}) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) continue;
    std::string_view rest = text.substr(at + name.size());
    if (take_number(rest) && trim(rest).starts_with('(')) return true;
  }
  return false;
}

Match recognise_imagenet(const Sample& sample) {
  for (std::size_t at = sample.text.find("Epoch: ["); at != std::string_view::npos;
       at = sample.text.find("Epoch: [", at + 1)) {
    std::string_view text = sample.text.substr(at + 7, 400);
    text = text.substr(0, text.find('\n'));
    if (take_position(text) &&
        (has_mean_time(text) || contains(text, "data: ") || contains(text, "eta: ")))
      return Match::kCertain;
  }
  return Match::kNo;
}

}  // namespace

LogFormat pytorch_imagenet_format() {
  return {"pytorch-imagenet",
          "PyTorch examples/imagenet main.py (Epoch: [0][10/5004] Time 0.36 (0.45) ...)",
          recognise_imagenet,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<ImagenetParser>(); }};
}

}  // namespace lockstep::import
