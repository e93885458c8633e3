#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "lockstep/analyze/quality.h"
#include "lockstep/report/page/views.h"
#include "lockstep/report/study_tables.h"

namespace lockstep::report {
namespace {

using analyze::Configuration;

constexpr std::size_t kMostCurvePoints = 128;

std::string spoken(const std::string& metric) {
  return metric == "noise_scale" ? "gradient noise scale" : analyze::quality_name(metric);
}

std::string curve_name(const Configuration& c, bool several_models) {
  std::string name = several_models ? c.model + ", " : "";
  name += c.label();
  return c.variant.empty() ? name : name + ", " + c.variant;
}

double metric_of(const record::EpochResult& epoch, const std::string& metric) {
  if (metric == "train_loss") return epoch.train_loss;
  if (metric == "train_accuracy") return epoch.train_accuracy;
  if (metric == "val_loss") return epoch.val_loss;
  if (metric == "val_accuracy") return epoch.val_accuracy;
  if (metric == "noise_scale") return epoch.noise_scale;
  return record::kUnknown;
}

/// The newest stored run of a configuration, for its wall time; nothing for tables.
const RunDigest* newest_run(const PageContext& context, const Configuration& c) {
  const RunDigest* newest = nullptr;
  for (const RunDigest& digest : context.source.runs) {
    const record::RunSpec& spec = digest.run.started.spec;
    if (spec.recipe == c.model && spec.device == c.device && spec.workers == c.workers &&
        spec.batch_per_worker == c.batch_per_worker && !digest.run.epochs.empty() &&
        (c.variant.empty() ||
         c.variant.find(record::name_of(spec.strategy)) != std::string::npos)) {
      newest = &digest;
    }
  }
  return newest;
}

Series by_epoch(const Configuration& c, const std::string& name, const std::string& metric) {
  Series line{name, Role::kMeasured, true, {}};
  const auto curve = c.curves.find(metric);
  if (curve == c.curves.end()) return line;
  for (const auto& [epoch, value] : curve->second) {
    if (std::isfinite(value))
      line.points.push_back({static_cast<double>(epoch), value, {}, {}, ""});
  }
  return line;
}

/// Against training and validation time since the start: of the newest run where epochs were timed,
/// else epoch x T.
Series by_time(const PageContext& context, const Configuration& c, const std::string& name,
               const std::string& metric) {
  Series line{name, Role::kMeasured, true, {}};
  if (const RunDigest* digest = newest_run(context, c)) {
    double elapsed = 0;
    for (const record::EpochResult& epoch : digest->run.epochs) {
      elapsed += epoch.train_s + (std::isfinite(epoch.val_s) ? epoch.val_s : 0);
      const double value = metric_of(epoch, metric);
      if (std::isfinite(value) && elapsed > 0) {
        line.points.push_back({elapsed, value, {}, {}, fmt::format("epoch {}", epoch.epoch)});
      }
    }
    return line;
  }
  const auto epoch_s = c.value("epoch_time");
  if (!epoch_s) return line;
  line = by_epoch(c, name, metric);
  line.role = Role::kDerived;
  for (Point& point : line.points) {
    point.note = fmt::format("epoch {:g}", point.x);
    point.x *= *epoch_s;
  }
  return line;
}

/// Rings around the epoch from which each curve counts as stable.
void mark_stable(LineChart& chart, std::span<const analyze::QualityPoint> qualities,
                 bool several_models) {
  for (const analyze::QualityPoint& point : qualities) {
    if (!point.epochs_to_stable || !point.stable_by_rule) continue;
    const std::string name = curve_name(point.configuration, several_models);
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      if (chart.series[s].name != name || chart.series[s].role == Role::kLimit) continue;
      Series ring{name, Role::kLimit, false, {}};
      for (const Point& one : chart.series[s].points) {
        if (one.x == *point.epochs_to_stable)
          ring.points.push_back({one.x, one.y, {}, {}, "stable"});
      }
      if (!ring.points.empty()) chart.series.push_back(std::move(ring));
      break;
    }
  }
}

Chart curves_chart(const PageContext& context, const std::string& metric, bool time,
                   bool several_models, std::span<const analyze::QualityPoint> qualities,
                   const analyze::StabilityRule& rule) {
  LineChart chart;
  chart.x =
      time ? Axis{"time", "s", Scale::kLinear, true} : Axis{"epoch", "", Scale::kLinear, false};
  chart.y = metric == "noise_scale" ? Axis{spoken(metric), "examples", Scale::kLog, false}
                                    : Axis{spoken(metric), "", Scale::kLinear, false};
  std::size_t all = 0;
  for (const Configuration& c : context.configurations) {
    const std::string name = curve_name(c, several_models);
    Series line = time ? by_time(context, c, name, metric) : by_epoch(c, name, metric);
    if (line.points.size() < 2) continue;
    ++all;
    if (chart.series.size() < kMostLines) chart.series.push_back(std::move(line));
  }
  const std::size_t drawn = chart.series.size();
  const Table points = points_table("Values of the chart", chart);
  std::string caption =
      time ? "Against training and validation time since the start, of the newest run of each "
             "configuration."
           : "Mean over repeats of each configuration.";
  if (!time && metric == "val_accuracy") {
    mark_stable(chart, qualities, several_models);
    caption += " A ring marks epochs to stable: " + rule.text() + ".";
  }
  if (metric == "noise_scale") {
    caption +=
        " In examples: a larger global batch saves steps while it is far below this value, and "
        "none far above it.";
  }
  if (drawn < all) caption += fmt::format(" {} of {} configurations are drawn.", drawn, all);
  std::string title = fmt::format("{} by {}", spoken(metric), time ? "time" : "epoch");
  title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
  return {fmt::format("{}-by-{}", metric, time ? "time" : "epoch"),
          title,
          caption,
          "curves",
          fmt::format("{} by {}", spoken(metric), time ? "time" : "epoch"),
          std::move(chart),
          {points}};
}

/// What a run of few epochs has to show.
Chart within_epochs(const PageContext& context) {
  LineChart chart;
  chart.x = {"epochs", "", Scale::kLinear, true};
  chart.y = {"training loss", "", Scale::kLinear, false};
  for (const RunDigest* digest : shown_runs(context.source.runs)) {
    Series line{run_title(digest->run.summary), Role::kMeasured, true, {}};
    std::vector<store::CurvePoint> curve = digest->curve;
    while (curve.size() > kMostCurvePoints) curve = store::halved(curve);
    for (const store::CurvePoint& point : curve) {
      if (std::isfinite(point.loss)) line.points.push_back({point.epochs, point.loss, {}, {}, ""});
    }
    if (line.points.size() > 1) chart.series.push_back(std::move(line));
  }
  const Table points = points_table("Values of the chart", chart);
  return {"train_loss-within-epochs",
          "Training loss within epochs",
          fmt::format("As reported during the run: means over equal stretches, at most {} per run. "
                      "The newest run of each configuration.",
                      kMostCurvePoints),
          "curves",
          "training loss within epochs",
          std::move(chart),
          {points}};
}

}  // namespace

View learning_view(const PageContext& context) {
  View view{"learning", "Learning",
            "Losses and accuracies appear once runs report them; curves need them for each epoch."};
  const analyze::StabilityRule& rule = context.source.options.stability;
  const auto qualities = analyze::qualities(context.configurations, rule);
  std::set<std::string> models;
  for (const Configuration& c : context.configurations) models.insert(c.model);
  for (const char* metric :
       {"val_accuracy", "val_loss", "train_loss", "train_accuracy", "noise_scale"}) {
    for (const bool time : {false, true}) {
      view.add(curves_chart(context, metric, time, models.size() > 1, qualities, rule));
    }
  }
  view.add(within_epochs(context));
  view.tables = quality_tables(context.configurations, rule);
  return view;
}

}  // namespace lockstep::report
