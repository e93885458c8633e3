#include "lockstep/import/readers/readers.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/model/metric_names.h"
#include "lockstep/import/model/name_facts.h"
#include "lockstep/import/run_settings.h"
#include "lockstep/import/scan/csv_rows.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

std::size_t name_column(const std::vector<std::string>& header) {
  const auto found = std::find_if(header.begin(), header.end(), [](const std::string& name) {
    return name == "Name" || name == "name" || name == "Run";
  });
  return static_cast<std::size_t>(found - header.begin());
}

bool is_bookkeeping(const std::string& name) {
  static constexpr std::string_view kNames[] = {"State", "Created", "Notes",    "User",
                                                "Tags",  "Sweep",   "Runtime",  "_wandb",
                                                "ID",    "Group",   "_runtime", "Job Type"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

class WandbRunsReader final : public Reader {
 public:
  std::string_view name() const override { return "wandb-runs"; }
  std::string_view description() const override {
    return "Weights & Biases runs-table export: one row per run with settings and last figures";
  }

  Match recognise(const Sample& sample) const override {
    const std::vector<std::string> header = csv_header(sample.text);
    if (header.size() < 2 || name_column(header) == header.size()) return Match::kNo;
    const auto marks = std::count_if(header.begin(), header.end(), is_bookkeeping);
    if (marks >= 1) return Match::kCertain;
    return header[0] == "Name" ? Match::kLikely : Match::kPossible;
  }

  void read(Input& input, ImportSink& sink) const override {
    CsvRows rows(input);
    std::vector<std::string_view> fields;
    if (!rows.next(fields)) return;
    const std::vector<std::string> header(fields.begin(), fields.end());
    const std::size_t name = name_column(header);
    while (rows.next(fields)) {
      if (fields.size() != header.size()) {
        sink.warn(input.name() + " line " + std::to_string(rows.line()) + " has " +
                  std::to_string(fields.size()) + " fields, its header " +
                  std::to_string(header.size()));
        continue;
      }
      ImportedRun run;
      run.label = name < fields.size() ? printable(fields[name], 120) : "";
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (i != name && !fields[i].empty()) field(header[i], fields[i], run);
      }
      facts_from_name(run.label, run);
      sink.add(std::move(run));
    }
    warn_of_damage(rows.lines(), input, sink);
  }

 private:
  static void field(const std::string& name, std::string_view text, ImportedRun& run) {
    const auto value = parse_number(text);
    if (!value) {
      if (offer_setting(name, text, run)) return;
      run.notes[printable(name)] = printable(text, 200);
      if (name == "State" && (text == "crashed" || text == "failed"))
        run.failure = "W&B state: " + std::string(text);
      return;
    }
    if (name == "Runtime" || name == "_runtime") {
      if (*value > 0) run.total_s = *value;
    } else if (offer_setting(name, text, run)) {
      return;
    } else if (!last_figure(name, *value, run) && run.other.size() < 256) {
      run.other[printable(name)].add(0, *value);
    }
  }

  /// The figures in such a table are those at the end of the run.
  static bool last_figure(const std::string& name, double value, ImportedRun& run) {
    const MetricName metric = metric_of(name);
    record::EpochResult end = run.at_end.value_or(record::EpochResult{});
    const double fraction = value > 1.001 ? value / 100 : value;
    switch (metric.metric) {
      case Metric::kTrainLoss:
        end.train_loss = value;
        break;
      case Metric::kValLoss:
        end.val_loss = value;
        break;
      case Metric::kTrainAccuracy:
        end.train_accuracy = fraction;
        break;
      case Metric::kValAccuracy:
        end.val_accuracy = fraction;
        break;
      case Metric::kEpoch:
        if (value >= 0 && value < 1e6) end.epoch = static_cast<int>(std::ceil(value));
        break;
      case Metric::kEpochTime:
        run.epoch_s = value * metric.scale;
        return true;
      case Metric::kStepTime:
        run.step_time.add(0, value * metric.scale);
        return true;
      case Metric::kThroughput:
        run.throughput.add(0, value);
        return true;
      default:
        return false;
    }
    run.at_end = end;
    return true;
  }
};

}  // namespace

std::unique_ptr<Reader> make_wandb_runs_reader() {
  return std::make_unique<WandbRunsReader>();
}

}  // namespace lockstep::import
