#include "lockstep/import/readers/readers.h"

#include <cmath>
#include <string>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/figure_scan.h"
#include "lockstep/import/scan/ratio.h"
#include "lockstep/import/scan/text_scan.h"
#include "lockstep/import/scan/tqdm_bar.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kLongestLine = 4096;

/// Whether a line may have a figure of an epoch.
bool may_tell(std::string_view text) {
  return contains_any<"poch", "acc", "Acc", "oss", "/s", "/it", "ime", "hroughput", "lr", "top1">(
      text);
}

struct EpochMark {
  std::int64_t epoch = 0;
  std::int64_t planned = 0;   ///< 0 = not said
  std::size_t end = 0;        ///< where the line goes on after it
  std::int64_t position = 0;  ///< of the example or step within the epoch
  std::int64_t length = 0;    ///< 0 = the line is about a whole epoch
};

/// "Epoch 3", "[Epoch 3]", "Epoch: 3/90", "epoch=3", "Epoch [3/90]", "Train Epoch: 1 [640/60000
/// (1%)]", "Epoch 1 of 5", "Epoch #1".
std::optional<EpochMark> find_epoch(std::string_view text) {
  std::size_t at = position_of("poch", text);
  while (at != std::string_view::npos) {
    const char first = at > 0 ? text[at - 1] : ' ';
    const bool starts = (first == 'E' || first == 'e') && (at < 2 || !is_letter(text[at - 2]));
    std::size_t i = at + 4;
    at = text.find("poch", at + 1);
    if (!starts) continue;
    while (i < text.size() &&
           (text[i] == ' ' || text[i] == ':' || text[i] == '=' || text[i] == '[' ||
            text[i] == '#' || text[i] == '\t' || text[i] == '(')) {
      ++i;
    }
    std::string_view rest = text.substr(i);
    const bool digit = !rest.empty() && is_digit(rest[0]);
    const auto number = digit ? take_number(rest) : std::nullopt;
    if (!number || *number > 1e6) continue;
    EpochMark mark;
    mark.epoch = static_cast<std::int64_t>(*number);
    if (*number != std::floor(*number)) ++mark.epoch;  // "epoch: 1.8" is within the second
    std::string_view total = rest;
    while (!total.empty() && total[0] == ' ') total.remove_prefix(1);
    if (total.starts_with("/") || total.starts_with("of ")) {
      total.remove_prefix(total[0] == '/' ? 1 : 3);
      const auto planned = take_number(total);
      if (planned && *planned >= 1 && *planned <= 1e6) {
        mark.planned = static_cast<std::int64_t>(*planned);
        rest = total;
      }
    }
    mark.end = text.size() - rest.size();
    return mark;
  }
  return std::nullopt;
}

/// "[640/60000 (1%)]" after the epoch: how far it is.
void find_position(std::string_view text, EpochMark& mark) {
  const std::size_t open = text.find('[', mark.end);
  if (open == std::string_view::npos || open > mark.end + 4) return;
  std::string_view rest = text.substr(open + 1);
  const auto place = take_ratio(rest);
  if (!place || place->of < 1 || place->done > place->of) return;
  mark.position = place->done;
  mark.length = place->of;
  mark.end = text.size() - rest.size();
}

class EpochLinesParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (text.size() > kLongestLine || !may_tell(text)) return false;
    if (text.find('<') != std::string_view::npos) {
      if (const auto bar = find_tqdm_bar(text)) return progress_bar(*bar);
    }
    auto mark = find_epoch(text);
    if (mark) {
      find_position(text, *mark);
      begin_epoch(*mark);
      figures(text.substr(mark->end), *mark);
      return true;
    }
    if (!begun_) return false;
    EpochMark here;
    here.epoch = epoch_;
    validation_line_ =
        contains(text, "Test set:") || contains(text, "alidation") || contains(text, "Eval");
    const bool taken = figures(text, here);
    validation_line_ = false;
    return taken;
  }

  std::vector<ImportedRun> finish() override {
    end_run();
    return std::move(runs_);
  }

 private:
  void begin_epoch(const EpochMark& mark) {
    const bool back = begun_ && mark.epoch < epoch_ && mark.epoch <= 1;
    if (back && figures_ > 0) end_run();
    if (!begun_ || mark.epoch != epoch_) losses_ = Series();
    begun_ = true;
    epoch_ = mark.epoch;
    if (mark.planned > 0) run_.epochs_planned.offer(mark.planned);
  }

  /// Bars that were overwritten carry the figures of the epoch before; the finished one counts. Of
  /// the bars after an epoch's header the first is the training, others validate.
  bool progress_bar(const TqdmBar& bar) {
    const auto labelled = find_epoch(bar.label);
    if (labelled) begin_epoch(*labelled);
    if (!begun_ || !bar.finished()) return true;
    EpochMark mark;
    mark.epoch = epoch_;
    const std::string label = lower(bar.label);
    const bool validates = contains(label, "val") || contains(label, "test") ||
                           contains(label, "sanity") || contains(label, "download");
    if (!validates && bar.elapsed_s > 0 && (labelled || bar_epoch_ != epoch_)) {
      table_.set(epoch_, Metric::kEpochTime, bar.elapsed_s);
      run_.steps_per_epoch.offer(bar.of);
      if (run_.notes.empty()) run_.notes["epoch_time"] = "time of the progress bar";
      bar_epoch_ = epoch_;
      ++figures_;
    }
    validation_line_ = validates;
    figures(bar.figures, mark);
    validation_line_ = false;
    return true;
  }

  bool figures(std::string_view text, const EpochMark& mark) {
    bool any = false;
    for_each_figure(text, [&](const Figure& figure) { any = take(figure, mark) || any; });
    // "Accuracy: 9834/10000 (98%)": the ratio says more than the percentage.
    const std::size_t ratio = text.find("Accuracy: ");
    if (ratio != std::string_view::npos) {
      std::string_view rest = text.substr(ratio + 10);
      const auto right = take_ratio(rest);
      if (right && right->of > 0) {
        table_.set(mark.epoch, validation_line_ ? Metric::kValAccuracy : Metric::kTrainAccuracy,
                   static_cast<double>(right->done) / static_cast<double>(right->of));
        any = true;
      }
    }
    if (any) ++figures_;
    return any;
  }

  bool take(const Figure& figure, const EpochMark& mark) {
    MetricName name = metrics_.of(figure.name);
    const std::string unit = lower(figure.unit);
    if (const auto step_s = time_per_step(figure.value, unit)) {
      run_.step_time.add(mark.epoch, *step_s);
      return true;
    }
    const bool per_second = unit == "img/s" || unit == "img/sec" || unit == "images/s" ||
                            unit == "images/sec" || unit == "samples/s" || unit == "samples/sec" ||
                            unit == "examples/s" || unit == "examples/sec" || unit == "imgs/s" ||
                            unit == "ex/s" || unit == "sps";
    if (per_second) {
      const std::string named = lower(figure.name);
      const bool one = contains(named, "rank") || contains(named, "worker") ||
                       contains(named, "gpu") || contains(named, "device") ||
                       contains(named, "local");
      const bool each = one && !contains(named, "total") && !contains(named, "global");
      return rate(each, figure.value, mark);
    }
    if (validation_line_ &&
        (name.metric == Metric::kTrainLoss || name.metric == Metric::kTrainAccuracy)) {
      name.metric = name.metric == Metric::kTrainLoss ? Metric::kValLoss : Metric::kValAccuracy;
      name.rank = 2;
    }
    switch (name.metric) {
      case Metric::kOther:
        return other(figure, mark, unit);
      case Metric::kThroughput:
        return rate(false, figure.value, mark);
      case Metric::kThroughputPerWorker:
        return rate(true, figure.value, mark);
      case Metric::kStepTime:
        run_.step_time.add(mark.epoch, figure.value * (unit == "ms" ? 1e-3 : name.scale));
        return true;
      case Metric::kEpoch:
      case Metric::kStep:
        return false;
      case Metric::kTrainLoss:
        if (mark.length > 0) return within_epoch(figure.value, mark);
        break;
      default:
        break;
    }
    if (figure.percent) {
      table_.set_percent(mark.epoch, name, figure.value);
    } else {
      table_.set(
          mark.epoch, name,
          name.metric == Metric::kEpochTime && unit == "ms" ? figure.value * 1e-3 : figure.value);
    }
    return true;
  }

  /// "120 ms/step", "0.12 s/it", "8.3 it/s".
  static std::optional<double> time_per_step(double value, std::string_view unit) {
    if (unit.size() < 4 || !(value > 0)) return std::nullopt;
    if (unit == "it/s" || unit == "steps/s" || unit == "batches/s" || unit == "step/s" ||
        unit == "batch/s" || unit == "iter/s") {
      return 1 / value;
    }
    const std::size_t slash = unit.find('/');
    const std::string_view each = slash == std::string_view::npos ? "" : unit.substr(slash + 1);
    if (each != "step" && each != "it" && each != "iter" && each != "batch") return std::nullopt;
    const std::string_view time = unit.substr(0, slash);
    if (time == "s" || time == "sec") return value;
    if (time == "ms") return value * 1e-3;
    return std::nullopt;
  }

  /// A loss in the middle of an epoch: its mean over the epoch is the epoch's.
  bool within_epoch(double loss, const EpochMark& mark) {
    losses_.add(mark.position, loss);
    run_.train_loss.add(mark.epoch * mark.length + mark.position, loss);
    table_.set(mark.epoch, MetricName{Metric::kTrainLoss, 3}, losses_.mean());
    run_.notes["train_loss"] = "mean of the values printed in the epoch";
    run_.notes["epoch_length"] = std::to_string(mark.length) + " examples or steps";
    return true;
  }

  bool rate(bool each, double value, const EpochMark& mark) {
    if (!(value > 0) || !std::isfinite(value)) return false;
    (each ? run_.throughput_per_worker : run_.throughput).add(mark.epoch, value);
    if (!each) table_.set(mark.epoch, Metric::kThroughput, value);
    return true;
  }

  /// A time without further name on an epoch's own line is the epoch's.
  bool other(const Figure& figure, const EpochMark& mark, const std::string& unit) {
    const std::string name = lower(figure.name);
    const bool time = name.empty() || name.ends_with("time") || name.ends_with("took") ||
                      name.ends_with("time cost") || name.ends_with("elapsed") ||
                      name.ends_with("duration") || name.ends_with("in");
    const double scale = unit == "ms" ? 1e-3 : unit == "min" || unit == "minutes" ? 60 : 1;
    const bool seconds = unit.empty() || unit == "s" || unit == "sec" || unit == "secs" ||
                         unit == "seconds" || unit == "ms" || unit == "min" || unit == "minutes";
    if (unit == "s/epoch" || unit == "sec/epoch") {
      table_.set(mark.epoch, Metric::kEpochTime, figure.value);
      return true;
    }
    if (time && seconds && mark.length == 0 && mark.end > 0) {
      table_.set(mark.epoch, Metric::kEpochTime, figure.value * scale);
      return true;
    }
    return false;
  }

  void end_run() {
    if (figures_ > 0) {
      run_.epochs = table_.results();
      run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(std::move(run_));
    }
    run_ = ImportedRun();
    table_ = EpochTable();
    losses_ = Series();
    begun_ = false;
    figures_ = 0;
    bar_epoch_ = -1;
  }

  std::vector<ImportedRun> runs_;
  ImportedRun run_;
  EpochTable table_;
  MetricCache metrics_;
  Series losses_;
  std::int64_t epoch_ = 0;
  std::int64_t bar_epoch_ = -1;  ///< whose training bar was seen
  std::int64_t figures_ = 0;
  bool begun_ = false;
  bool validation_line_ = false;
};

