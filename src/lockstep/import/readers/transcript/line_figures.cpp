#include "lockstep/import/readers/transcript/line_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "lockstep/import/readers/transcript/time_figures.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/figure_scan.h"
#include "lockstep/import/scan/ratio.h"

namespace lockstep::import {
namespace {

using Kind = LineFigure::Kind;

bool among_words(std::string_view word, std::string_view list) {
  for (std::size_t at = list.find(word); at != std::string_view::npos;
       at = list.find(word, at + 1)) {
    const bool begins = at == 0 || list[at - 1] == ' ';
    const std::size_t end = at + word.size();
    if (begins && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

bool counts_examples(std::string_view unit) {
  if (unit.size() < 3) return false;
  return unit == "sps" ||
         among_words(unit,
                     "img/s img/sec images/s images/sec samples/s samples/sec examples/s "
                     "examples/sec imgs/s imgs/sec ex/s images/second samples/second "
                     "examples/second sequences/s sequences/sec");
}

/// Turns a figure without "train" in its name into one of validation where the line is about that.
bool settle_split(MetricName& name, Split split, bool test) {
  const bool plain = name.rank >= 2;
  if (name.metric != Metric::kTrainLoss && name.metric != Metric::kTrainAccuracy) return true;
  if (!plain) return true;
  if (split == Split::kBoth) return name.metric == Metric::kTrainLoss;
  if (split != Split::kValidation) return true;
  name.metric = name.metric == Metric::kTrainLoss ? Metric::kValLoss : Metric::kValAccuracy;
  name.rank = test ? 4 : 0;
  return true;
}

/// "(2.11)" right after the number: the mean so far.
std::optional<double> mean_after(std::string_view after) {
  while (after.starts_with(' ')) after.remove_prefix(1);
  if (!after.starts_with('(')) return std::nullopt;
  after.remove_prefix(1);
  const auto mean = take_number(after);
  if (!mean || !after.starts_with(')')) return std::nullopt;
  return mean;
}

/// "% (17/128)": over how many examples; 0 where the ratio is not that of the percentage.
std::int64_t seen_after(std::string_view after, double percent) {
  while (after.starts_with(' ') || after.starts_with('%')) after.remove_prefix(1);
  if (!after.starts_with('(')) return 0;
  after.remove_prefix(1);
  const auto ratio = take_ratio(after);
  if (!ratio || ratio->of < 1) return 0;
  const double value = 100.0 * static_cast<double>(ratio->done) / static_cast<double>(ratio->of);
  return std::abs(value - percent) < 0.1 ? ratio->of : 0;
}

void named_ratio(std::string_view text, Split split, bool test, std::vector<LineFigure>& figures) {
  const std::size_t at = text.find("Accuracy: ");
  if (at == std::string_view::npos) return;
  std::string_view rest = text.substr(at + 10);
  const auto right = take_ratio(rest);
  if (!right || right->of < 1) return;
  MetricName name{Metric::kTrainAccuracy, 2};
  settle_split(name, split, test);
  figures.push_back({Kind::kCell, name.metric, name.rank,
                     static_cast<double>(right->done) / static_cast<double>(right->of), false,
                     right->of, false});
}

/// "d_loss", "loss_G": a word of its own beside "loss" and nothing else.
bool is_part_loss(std::string_view name) {
  const std::string word = lower(name);
  return word.size() <= 24 && word.find(' ') == std::string::npos &&
         (word.ends_with("_loss") || word.starts_with("loss_") || word.ends_with("/loss"));
}

/// "err-top1=0.2512" of a line about validation: the accuracy is what is left of one.
bool take_error_rate(const Figure& figure, Split split, std::vector<LineFigure>& figures) {
  const std::string name = lower(figure.name);
  if (name != "err-top1" && name != "err_top1" && name != "top1-err" && name != "top1_err")
    return false;
  const double whole = figure.percent ? 100 : 1;
  if (split != Split::kValidation || !(figure.value >= 0) || figure.value > whole) return true;
  LineFigure cell{Kind::kCell, Metric::kValAccuracy, 0, whole - figure.value, figure.percent, 0,
                  false};
  cell.of_error = true;
  figures.push_back(cell);
  return true;
}

/// The unit behind the number, or before it: "ms/batch 14.52", "tokens/s: 12,345".
std::string unit_of(const Figure& figure) {
  if (!figure.unit.empty() || figure.percent) return lower(figure.unit);
  if (figure.name.find('/') == std::string_view::npos) return {};
  const std::size_t blank = figure.name.find_last_of(' ');
  const std::string word =
      lower(blank == std::string_view::npos ? figure.name : figure.name.substr(blank + 1));
  const std::size_t slash = word.find('/');
  if (slash == std::string::npos || slash == 0) return {};
  const bool tokens =
      word == "tokens/s" || word == "tok/s" || word == "tokens/sec" || word == "tok/sec";
  return tokens || seconds_per_step(1, word) ? word : std::string();
}

void take_figure(const Figure& figure, Split split, bool test, const LinePlace& place,
                 MetricCache& metrics, std::vector<LineFigure>& figures) {
  if (figure.name.ends_with(".py")) return;  // "(learning_rate.py:48)": a line of source code
  const std::string unit = unit_of(figure);
  const bool validates = split == Split::kValidation;
  if (const auto step_s = seconds_per_step(figure.value, unit)) {
    if (!validates && !names_extreme(figure.phrase))
      figures.push_back({Kind::kStepTime, Metric::kStepTime, 0, *step_s, false, 0, false});
    return;
  }
  const bool tokens = unit.starts_with("tok") && contains(unit, "/s");
  std::string_view of_one = unit;
  constexpr std::array<std::string_view, 5> kOfOne{"/gpu", "/device", "/rank", "/worker",
                                                   "/process"};
  for (const std::string_view each : kOfOne) {
    if (unit.empty()) break;
    if (of_one.ends_with(each)) of_one.remove_suffix(each.size());
  }
  if (of_one.size() < unit.size() && counts_examples(of_one)) {
    if (!validates && figure.value > 0)
      figures.push_back(
          {Kind::kRatePerWorker, Metric::kThroughput, 0, figure.value, false, 0, false});
    return;
  }
  if (counts_examples(unit) || tokens) {
    const std::string named = lower(figure.name);
    const bool one = contains_any<"rank", "worker", "gpu", "device", "local">(named) &&
                     !contains_any<"total", "global">(named);
    if (validates || !(figure.value > 0) || !std::isfinite(figure.value)) return;
    if (names_extreme(figure.phrase)) return;
    if (tokens && (one || of_one.size() < unit.size())) return;  // of one worker
    figures.push_back({tokens ? Kind::kTokenRate
                       : one  ? Kind::kRatePerWorker
                              : Kind::kRate,
                       Metric::kThroughput, 0, figure.value, false, 0, false});
    return;
  }
  if (!unit.empty() && (unit == "s/epoch" || unit == "sec/epoch")) {
    const bool own = place.marked && !place.within;  // that of the epoch which the line names
    figures.push_back({own ? Kind::kEpochTime : Kind::kMeanEpochTime, Metric::kEpochTime, 0,
                       figure.value, false, 0, false});
    return;
  }
  if (figure.name.empty()) {
    if (const auto time = time_figure(figure, unit, split, place)) figures.push_back(*time);
    return;
  }
  if (place.has_rare && contains_any<"best", "Best", "BEST">(figure.phrase)) return;
  if (place.has_rare && contains_any<"err">(figure.name) && take_error_rate(figure, split, figures))
    return;
  MetricName name = metrics.of(figure.name);
  switch (name.metric) {
    case Metric::kThroughput:
    case Metric::kThroughputPerWorker:
      // Bytes, tokens or operations per second are no rate of examples.
      if (validates || !unit.empty() || !(figure.value > 0)) return;
      figures.push_back({name.metric == Metric::kThroughput ? Kind::kRate : Kind::kRatePerWorker,
                         name.metric, 0, figure.value, false, 0, false});
      return;
    case Metric::kTrainLoss:
    case Metric::kTrainAccuracy:
    case Metric::kValLoss:
    case Metric::kValAccuracy:
    case Metric::kLearningRate:
      break;
    case Metric::kEpoch:
    case Metric::kStep:
      return;
    case Metric::kStepTime:
    case Metric::kEpochTime:
    case Metric::kOther: {
      if (place.within && lower(figure.name) == "time" && unit.empty() &&
          mean_after(figure.after)) {
        // "Time 0.69 (0.73)" of a line within the epoch: this step, and the mean, which counts.
        figures.push_back(
            {Kind::kStepTime, Metric::kStepTime, 0, *mean_after(figure.after), false, 0, true});
        return;
      }
      if (!validates && unit.empty() && is_part_loss(figure.name)) {
        figures.push_back(
            {Kind::kOtherLoss, Metric::kOther, 0, figure.value, false, 0, false, figure.name});
        return;
      }
      auto time = time_figure(figure, unit, split, place);
      if (time && unit.empty()) time->value *= name.metric == Metric::kOther ? 1 : name.scale;
      if (time) figures.push_back(*time);
      return;
    }
  }
  if (!settle_split(name, split, test)) return;
  if (place.saves && name.rank >= 2) return;
  LineFigure cell{Kind::kCell, name.metric, name.rank, figure.value, figure.percent, 0, false};
  if (figure.percent) cell.seen = seen_after(figure.after, figure.value);
  if (place.within) {
    if (const auto mean = mean_after(figure.after)) {
      cell.value = *mean;
      cell.averaged = true;
    }
  }
  figures.push_back(cell);
}

/// What the word "best" of a line names: a loss, or an accuracy and the like; nothing without.
Metric best_of(std::string_view whole) {
  const std::string text = lower(whole);
  const std::size_t best = text.find("best");
  if (best == std::string::npos) return Metric::kOther;
  const std::string_view after = std::string_view(text).substr(best + 4, 16);
  return contains(after, "loss") ? Metric::kTrainLoss : Metric::kTrainAccuracy;
}

/// "Accuracy 58.0% / Best accuracy: 58.0%", "Loss: 0.98, MeanIU: 0.49, Best_mIoU: 0.52": a program
/// keeps the best of what it validates, so a figure without "train" beside it may be of validation.
bool is_beside_its_best(const LineFigure& figure, Metric best, bool marked) {
  if (best == Metric::kOther || figure.kind != Kind::kCell || figure.rank < 2) return false;
  if (figure.metric == Metric::kTrainAccuracy) return best == Metric::kTrainAccuracy;
  return figure.metric == Metric::kTrainLoss && (best == Metric::kTrainLoss || !marked);
}

/// "Train Loss: 0.21 Acc: 0.90 | Val Loss: 0.09 Acc: 0.97": what the part between bars is about.
Split split_of_part(std::string_view whole, const char* name) {
  const auto at = static_cast<std::size_t>(name - whole.data());
  const std::size_t bar = whole.rfind('|', at);
  if (bar == std::string_view::npos) return Split::kBoth;
  const Split part = split_of(whole.substr(bar, at - bar));
  return part == Split::kValidation ? part : Split::kBoth;
}

/// "train=0.41 val=0.53 loss=1.59": with a loss of its own on the line, the two are accuracies.
bool take_split_accuracy(const Figure& figure, std::vector<LineFigure>& figures) {
  const bool train = figure.name == "train";
  if ((!train && figure.name != "val") || !figure.unit.empty() || figure.percent ||
      !(figure.value >= 0 && figure.value <= 1))
    return false;
  figures.push_back({Kind::kCell, train ? Metric::kTrainAccuracy : Metric::kValAccuracy, 1,
                     figure.value, false, 0, false});
  return true;
}

}  // namespace

void line_figures(std::string_view text, std::string_view whole, const LinePlace& place,
                  MetricCache& metrics, std::vector<LineFigure>& figures) {
  if (!place.within) {
    if (const auto mean = mean_epoch_time(whole)) {
      figures.push_back(*mean);
      return;
    }
  }
  Split split = split_of(whole);
  if (split == Split::kNone && !place.marked) split = place.above;
  LinePlace own_place = place;
  own_place.has_rare = contains_any<"best", "Best", "BEST", "err">(whole);
  own_place.saves =
      contains_any<"aved ", "aving ", "heckpoint", "oaded ", "oading ", "esum">(whole);
  const bool test = split != Split::kTrain && contains_any<"est", "EST">(whole);
  const bool mixed = split == Split::kValidation || split == Split::kBoth;
  const char* validation = mixed ? first_validation_word(whole) : nullptr;
  const char* first_number = nullptr;
  const bool accuracies = place.marked && !place.within && contains(text, "train=") &&
                          contains(text, "val=") && contains(text, " loss=");
  for_each_figure(text, [&](const Figure& figure) {
    if (first_number == nullptr) first_number = figure.after.data();
    if (accuracies && take_split_accuracy(figure, figures)) return;
    // "loss=1.2 val_acc=0.7": a figure before the first word of validation is one of training, one
    // after it may be of either.
    Split own = split;
    if (validation != nullptr && validation >= text.data() && first_number < validation)
      own = figure.after.data() < validation ? Split::kTrain
                                             : split_of_part(whole, figure.after.data());
    take_figure(figure, own, test, own_place, metrics, figures);
  });
  // "accuracy: 78.5%; precision: 79.1%; recall: ..." below the epochs is what an evaluation prints.
  if (split == Split::kNone && !place.marked && contains_any<"recall", "Recall", "FB1">(whole))
    std::erase_if(figures, [](const LineFigure& figure) {
      return figure.kind == Kind::kCell && figure.metric == Metric::kTrainAccuracy;
    });
  if (own_place.has_rare && split != Split::kValidation) {
    const Metric best = best_of(whole);
    std::erase_if(figures, [&](const LineFigure& figure) {
      return is_beside_its_best(figure, best, place.marked);
    });
  }
  if (!place.within) named_ratio(text, split, test, figures);
}

std::string figure_words(const LineFigure& figure) {
  switch (figure.kind) {
    case Kind::kEpochTime:
      return fmt::format("epoch time {:.6g} s", figure.value);
    case Kind::kLooseTime:
      return fmt::format("time {:.6g} s of the epoch above or of the run", figure.value);
    case Kind::kMeanEpochTime:
      return fmt::format("time per epoch {:.6g} s", figure.value);
    case Kind::kTotalTime:
      return fmt::format("total time {:.6g} s", figure.value);
    case Kind::kStepTime:
      return fmt::format("step time {:.6g} s", figure.value);
    case Kind::kRate:
      return fmt::format("throughput {:.6g} examples/s", figure.value);
    case Kind::kRatePerWorker:
      return fmt::format("throughput per worker {:.6g} examples/s", figure.value);
    case Kind::kTokenRate:
      return fmt::format("{:.6g} tokens/s", figure.value);
    case Kind::kClock:
      return fmt::format("clock at {:.6g} s", figure.value);
    case Kind::kOtherLoss:
      return fmt::format("{} {:.6g}", figure.name, figure.value);
    case Kind::kCell:
      break;
  }
  const std::string_view unit = figure.percent ? " %" : "";
  switch (figure.metric) {
    case Metric::kTrainLoss:
      return fmt::format("train loss {:.6g}{}", figure.value, unit);
    case Metric::kTrainAccuracy:
      return fmt::format("train accuracy {:.6g}{}", figure.value, unit);
    case Metric::kValLoss:
      return fmt::format("{} loss {:.6g}{}", figure.rank >= 4 ? "test" : "validation", figure.value,
                         unit);
    case Metric::kValAccuracy:
      return fmt::format("{} accuracy {:.6g}{}", figure.rank >= 4 ? "test" : "validation",
                         figure.value, unit);
    case Metric::kLearningRate:
      return fmt::format("learning rate {:.6g}", figure.value);
    default:
      return "figure";
  }
}

}  // namespace lockstep::import
