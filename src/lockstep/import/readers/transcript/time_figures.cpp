#include "lockstep/import/readers/transcript/time_figures.h"

#include <string>

#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

using Kind = LineFigure::Kind;

double seconds_in(std::string_view unit) {
  if (unit == "ms" || unit == "msec") return 1e-3;
  if (unit == "us") return 1e-6;
  if (unit == "min" || unit == "mins" || unit == "minute" || unit == "minutes") return 60;
  if (unit == "h" || unit == "hr" || unit == "hrs" || unit == "hour" || unit == "hours")
    return 3600;
  const bool seconds = unit.empty() || unit == "s" || unit == "sec" || unit == "secs" ||
                       unit == "second" || unit == "seconds";
  return seconds ? 1 : 0;
}

/// Seconds of a time in several parts, whose first number is taken already: "2m 11s",
/// "1 h 02 min", "2h:47mins:29s", "0:02:11.5". Nothing where the number is all there is.
std::optional<double> compound_seconds(double value, std::string_view after) {
  if (after.starts_with(':') && after.size() > 2 && is_digit(after[1])) {
    double total = value;
    while (after.starts_with(':')) {
      after.remove_prefix(1);
      const auto part = take_number(after);
      if (!part || *part < 0 || *part >= 60) return std::nullopt;
      total = total * 60 + *part;
    }
    return total;
  }
  double total = 0;
  double last = 86400;
  for (bool first = true;; first = false) {
    after = trim(after);
    std::size_t letters = 0;
    while (letters < after.size() && is_letter(after[letters])) ++letters;
    const std::string unit = lower(after.substr(0, letters));
    const double scale = unit == "m" ? 60 : unit == "d" ? 86400 : seconds_in(unit);
    if (letters == 0 || scale == 0 || scale >= last) break;
    total += value * scale;
    last = scale;
    after.remove_prefix(letters);
    std::string_view rest = after;
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == ',' || rest[0] == ':'))
      rest.remove_prefix(1);
    const auto next = !rest.empty() && is_digit(rest[0]) ? take_number(rest) : std::nullopt;
    if (!next)
      return first && scale != 60 && scale != 86400 ? std::nullopt : std::optional<double>(total);
    value = *next;
    after = rest;
  }
  return total > 0 ? std::optional<double>(total) : std::nullopt;
}

/// "-08-28 00:11:31" behind "Time: 2022".
bool is_date(std::string_view after) {
  return after.size() > 5 && after[0] == '-' && is_digit(after[1]) && is_digit(after[2]) &&
         after[3] == '-' && is_digit(after[4]);
}

/// " + 2 = 6 hours" behind "total time: 4": arithmetic that a language model wrote.
bool is_sum(std::string_view after) {
  after = trim(after);
  if (after.size() < 2 || (after[0] != '+' && after[0] != '*')) return false;
  const std::string_view next = trim(after.substr(1));
  return !next.empty() && is_digit(next[0]);
}

/// "[Epoch 0] Training cost: 215.321, CrossEntropy=5.1": the seconds of the epoch as GluonCV's
/// detectors print them. Alone, a cost is a loss as often.
bool is_training_cost(const Figure& figure, std::string_view phrase) {
  if (!phrase.ends_with("training cost") || !figure.after.starts_with(", ")) return false;
  return contains_any<"CrossEntropy=", "SmoothL1=", "ObjLoss=", "RPN_Conf=", "RCNN_Conf=">(
      figure.after.substr(0, 200));
}

}  // namespace

