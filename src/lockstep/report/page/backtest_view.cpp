#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/predict/backtest.h"
#include "lockstep/report/page/views.h"
#include "lockstep/report/prediction_tables.h"
#include "lockstep/report/study_columns.h"

namespace lockstep::report {
namespace {

/// A held-out count as speedups over the smallest count of its series: rates of one series are
/// examples, of another epochs per second, and only quotients fit on one chart.
struct Trial {
  std::string series;
  double baseline_workers = 1;
  double workers = 1;
  double measured = 0;
  double predicted = 0;
  double low = 0;
  double high = 0;

  bool held() const { return measured >= low && measured <= high; }
};

/// `held_out` follows the order of the series and leaves some out.
std::vector<Trial> trials_of(const std::vector<predict::TableSeries>& series,
                             const std::vector<predict::HeldOut>& held_out) {
  std::vector<Trial> trials;
  auto one = held_out.begin();
  for (const predict::TableSeries& table : series) {
    if (one == held_out.end()) break;
    if (table.series.points.size() < 2 || table.series.name != one->series) continue;
    const predict::ScalingPoint& first = table.series.points.front();
    trials.push_back({one->series, first.workers, one->actual.workers,
                      one->actual.rate / first.rate, one->predicted.rate / first.rate,
                      one->predicted.low / first.rate, one->predicted.high / first.rate});
    ++one;
  }
  return trials;
}

Table trials_table(const std::vector<Trial>& trials) {
  TableBuilder<Trial> builder;
  builder
      .column({"series", "", "series", Align::kLeft, ""},
              [](const Trial& one) { return Cell(one.series); })
      .column({"N0", "", "baseline_workers", Align::kRight, "the smallest count of the series"},
              [](const Trial& one) { return decimal(one.baseline_workers, 0); })
      .column({"N", "", "workers", Align::kRight, "the largest count, held out"},
              [](const Trial& one) { return decimal(one.workers, 0); })
      .column({"measured", "", "measured_speedup", Align::kRight, "speedup over N0"},
              [](const Trial& one) { return four_digits(one.measured); })
      .column({"predicted", "", "predicted_speedup", Align::kRight,
               "speedup over N0, from the other counts of the series"},
              [](const Trial& one) { return four_digits(one.predicted); })
      .column({"low", "", "low_speedup", Align::kRight, "of the 90 % interval"},
              [](const Trial& one) { return four_digits(one.low); })
      .column({"high", "", "high_speedup", Align::kRight, "of the 90 % interval"},
              [](const Trial& one) { return four_digits(one.high); })
      .column({"error", "%", "error_percent", Align::kRight, "(predicted - measured) / measured"},
              [](const Trial& one) { return decimal(100 * (one.predicted / one.measured - 1), 1); })
      .column({"held", "", "held", Align::kLeft, "whether the interval covers the measurement"},
              [](const Trial& one) { return Cell(one.held() ? "yes" : "no"); });
  return builder.build("Largest counts, predicted from the others", trials);
}

LineChart scatter(const std::vector<Trial>& trials) {
  LineChart chart;
  chart.x = {"measured speedup", "", Scale::kLog, false};
  chart.y = {"predicted speedup", "", Scale::kLog, false};
  Series inside{"interval covers", Role::kPredicted, false, {}};
  Series outside{"interval misses", Role::kPredicted, false, {}};
  double low = trials.front().measured;
  double high = low;
  for (const Trial& one : trials) {
    (one.held() ? inside : outside)
        .points.push_back({one.measured, one.predicted, one.low, one.high,
                           fmt::format("{}: {:g} over {:g} workers", one.series, one.workers,
                                       one.baseline_workers)});
    low = std::min({low, one.measured, one.low});
    high = std::max({high, one.measured, one.high});
  }
  // The line spans all there is, so that both axes are the same and agreement is the diagonal.
  const Series agreement{
      "agreement", Role::kIdeal, true, {{low, low, {}, {}, ""}, {high, high, {}, {}, ""}}};
  chart.series = {std::move(inside), std::move(outside), agreement};
  chart.fixed_series = true;
  return chart;
}

/// Fewer held-out counts than this say nothing about coverage.
constexpr std::size_t kEnoughTrials = 10;

Series coverage_line(std::string name, const predict::Calibration& covered) {
  Series line{std::move(name), Role::kMeasured, true, {}};
  for (std::size_t i = 0; i < covered.size(); ++i) {
    line.points.push_back({10.0 * static_cast<double>(i + 1), 100 * covered[i], {}, {}, ""});
  }
  return line;
}

Chart calibration_chart(const predict::Backtest& own) {
  const predict::Prior& prior = predict::shipped_prior();
  LineChart chart;
  chart.x = {"stated probability", "%", Scale::kLinear, true};
  chart.y = {"covered", "%", Scale::kLinear, true};
  chart.series.push_back(coverage_line(prior.provenance, prior.covered));
  if (own.series >= kEnoughTrials) {
    chart.series.push_back(coverage_line("series of this page", own.covered));
  }
  chart.series.push_back(
      {"agreement", Role::kIdeal, true, {{0, 0, {}, {}, ""}, {100, 100, {}, {}, ""}}});
  Chart result{
      "calibration",
      "How often intervals cover the measurement",
      fmt::format("Intervals of 10 % to 90 % around the prediction of the largest count, "
                  "and the fraction of the measurements that they cover: {}, each predicted "
                  "without data from its source. Below the dotted line intervals are too "
                  "narrow, above it too wide.",
                  prior.provenance),
      "",
      "",
      chart};
  result.tables = {points_table("Values of the chart", chart)};
  return result;
}

/// The predictor beside every textbook form: over all series, and over those of one kind of scaling
/// or one source where there are several.
std::vector<Table> comparison_tables(const std::vector<predict::HeldOut>& held_out,
                                     const predict::Backtest& result) {
  std::vector<Table> tables{
      backtest_table(result, "Errors of the predictor and of textbook forms")};
  const std::pair<const char*, std::string predict::HeldOut::*> parts[] = {
      {"kind", &predict::HeldOut::kind}, {"source", &predict::HeldOut::source}};
  for (const auto& [name, part_of] : parts) {
    const auto by = predict::backtest_by(held_out, part_of);
    if (by.size() < 2) continue;
    tables.push_back(backtest_parts_table(by, name));
    tables.back().title = fmt::format("The same by {}", name);
  }
  return tables;
}

}  // namespace

View backtest_view(const PageContext& context) {
  View view{"backtest", "Prediction against measurement",
            "A backtest needs a series of two worker counts or more: the largest is predicted from "
            "the others."};
  const auto held_out = predict::hold_out_largest(predict::learning_series(context.series),
                                                  predict::shipped_prior(), true);
  const std::vector<Trial> trials = trials_of(context.series, held_out);
  if (trials.empty()) return view;
  const predict::Backtest result = predict::summarize_backtest(held_out);
  std::vector<Table> tables = comparison_tables(held_out, result);
  tables.insert(tables.begin(), trials_table(trials));
  view.add({"backtest", "Largest worker count of each series, predicted from the others",
            fmt::format("{} series, as speedups over their smallest count. The median error is "
                        "{:.1f} %; the 90 % intervals cover {:.0f} % of the measurements. On the "
                        "dotted line prediction and measurement agree.",
                        result.series, 100 * result.ours.median, 100 * result.coverage),
            "", "", scatter(trials), std::move(tables)});
  view.add(calibration_chart(result));
  return view;
}

}  // namespace lockstep::report
