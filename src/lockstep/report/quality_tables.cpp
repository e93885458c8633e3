#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lockstep/report/study_columns.h"
#include "lockstep/report/study_tables.h"

namespace lockstep::report {
namespace {

using analyze::Configuration;
using analyze::QualityPoint;

std::string spoken(std::string metric) {
  const std::size_t underscore = metric.find('_');
  if (underscore != std::string::npos) metric[underscore] = ' ';
  return metric;
}

/// The best of all epochs differs from the last in some row; otherwise it has no column.
bool best_matters(const std::vector<QualityPoint>& rows, const std::string& metric) {
  return std::any_of(rows.begin(), rows.end(), [&](const QualityPoint& row) {
    const auto* figure = row.figure(metric);
    return figure != nullptr && plain_digits(figure->best).text != plain_digits(figure->last).text;
  });
}

TableBuilder<QualityPoint> quality_columns(const std::vector<QualityPoint>& rows) {
  TableBuilder<QualityPoint> builder;
  add_configuration_columns<QualityPoint>(
      builder, [](const QualityPoint& row) -> const Configuration& { return row.configuration; });
  for (const std::string& metric : analyze::quality_metrics()) {
    builder.column({spoken(metric), "", metric, Align::kRight, "after the last epoch; measured"},
                   [metric](const QualityPoint& row) {
                     const auto* figure = row.figure(metric);
                     return figure != nullptr ? plain_digits(figure->last) : Cell{};
                   });
    if (!best_matters(rows, metric)) continue;
    builder.column({"best " + spoken(metric), "", "best_" + metric, Align::kRight,
                    "over all epochs; measured"},
                   [metric](const QualityPoint& row) {
                     const auto* figure = row.figure(metric);
                     return figure != nullptr ? plain_digits(figure->best) : Cell{};
                   });
  }
  builder.column({"epochs to stable", "", "epochs_to_stable", Align::kRight,
                  "by the rule below, or as given by the source"},
                 [](const QualityPoint& row) { return plain_digits(row.epochs_to_stable); });
  builder.column({"noise scale", "", "noise_scale", Align::kRight,
                  "gradient noise scale after the last epoch, in examples; measured"},
                 [](const QualityPoint& row) { return plain_digits(row.noise_scale); });
  return builder;
}

}  // namespace

std::vector<Table> quality_tables(std::span<const Configuration> configurations,
                                  const analyze::StabilityRule& rule) {
  std::map<std::pair<std::string, std::string>, std::vector<QualityPoint>> sorted;
  for (QualityPoint& point : analyze::qualities(configurations, rule)) {
    const Configuration& c = point.configuration;
    sorted[{c.model, c.dataset}].push_back(std::move(point));
  }
  std::vector<Table> tables;
  for (const auto& [key, rows] : sorted) {
    const auto& [model, dataset] = key;
    Table table = quality_columns(rows).build(
        "Quality: " + model + (dataset.empty() ? "" : " on " + dataset), rows);
    bool by_rule = false;
    bool given = false;
    for (const QualityPoint& row : rows) {
      if (!row.epochs_to_stable) continue;
      by_rule |= row.stable_by_rule;
      given |= !row.stable_by_rule;
    }
    if (by_rule) table.notes.push_back("epochs to stable: " + rule.text());
    if (given)
      table.notes.push_back("epochs to stable are those of the source where no curve is known");
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace lockstep::report