std::optional<double> seconds_per_step(double value, std::string_view unit) {
  if (unit.size() < 4 || !(value > 0)) return std::nullopt;
  if (unit == "it/s" || unit == "steps/s" || unit == "batches/s" || unit == "step/s" ||
      unit == "batch/s" || unit == "iter/s" || unit == "steps/sec" || unit == "it/sec") {
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

std::optional<LineFigure> time_figure(const Figure& figure, std::string_view unit, Split split,
                                      const LinePlace& place) {
  if (is_date(figure.after) || is_sum(figure.after)) return std::nullopt;
  const auto compound = compound_seconds(figure.value, figure.after);
  const double seconds = compound ? *compound : figure.value * seconds_in(unit);
  if (!(seconds > 0)) return std::nullopt;
  const std::string name = lower(figure.phrase);
  // "time: 10:30:15" may be the time of day.
  const bool clock = figure.after.starts_with(':') && seconds >= 3600;
  if (clock && !contains_any<"epoch", "total", "train", "elapsed", "took", "duration">(name))
    return std::nullopt;
  // "step 10 | loss: 4.1 | dt: 251.3ms".
  const bool step_difference =
      place.within && !unit.empty() && (name == "dt" || name.ends_with(" dt"));
  const bool timed = step_difference || name.empty() || contains(name, "time") ||
                     name.ends_with("took") || name.ends_with("duration") ||
                     name.ends_with(" in") || name == "in" || name.ends_with("runtime") ||
                     name.ends_with("wall") ||
                     ((place.marked || contains(name, "total")) && name.ends_with("elapsed")) ||
                     is_training_cost(figure, name);
  if (!timed || (name.empty() && unit.empty())) return std::nullopt;
  if (contains_any<"data", "load", "comm", "mini", "comput", "forward", "backward", "sync",
                   "transfer", "val", "test", "eval", "infer", "wait", "eta", "remain", "left",
                   "cumul", "since", "so far", "self c", "cuda time", "cpu time", "queue", "compil",
                   "start", "stamp", "batch", "sampl">(name)) {
    return std::nullopt;
  }
  if (split == Split::kValidation || names_extreme(name)) return std::nullopt;
  LineFigure found{Kind::kEpochTime, Metric::kEpochTime, 2, seconds, false, 0, false};
  if (step_difference) {
    found.kind = Kind::kStepTime;
    return found;
  }
  const bool each = contains_any<"each epoch", "per epoch", "every epoch">(name);
  if (contains_any<"step", "iter">(name)) {
    found.kind = Kind::kStepTime;
    return found;
  }
  if (place.within) {
    std::string_view bare = name;
    while (!bare.empty() && !is_letter(bare[0])) bare.remove_prefix(1);
    if (bare != "time" && bare != "elapsed") return std::nullopt;
    found.kind = Kind::kClock;
    return found;
  }
  if (contains_any<"average", "avg", "mean">(name)) return std::nullopt;  // of which epochs?
  if (each) {
    found.kind = Kind::kMeanEpochTime;
  } else if (contains(name, "epoch") || contains(name, "running time") || contains(name, "wall")) {
    found.rank = 0;
    if (!place.marked && !contains(name, "epoch")) found.kind = Kind::kLooseTime;
  } else if (contains(name, "total")) {
    found.kind = Kind::kTotalTime;
    found.rank = contains(name, "train") ? 0 : 1;
  } else if (contains(name, "train")) {
    found.rank = 1;
    if (!place.marked) found.kind = Kind::kLooseTime;
    found.closes = contains_any<"training complete", "training finished", "finished training",
                                "completed training">(name);
  } else if (!place.marked) {
    if (!name.ends_with("elapsed time") && !name.ends_with("time elapsed")) return std::nullopt;
    found.kind = Kind::kLooseTime;
    found.elapsed = true;
  }
  return found;
}

namespace {

/// Where the value of "average time per epoch" stands: behind the first ":" or "=" whose words name
/// it, in "12:30:05 Average epoch time: 4.5 s, total time: 45 s" the one before 4.5.
std::size_t sign_after_mean(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' || text[i] == ';' || text[i] == '|') begin = i + 1;
    if (text[i] != ':' && text[i] != '=') continue;
    const std::string_view words = text.substr(begin, i - begin);
    if (contains_any<"verage", "each", "per", "avg", "mean">(words) && contains(words, "epoch") &&
        contains(words, "time"))
      return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<LineFigure> mean_epoch_time(std::string_view whole) {
  if (!contains_any<"verage", "each", "per", "AVG", "Avg", "avg", "Mean", "mean">(whole))
    return std::nullopt;
  const std::string text = lower(whole);
  if (!contains(text, "epoch") || !contains(text, "time")) return std::nullopt;
  if (contains_any<"data", "load", "comm", "val", "test", "eval", "loss", "acc">(text))
    return std::nullopt;
  const std::size_t at = sign_after_mean(text);
  if (at == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(text).substr(at + 1);
  const auto value = take_number(rest);
  rest = trim(rest);
  for (const std::string_view sign : {"±", "+/-", "+-"}) {  // "19.53 ± 0.63 s"
    if (!rest.starts_with(sign)) continue;
    rest = trim(rest.substr(sign.size()));
    if (!take_number(rest)) return std::nullopt;
    rest = trim(rest);
  }
  const std::string_view unit = rest.substr(0, rest.find_first_of(" ,;("));
  const auto compound = value ? compound_seconds(*value, rest) : std::nullopt;
  const double seconds = compound ? *compound : value ? *value * seconds_in(unit) : 0;
  if (!(seconds > 0)) return std::nullopt;
  // "training" may be a part of the epoch; a script that prints both names shows it elsewhere.
  const int rank = contains(text, "training time") ? 1 : 0;
  return LineFigure{Kind::kMeanEpochTime, Metric::kEpochTime, rank, seconds, false, 0, false};
}

}  // namespace lockstep::import
