#include "lockstep/import/history_jsonl.h"

#include <cmath>
#include <string>

#include "lockstep/import/epoch_means.h"
#include "lockstep/import/json_stream.h"
#include "lockstep/import/line_source.h"
#include "lockstep/import/log_reader.h"
#include "lockstep/import/run_settings.h"
#include "lockstep/import/text_scan.h"

namespace lockstep::import {
namespace {

/// Puts the objects of a history together into a run.
class History {
 public:
  void row(const std::vector<JsonField>& fields) {
    std::optional<double> epoch;
    for (const JsonField& field : fields) {
      if (!field.is_number) continue;
      if (field.name == "_step" || field.name == "step" || field.name == "global_step" ||
          field.name == "trainer/global_step") {
        if (std::abs(field.number) < 9e15) step_ = static_cast<std::int64_t>(field.number);
      } else if (field.name == "epoch" || field.name == "trainer/epoch") {
        epoch = field.number;
      } else if (field.name == "_runtime") {
        runtime_ = field.number;
      } else if (field.name == "_timestamp") {
        stamp(field.number);
      }
    }
    if (epoch) epoch_ = epoch;
    if (epoch && runtime_) epoch_end(*epoch, *runtime_);
    for (const JsonField& field : fields) {
      if (field.is_number && !is_axis(field.name)) {
        if (is_media(field.name, fields)) continue;
        means_.add(field.name, field.number, epoch ? epoch : epoch_, step_, run_);
      } else if (!field.is_number) {
        offer_setting(field.name, field.text, run_);
      }
    }
    ++rows_;
  }

  std::int64_t rows() const { return rows_; }

  ImportedRun finish() {
    means_.finish(run_);
    for (record::EpochResult& result : run_.epochs) {
      const auto found = ends_.find(result.epoch - shift());
      if (found == ends_.end() || result.train_s > 0) continue;
      const auto before = ends_.find(found->first - 1);
      if (before != ends_.end() && found->second > before->second) {
        result.train_s = found->second - before->second;
        run_.notes["epoch_time"] = "between the last entries of two epochs";
      }
    }
    if (runtime_ && *runtime_ > 0) run_.total_s = *runtime_;
    return std::move(run_);
  }

 private:
  static bool is_axis(const std::string& name) {
    return name.starts_with("_") || name == "step" || name == "global_step" || name == "epoch" ||
           name == "trainer/global_step" || name == "trainer/epoch";
  }

  /// Pictures, videos and tables are nested objects with a "_type".
  static bool is_media(const std::string& name, const std::vector<JsonField>& fields) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) return false;
    for (const JsonField& field : fields) {
      if (field.name.size() == dot + 6 && field.name.ends_with("._type") &&
          field.name.compare(0, dot, name, 0, dot) == 0) {
        return true;
      }
    }
    return false;
  }

  void stamp(double seconds) {
    if (!(seconds > 0) || seconds > 9e9) return;
    const auto wall = static_cast<std::int64_t>(seconds * 1e9);
    if (!run_.started_wall_ns) run_.started_wall_ns = wall;
    run_.ended_wall_ns = wall;
  }

  void epoch_end(double epoch, double runtime) {
    if (epoch < 0 || epoch > 1e6 || ends_.size() > 100'000) return;
    ends_[static_cast<std::int64_t>(epoch)] = runtime;
  }

  /// EpochTable numbers from 1 where the log began with 0.
  std::int64_t shift() const { return !ends_.empty() && ends_.begin()->first == 0 ? 1 : 0; }

  ImportedRun run_;
  EpochMeans means_;
  std::map<std::int64_t, double> ends_;
  std::optional<double> runtime_;
  std::optional<double> epoch_;
  std::int64_t step_ = 0;
  std::int64_t rows_ = 0;
};

class HistoryReader final : public Reader {
 public:
  std::string_view name() const override { return "history-jsonl"; }
  std::string_view description() const override {
    return "JSON lines of figures: Weights & Biases history (_step, _runtime), other flat objects";
  }

  Match recognise(const Sample& sample) const override {
    const std::string_view line = trim(sample.text.substr(0, sample.text.find('\n')));
    if (line.size() < 2 || line[0] != '{') return Match::kNo;
    JsonStream json(line);
    std::vector<JsonField> fields;
    if (json.next() != JsonToken::kBeginObject || !read_object(json, fields)) return Match::kNo;
    bool known = false;
    for (const JsonField& field : fields) {
      if (field.name == "_step" || field.name == "_runtime" || field.name == "_timestamp")
        return Match::kCertain;
      known = known || metric_of(field.name).metric != Metric::kOther;
    }
    return known ? Match::kPossible : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    LineSource lines(input);
    History history;
    std::vector<JsonField> fields;
    Line line;
    std::uint64_t bad_line = 0;
    std::uint64_t bad_lines = 0;
    while (lines.next(line)) {
      JsonStream json(line.text);
      if (json.next() == JsonToken::kBeginObject && read_object(json, fields)) {
        history.row(fields);
      } else {
        if (bad_lines++ == 0) bad_line = line.number;
      }
    }
    warn_of_damage(lines, input, sink);
    if (bad_lines > 0) {
      sink.warn(input.name() + " line " + std::to_string(bad_line) + " is no JSON object" +
                (bad_lines > 1 ? " (" + std::to_string(bad_lines) + " such lines)" : ""));
    }
    if (history.rows() > 0) sink.add(history.finish());
  }
};

}  // namespace

std::unique_ptr<Reader> make_history_jsonl_reader() {
  return std::make_unique<HistoryReader>();
}

}  // namespace lockstep::import
