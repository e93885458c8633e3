#include <fmt/format.h>

#include <algorithm>

#include "lockstep/base/error.h"
#include "lockstep/predict/backtest.h"
#include "lockstep/report/page/views.h"
#include "lockstep/report/study_columns.h"

namespace lockstep::report {
namespace {

using predict::HeldOut;

Table held_out_table(const std::vector<HeldOut>& held_out) {
  TableBuilder<HeldOut> builder;
  builder
      .column({"series", "", "series", Align::kLeft, ""},
              [](const HeldOut& one) { return Cell(one.series); })
      .column({"N", "", "workers", Align::kRight, "the largest count, held out"},
              [](const HeldOut& one) { return decimal(one.actual.workers, 0); })
      .column({"measured", "work/s", "measured_rate", Align::kRight,
               "examples, epochs or runs per second, by what the series tells"},
              [](const HeldOut& one) { return four_digits(one.actual.rate); })
      .column({"predicted", "work/s", "predicted_rate", Align::kRight,
               "from the other counts of the series"},
              [](const HeldOut& one) { return four_digits(one.predicted.rate); })
      .column({"low", "work/s", "low_rate", Align::kRight, "of the 90 % interval"},
              [](const HeldOut& one) { return four_digits(one.predicted.low); })
      .column({"high", "work/s", "high_rate", Align::kRight, "of the 90 % interval"},
              [](const HeldOut& one) { return four_digits(one.predicted.high); })
      .column({"error", "%", "error_percent", Align::kRight, "(predicted - measured) / measured"},
              [](const HeldOut& one) {
                return decimal(100 * (one.predicted.rate / one.actual.rate - 1), 1);
              })
      .column({"held", "", "held", Align::kLeft, "whether the interval holds the measurement"},
              [](const HeldOut& one) {
                return Cell(one.actual.rate >= one.predicted.low &&
                                    one.actual.rate <= one.predicted.high
                                ? "yes"
                                : "no");
              });
  return builder.build("Largest counts, predicted from the others", held_out);
}

LineChart scatter(const std::vector<HeldOut>& held_out) {
  LineChart chart;
  chart.x = {"measured", "work/s", Scale::kLog, false};
  chart.y = {"predicted", "work/s", Scale::kLog, false};
  Series inside{"interval holds", Role::kPredicted, false, {}};
  Series outside{"interval misses", Role::kPredicted, false, {}};
  double low = held_out.front().actual.rate;
  double high = low;
  for (const HeldOut& one : held_out) {
    const double actual = one.actual.rate;
    const bool holds = actual >= one.predicted.low && actual <= one.predicted.high;
    (holds ? inside : outside)
        .points.push_back({actual, one.predicted.rate, one.predicted.low, one.predicted.high,
                           fmt::format("{}, N = {:g}", one.series, one.actual.workers)});
    low = std::min({low, actual, one.predicted.rate});
    high = std::max({high, actual, one.predicted.rate});
  }
  chart.series = {std::move(inside), std::move(outside)};
  chart.series.push_back(
      {"perfect",
       Role::kIdeal,
       true,
       {{low / 1.3, low / 1.3, {}, {}, ""}, {high * 1.3, high * 1.3, {}, {}, ""}}});
  return chart;
}

}  // namespace

View backtest_view(const PageContext& context) {
  View view{"backtest", "Prediction against measurement",
            "A backtest needs a series of two worker counts or more: the largest is predicted from "
            "the others."};
  const auto held_out = predict::hold_out_largest(predict::learning_series(context.source.series),
                                                  predict::shipped_prior(), false);
  if (held_out.empty()) return view;
  const predict::Backtest result = predict::summarize_backtest(held_out);
  view.add({"backtest",
            "Largest worker count of each series, predicted from the others",
            fmt::format("{} series. The median error is {:.1f} %; the 90 % intervals hold {:.0f} % "
                        "of the measurements. On the dotted line prediction and measurement agree.",
                        result.series, 100 * result.ours.median, 100 * result.coverage),
            "",
            "",
            scatter(held_out),
            {held_out_table(held_out)}});
  return view;
}

}  // namespace lockstep::report
