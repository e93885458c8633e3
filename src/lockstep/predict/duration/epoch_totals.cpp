#include "lockstep/predict/duration/epoch_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/base/statistics.h"
#include "lockstep/base/units.h"

namespace lockstep::predict {
namespace {

constexpr double kEpochNoise = 0.01;
/// Of a run's length, per doubling beyond the longest that was measured.
constexpr double kDriftPerDoubling = 0.03;
/// Of a measured total that is scaled to another number of epochs: the part that may not scale.
constexpr double kLargestFixedPart = 0.2;

Estimate around(double value, double relative) {
  return {value, value / (1 + relative), value * (1 + relative)};
}

/// Totals by epochs of the runs on as many workers; repeats as their median.
std::map<std::int64_t, double> lengths(const std::vector<WholeRun>& runs, double workers) {
  std::map<std::int64_t, std::vector<double>> all;
  for (const WholeRun& run : runs) {
    if (run.workers == workers && run.epochs > 0 && run.seconds > 0) {
      all[run.epochs].push_back(run.seconds);
    }
  }
  std::map<std::int64_t, double> result;
  for (const auto& [epochs, seconds] : all) result[epochs] = median(seconds);
  return result;
}

/// Relative, of a measured total: what repeats show, at least that of an undisturbed machine.
double noise_of_totals(const std::vector<WholeRun>& runs) {
  double noise = kEpochNoise;
  for (const WholeRun& run : runs) noise = std::max(noise, run.spread);
  return noise;
}

std::optional<TotalTime> on_the_line(const std::map<std::int64_t, double>& known,
                                     std::int64_t epochs, double noise) {
  if (known.size() < 2) return std::nullopt;
  const auto& [few, short_s] = *known.begin();
  const auto& [many, long_s] = *known.rbegin();
  const double each = (long_s - short_s) / static_cast<double>(many - few);
  const double value = short_s + each * static_cast<double>(epochs - few);
  if (!(each > 0) || !(value > 0)) return std::nullopt;
  const double beyond =
      std::max(0.0, std::log2(static_cast<double>(epochs) / static_cast<double>(many)));
  TotalTime total;
  total.seconds = around(value, kNormal90 * noise + kDriftPerDoubling * beyond);
  total.because = fmt::format(
      "total time: runs of {} and {} epochs on the same number of workers give {} per epoch and {} "
      "once",
      few, many, format_seconds(Seconds(each)),
      format_seconds(Seconds(std::max(short_s - each * static_cast<double>(few), 0.0))));
  return total;
}

/// What runs took beyond their epochs, for a run of `epochs`: those on as many workers, else all.
std::optional<Estimate> overhead(const std::vector<WholeRun>& runs, const TotalQuestion& question) {
  std::vector<double> here;
  std::vector<double> anywhere;
  double ratio = 1;
  for (const WholeRun& run : runs) {
    if (!run.epoch_s || run.epochs < 1) continue;
    const double spent = run.seconds - static_cast<double>(run.epochs) * *run.epoch_s;
    anywhere.push_back(std::max(spent, 0.0));
    if (run.workers == question.workers) here.push_back(anywhere.back());
    ratio = static_cast<double>(question.epochs) / static_cast<double>(run.epochs);
  }
  const std::vector<double>& seen = here.empty() ? anywhere : here;
  if (seen.empty()) return std::nullopt;
  const Summary summary = summarize(seen);
  // Whether it recurs with the epochs is a guess unless as many were run: the interval covers both.
  return Estimate{summary.median * (question.overhead_grows ? ratio : 1),
                  0.9 * summary.minimum * std::min(ratio, 1.0),
                  1.1 * summary.maximum * std::max(ratio, 1.0)};
}

TotalTime from_epochs(const Estimate& epoch, const TotalQuestion& question,
                      const std::optional<Estimate>& once) {
  TotalTime total;
  const bool first = question.first_epoch_only && question.epochs > 1;
  total.from_epochs = !first;
  total.seconds =
      first ? total_from_first_epoch(epoch, question.epochs, question.where)
            : mapped(epoch, [&](double s) { return s * static_cast<double>(question.epochs); });
  if (first) {
    total.because =
        "total time: only first epochs were measured, so how much of an epoch is warm-up cannot be "
        "determined; a run of two epochs would show it";
  } else {
    total.because = "total time: epochs alone; start-up and validation were not measured";
  }
  if (!once) return total;
  total.seconds = {total.seconds.value + once->value, total.seconds.low + once->low,
                   total.seconds.high + once->high};
  const std::string beside =
      fmt::format("start-up and validation of {} ({} to {}), as in whole runs",
                  format_seconds(Seconds(once->value)), format_seconds(Seconds(once->low)),
                  format_seconds(Seconds(once->high)));
  total.because = first ? total.because + "; with " + beside : "total time: epochs and " + beside;
  return total;
}

}  // namespace

std::optional<TotalTime> predict_total(const std::vector<WholeRun>& runs,
                                       const TotalQuestion& question) {
  const std::map<std::int64_t, double> known = lengths(runs, question.workers);
  const double noise = noise_of_totals(runs);
  if (const auto same = known.find(question.epochs); same != known.end()) {
    return TotalTime{around(same->second, kNormal90 * noise), true, false, ""};
  }
  if (auto line = on_the_line(known, question.epochs, noise)) return line;
  if (question.epoch_s) return from_epochs(*question.epoch_s, question, overhead(runs, question));
  if (known.empty()) return std::nullopt;
  const auto& [epochs, seconds] = *known.begin();
  if (epochs == 1) {
    TotalQuestion first = question;
    first.first_epoch_only = true;
    return from_epochs(around(seconds, kNormal90 * noise), first, std::nullopt);
  }
  const double ratio = static_cast<double>(question.epochs) / static_cast<double>(epochs);
  const double fixed = seconds * (kLargestFixedPart + (1 - kLargestFixedPart) * ratio);
  const double value = seconds * ratio;
  return TotalTime{
      {value, std::min(value, fixed) / (1 + kNormal90 * noise),
       std::max(value, fixed) * (1 + kNormal90 * noise)},
      false,
      false,
      fmt::format("total time: scaled from runs of {} epochs; how much of their time is "
                  "start-up cannot be determined; a run of another length would show it",
                  epochs)};
}

}  // namespace lockstep::predict
