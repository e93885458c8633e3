#include "lockstep/import/reported_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostExplained = 100'000;
constexpr std::size_t kLongestExplained = 64 * 1024;
constexpr std::size_t kMostMeanings = 8;
/// From the unit of a figure to that of the file: the same, percent or per mille, milliseconds,
/// microseconds, minutes, hours; a rate as the time of one.
constexpr std::array<double, 6> kUnits{1, 100, 1e3, 1e6, 1.0 / 60, 1.0 / 3600};

/// The units in which the figure may be printed: a learning rate of 0.02 is no 2 of any other line.
std::span<const double> units_of(std::string_view words) {
  const bool plain = words.ends_with("loss") || words.ends_with("learning rate");
  return std::span(kUnits).first(plain ? 1 : words.ends_with("accuracy") ? 2 : kUnits.size());
}

std::string note_on(const ImportedRun& run, const std::string& name) {
  const auto found = run.notes.find(name);
  return found == run.notes.end() ? "" : found->second;
}

bool same(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

/// The line without "2019-08-27 10:50:25,453" near its front, whose numbers measure nothing.
std::string without_time_of_day(std::string_view line) {
  std::string text(line);
  const std::size_t dash = line.substr(0, 64).find('-');
  if (dash == std::string_view::npos || dash < 4) return text;
  const std::size_t begin = dash - 4;
  if (!parse_wall_time(line.substr(begin))) return text;
  std::size_t end = std::min(begin + 19, line.size());  // "2019-08-27 10:50:25"
  if (end < line.size() && (line[end] == ',' || line[end] == '.')) ++end;
  while (end < line.size() && is_digit(line[end])) ++end;
  return text.replace(begin, end - begin, " ");
}

/// Calls take(number, bare) for each number of the text, durations in seconds among them.
template <class Take>
void for_each_number(std::string_view text, Take&& take) {
  for (std::size_t i = 0; i < text.size();) {
    const bool digit = is_digit(text[i]);
    const bool sign = text[i] == '-' && i + 1 < text.size() && is_digit(text[i + 1]);
    if (!digit && !sign) {
      ++i;
      continue;
    }
    const std::size_t stop = std::min(text.find_first_of(" ,;|)]\t\n", i), text.size());
    const std::string_view token = text.substr(i, stop - i);
    if (const auto seconds = parse_duration(token)) take(*seconds, false);
    // " -6s": a dash and a time.
    if (const auto seconds = sign ? parse_duration(token.substr(1)) : std::nullopt)
      take(*seconds, false);
    // In "4,134.50" of a table the comma stands between two numbers, in prose it groups digits.
    std::string_view rest = text.substr(i);
    const auto grouped = take_number(rest);
    rest = token;
    const auto value = take_number(rest);
    if (grouped && grouped != value) take(*grouped, false);
    const bool whole =
        value && *value == std::floor(*value) &&
        token.substr(0, token.size() - rest.size()).find(".0") == std::string_view::npos;
    // A whole number with nothing to it counts something as often as it measures.
    if (value) take(*value, whole && (rest.empty() || !is_letter(rest[0])));
    if (value && rest.starts_with('/')) {  // "9834/10000"
      std::string_view second = rest.substr(1);
      const auto of = take_number(second);
      if (of && *of != 0) take(*value / *of, false);
    }
    if (value && (rest == "m" || rest == "min" || rest == "h")) {  // "1m 12.5s"
      std::string_view next = text.substr(stop);
      const auto more = take_number(next);
      if (more) take(*value * (rest == "h" ? 3600 : 60) + *more * (rest == "h" ? 60 : 1), false);
    }
    const std::string_view below = trim(text.substr(stop));
    if (below.starts_with("hour") || below.starts_with("minute")) {
      if (const auto seconds = spelt_seconds(text.substr(i))) take(*seconds, false);
    }
    rest = text.substr(stop - rest.size());
    const std::size_t used = text.size() - i - rest.size();
    i += std::max<std::size_t>(used, 1);
  }
}

/// How the figures of epochs were derived; empty where they are printed.
struct OutcomeNotes {
  std::string train_loss;
  std::string train_accuracy;
  std::string val_accuracy;
};

class FigureList {
 public:
  void add(std::string words, double value, std::string derivation = "") {
    if (std::isfinite(value) && value != 0)
      figures_.push_back({std::move(words), value, std::move(derivation)});
  }

  void outcome(const record::EpochResult& epoch, const std::string& where,
               const OutcomeNotes& from) {
    add(where + "train loss", epoch.train_loss, from.train_loss);
    add(where + "train accuracy", epoch.train_accuracy, from.train_accuracy);
    add(where + "validation loss", epoch.val_loss);
    add(where + "validation accuracy", epoch.val_accuracy, from.val_accuracy);
    add(where + "learning rate", epoch.learning_rate);
  }

  void series(const char* words, const Series& series, const std::string& derivation) {
    for (const Series::Point& point : series.sample()) add(words, point.value, derivation);
  }

  std::vector<ReportedFigure> take() { return std::move(figures_); }

 private:
  std::vector<ReportedFigure> figures_;
};

}  // namespace