Match recognise_epoch_lines(const Sample& sample) {
  std::string_view text = sample.text;
  int epochs = 0;
  int figures = 0;
  for (int lines = 0; !text.empty() && lines < 20000; ++lines) {
    const std::size_t stop = text.find('\n');
    const std::string_view line = text.substr(0, stop);
    text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
    if (line.size() > kLongestLine || !contains(line, "poch")) continue;
    if (line.find('<') != std::string_view::npos && find_tqdm_bar(line)) ++figures;
    const auto mark = find_epoch(line);
    if (!mark) continue;
    ++epochs;
    for_each_figure(line.substr(mark->end), [&](const Figure&) { ++figures; });
  }
  if (epochs > 0 && figures > 0) return Match::kLikely;
  if (epochs > 0) return Match::kPossible;
  const bool failed =
      contains(sample.text, "out of memory") || contains(sample.text, "OutOfMemoryError") ||
      contains(sample.text, "OOM when allocating") || contains(sample.text, "t allocate memory") ||
      contains(sample.text, "std::bad_alloc");
  return failed ? Match::kPossible : Match::kNo;
}

}  // namespace

LogFormat epoch_lines_format() {
  return {"epoch-lines",
          "any script's epochs with named figures ([Epoch 3] loss=0.4 val_acc=91.2% 1520 img/s)",
          recognise_epoch_lines,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<EpochLinesParser>(); }};
}

}  // namespace lockstep::import
