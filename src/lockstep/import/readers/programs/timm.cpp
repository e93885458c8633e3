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

struct TimmPosition {
  std::int64_t epoch = 0;
  Ratio steps;
};

/// "0 [  50/1251 (  4%)]" at the front of `text`, which goes on after it.
std::optional<TimmPosition> take_timm_position(std::string_view& text) {
  std::string_view rest = text;
  const auto epoch = take_number(rest);
  const std::size_t open = rest.find('[');
  if (!epoch || !(*epoch >= 0 && *epoch <= 1e6) || open == std::string_view::npos || open > 12)
    return std::nullopt;
  rest.remove_prefix(open + 1);
  const auto steps = take_ratio(rest);
  const std::size_t close = rest.find(']');
  if (!steps || close == std::string_view::npos || steps->of < 1 || steps->done > steps->of)
    return std::nullopt;
  text = rest.substr(close + 1);
  return TimmPosition{static_cast<std::int64_t>(*epoch), *steps};
}

/// "Time: 0.320s,  400.32/s  (0.470s,  272.39/s)": of one step, and the means of the epoch so far.
struct StepTime {
  double step_s = 0;
  double mean_s = 0;
  double rate = 0;
  double mean_rate = 0;
};

std::optional<StepTime> step_time(std::string_view text) {
  const std::size_t at = text.find("Time: ");
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + 6);
  const auto figure = [&](std::string_view unit) -> std::optional<double> {
    while (!text.empty() && (text[0] == ' ' || text[0] == ',' || text[0] == '('))
      text.remove_prefix(1);
    const auto value = take_number(text);
    if (!value || !text.starts_with(unit)) return std::nullopt;
    text.remove_prefix(unit.size());
    return value;
  };
  const auto step = figure("s");
  const auto rate = figure("/s");
  const auto mean = figure("s");
  const auto mean_rate = figure("/s");
  if (!step || !rate) return std::nullopt;
  return StepTime{*step, mean.value_or(*step), *rate, mean_rate.value_or(*rate)};
}

class TimmParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (const std::size_t at = position_of("Train: ", text); at != std::string_view::npos)
      return train_line(text.substr(at + 7));
    if (const std::size_t at = position_of("Test: [", text); at != std::string_view::npos)
      return any_ && validation_line(text.substr(at));
    return fact(text);
  }

  std::vector<ImportedRun> finish() override {
    end_run();
    return std::move(runs_);
  }

 private:
  bool train_line(std::string_view text) {
    const auto position = take_timm_position(text);
    if (!position) return false;
    if (any_ && position->epoch != place_.epoch) end_epoch(position->epoch > place_.epoch);
    if (any_ && position->epoch < place_.epoch) end_run();
    place_ = *position;
    any_ = true;
    const std::int64_t at = place_.epoch * place_.steps.of + place_.steps.done;
    if (const auto time = step_time(text)) {
      if (time->step_s > 0) run_.step_time.add(at, time->step_s);
      if (time->rate > 0) run_.throughput.add(at, time->rate);
      mean_ = *time;
    }
    for (Meter meter; take_meter(text, meter);) {
      if (meter.name == "Loss") {
        run_.train_loss.add(at, meter.value);
        loss_ = meter.mean;
      } else if (meter.name == "LR") {
        rate_ = meter.value;
      }
    }
    return true;
  }

  /// The last of an epoch's lines has the means over the whole validation set.
  bool validation_line(std::string_view text) {
    end_epoch(true);
    const std::int64_t epoch = place_.epoch + 1;
    for (Meter meter; take_meter(text, meter);) {
      const double value = meter.mean;
      if (meter.name == "Acc@1") table_.set_percent(epoch, MetricName{Metric::kValAccuracy}, value);
      if (meter.name == "Loss") table_.set(epoch, Metric::kValLoss, value);
    }
    return true;
  }

  /// `followed`: validation or the next epoch came, so that this one is whole even where its last
  /// step was not printed.
  void end_epoch(bool followed) {
    const std::int64_t epoch = place_.epoch + 1;
    if (followed || place_.steps.done + 1 >= place_.steps.of) {
      if (loss_) table_.set(epoch, Metric::kTrainLoss, *loss_);
      if (rate_) table_.set(epoch, Metric::kLearningRate, *rate_);
      if (mean_ && mean_->mean_rate > 0) table_.set(epoch, Metric::kThroughput, mean_->mean_rate);
      if (mean_ && mean_->mean_s > 0) {
        table_.set(epoch, Metric::kEpochTime, mean_->mean_s * static_cast<double>(place_.steps.of));
        run_.notes["epoch_time"] = "mean step time x steps of the epoch, without validation";
      }
    } else if (loss_) {
      run_.warnings.push_back("epoch " + std::to_string(epoch) + " ends at step " +
                              std::to_string(place_.steps.done) + " of " +
                              std::to_string(place_.steps.of));
    }
    if (place_.steps.of > 1) run_.steps_per_epoch.offer(place_.steps.of);
    loss_ = rate_ = std::nullopt;
    mean_.reset();
  }

  bool fact(std::string_view text) {
    if (contains(text, "Training in distributed mode")) {
      const auto total = integer_after(text, "total ");
      if (total && *total > 0) run_.workers.offer(*total);
    } else if (contains(text, "Training with a single process on ")) {
      const auto devices = integer_after(text, "single process on ");
      run_.workers.offer(devices && *devices > 0 ? *devices : 1);
    } else if (text.starts_with("Model ") && contains(text, " created, param count:")) {
      const std::string_view name = text.substr(6, text.find(" created") - 6);
      run_.model.offer(printable(name));
      const auto count = integer_after(text, "param count:");
      if (count && *count > 0) run_.parameters.offer(*count);
    } else if (text.starts_with("Scheduled epochs: ")) {
      const auto planned = integer_after(text, "Scheduled epochs: ");
      if (planned && *planned > 0) run_.epochs_planned.offer(*planned);
    } else {
      return false;
    }
    return true;
  }

  void end_run() {
    if (any_) {
      end_epoch(false);
      run_.epochs = table_.results();
      run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(std::move(run_));
    }
    run_ = ImportedRun();
    table_ = EpochTable();
    any_ = false;
  }

  std::vector<ImportedRun> runs_;
  ImportedRun run_;
  EpochTable table_;
  TimmPosition place_;
  bool any_ = false;
  std::optional<StepTime> mean_;
  std::optional<double> loss_;
  std::optional<double> rate_;
};

Match recognise_timm(const Sample& sample) {
  for (std::size_t at = sample.text.find("Train: "); at != std::string_view::npos;
       at = sample.text.find("Train: ", at + 1)) {
    std::string_view text = sample.text.substr(at + 7, 400);
    text = text.substr(0, text.find('\n'));
    if (take_timm_position(text) && contains(text, "Loss: ")) return Match::kCertain;
  }
  return Match::kNo;
}

}  // namespace

LogFormat timm_format() {
  return {"timm", "timm's train.py (Train: 0 [  50/1251 (  4%)]  Loss: 6.9 (6.9)  Time: 0.3s, ...)",
          recognise_timm,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<TimmParser>(); }};
}

}  // namespace lockstep::import
