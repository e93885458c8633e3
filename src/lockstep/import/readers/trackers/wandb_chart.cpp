#include "lockstep/import/readers/readers.h"

#include <cmath>
#include <map>
#include <string>

#include "lockstep/import/model/epoch_means.h"
#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/model/name_facts.h"
#include "lockstep/import/scan/csv_rows.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// "resnet-4gpu - train/loss" -> run and metric. The metric has no " - " in it, the run may.
struct Column {
  std::string run;
  std::string metric;
};

std::optional<Column> chart_column(std::string_view name) {
  if (name.ends_with("__MIN") || name.ends_with("__MAX")) return std::nullopt;
  const std::size_t gap = name.rfind(" - ");
  if (gap == std::string_view::npos || gap == 0) return std::nullopt;
  const std::string_view metric = trim(name.substr(gap + 3));
  if (metric.empty() || metric[0] == '_') return std::nullopt;  // "_step", "_runtime": other axes
  return Column{std::string(trim(name.substr(0, gap))), std::string(metric)};
}

/// "Step", "epoch", "Relative Time (Process)": what charts are drawn over.
bool is_axis(std::string_view name) {
  const std::string lowered = lower(name);
  return !name.empty() && is_letter(name[0]) &&
         (contains(lowered, "step") || contains(lowered, "epoch") || contains(lowered, "time") ||
          contains(lowered, "iter") || contains(lowered, "batch"));
}

struct ChartRun {
  ImportedRun run;
  EpochMeans means;
  std::optional<double> last_x;
};

class WandbChartReader final : public Reader {
 public:
  std::string_view name() const override { return "wandb-chart"; }
  std::string_view description() const override {
    return "Weights & Biases chart export: Step, \"run - metric\", __MIN, __MAX columns";
  }

  Match recognise(const Sample& sample) const override {
    const std::vector<std::string> header = csv_header(sample.text);
    if (header.size() < 2) return Match::kNo;
    std::size_t charts = 0;
    bool range = false;
    for (std::size_t i = 1; i < header.size(); ++i) {
      charts += chart_column(header[i]).has_value();
      range = range || header[i].ends_with("__MIN");
    }
    if (charts == 0) return Match::kNo;
    if (range) return Match::kCertain;
    return is_axis(header[0]) ? Match::kLikely : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    CsvRows rows(input);
    std::vector<std::string_view> fields;
    if (!rows.next(fields)) return;
    const bool by_epoch = contains(lower(fields[0]), "epoch");
    const bool by_time = contains(lower(fields[0]), "time");
    const std::string axis = printable(fields[0], 60);
    std::vector<std::optional<Column>> columns;
    std::map<std::string, ChartRun> runs;
    std::vector<std::string> order;
    for (std::string_view field : fields) {
      columns.push_back(columns.empty() ? std::nullopt : chart_column(field));
      if (columns.back() && runs.try_emplace(columns.back()->run).second)
        order.push_back(columns.back()->run);
    }
    while (rows.next(fields)) {
      const auto x = fields.empty() ? std::nullopt : parse_number(fields[0]);
      for (std::size_t i = 1; i < fields.size() && i < columns.size(); ++i) {
        const auto value = columns[i] ? parse_number(fields[i]) : std::nullopt;
        if (!value) continue;
        ChartRun& chart = runs[columns[i]->run];
        const bool step = x && std::abs(*x) < 9e15 && !by_time;
        chart.means.add(
            columns[i]->metric, *value, by_epoch ? x : std::nullopt,
            step ? static_cast<std::int64_t>(*x) : static_cast<std::int64_t>(rows.line()),
            chart.run);
        chart.last_x = x;
      }
    }
    warn_of_damage(rows.lines(), input, sink);
    for (const std::string& name : order) {
      ChartRun& chart = runs[name];
      chart.means.finish(chart.run);
      chart.run.label = printable(name, 120);
      chart.run.notes["x_axis"] = axis;
      facts_from_name(name, chart.run);
      sink.add(std::move(chart.run));
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_wandb_chart_reader() {
  return std::make_unique<WandbChartReader>();
}

}  // namespace lockstep::import