std::vector<ReportedFigure> reported_figures(const ImportedRun& run) {
  FigureList list;
  const OutcomeNotes from{note_on(run, "train_loss"), note_on(run, "train_accuracy"),
                          note_on(run, "val_accuracy")};
  for (const record::EpochResult& epoch : run.epochs) {
    const std::string where = fmt::format("epoch {}: ", epoch.epoch);
    list.outcome(epoch, where, from);
    list.add(where + "epoch time", epoch.train_s, note_on(run, "epoch_time"));
    const bool counted = epoch.examples > 0 && epoch.train_s > 0;
    list.add(where + "examples/s", epoch.examples_per_s, counted ? "examples / epoch time" : "");
  }
  if (run.at_end) list.outcome(*run.at_end, "at the end: ", from);
  if (run.epoch_s) list.add("time per epoch", *run.epoch_s);
  if (run.total_s) list.add("total time", *run.total_s, note_on(run, "total_time"));
  if (run.reported_throughput) list.add("examples/s", *run.reported_throughput);
  for (const auto& [name, value] : run.reported) list.add(name, value);
  const std::string step_from = note_on(run, "step_time");
  list.series("step time", run.step_time,
              step_from.empty() ? note_on(run, "step_time_from") : step_from);
  list.series("examples/s", run.throughput, note_on(run, "throughput"));
  list.series("examples/s of one worker", run.throughput_per_worker, "");
  list.series("train loss within an epoch", run.train_loss, "");
  for (const auto& [name, series] : run.other)
    list.series(name.c_str(), series, note_on(run, name));
  const auto count = [&](const char* words, const Fact<std::int64_t>& fact) {
    if (fact && fact.from == Provenance::kLog) list.add(words, static_cast<double>(*fact));
  };
  count("batch per worker", run.batch_per_worker);
  count("global batch", run.global_batch);
  count("examples", run.examples);
  return list.take();
}

PrintedNumbers::PrintedNumbers(std::string_view text) {
  for_each_number(text, [&](double value, bool) {
    if (value != 0 && std::isfinite(value)) sorted_.push_back(value);
  });
  std::sort(sorted_.begin(), sorted_.end());
}

bool PrintedNumbers::has(double figure) const {
  return std::any_of(kUnits.begin(), kUnits.end(), [&](double unit) {
    for (const double wanted : {figure * unit, unit == 1 ? 1 / figure : figure * unit}) {
      const double slack = 1e-9 * std::abs(wanted);
      const auto near = std::lower_bound(sorted_.begin(), sorted_.end(), wanted - slack);
      if (near != sorted_.end() && *near <= wanted + slack) return true;
    }
    return false;
  });
}

std::vector<ExplainedLine> explain_by_value(std::string_view text,
                                            const std::vector<ImportedRun>& runs) {
  struct Meaning {
    double value;
    std::size_t run;
    std::string words;
  };
  std::vector<Meaning> meanings;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (ReportedFigure& figure : reported_figures(runs[i])) {
      if (!figure.derivation.empty() || meanings.size() >= kMostExplained) continue;
      for (const double unit : units_of(figure.words)) {
        const std::string also = unit == 1 ? "" : fmt::format(" = {:.6g}", figure.value);
        meanings.push_back({figure.value * unit, i, figure.words + also});
      }
    }
  }
  std::stable_sort(meanings.begin(), meanings.end(),
                   [](const Meaning& a, const Meaning& b) { return a.value < b.value; });
  std::vector<ExplainedLine> lines;
  std::uint64_t number = 0;
  while (!text.empty() && lines.size() < kMostExplained) {
    const std::size_t stop = text.find('\n');
    const std::string_view line = text.substr(0, stop);
    text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
    ++number;
    if (line.size() > kLongestExplained) continue;
    const std::string untimed = without_time_of_day(line);
    ExplainedLine explained{number, printable(line, 200), 0, ""};
    std::size_t shown = 0;
    for_each_number(untimed, [&](double value, bool bare) {
      if (bare) return;
      auto found = std::lower_bound(
          meanings.begin(), meanings.end(), value - 1e-9 * std::abs(value),
          [](const Meaning& meaning, double wanted) { return meaning.value < wanted; });
      if (found == meanings.end() || !same(found->value, value) || shown == kMostMeanings) return;
      if (explained.words.find(found->words) != std::string::npos) return;
      explained.words += (shown++ == 0 ? "" : ", ") + found->words;
      explained.part = found->run;
    });
    if (shown > 0) lines.push_back(std::move(explained));
  }
  return lines;
}

}  // namespace lockstep::import
