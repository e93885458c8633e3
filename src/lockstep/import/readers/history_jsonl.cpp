#include "lockstep/import/readers/readers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "lockstep/import/model/epoch_means.h"
#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/run_settings.h"
#include "lockstep/import/scan/json_line.h"
#include "lockstep/import/scan/line_source.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// What a field of a history is for.
enum class Role { kStep, kEpoch, kRuntime, kTimestamp, kAxis, kFigure };

Role role_of(std::string_view name) {
  if (name == "_step" || name == "step" || name == "global_step" || name == "trainer/global_step")
    return Role::kStep;
  if (name == "epoch" || name == "trainer/epoch") return Role::kEpoch;
  if (name == "_runtime") return Role::kRuntime;
  if (name == "_timestamp") return Role::kTimestamp;
  return name.starts_with("_") ? Role::kAxis : Role::kFigure;
}

/// Puts the objects of a history together into a run.
class History {
 public:
  void row(const std::vector<JsonLineField>& fields) {
    if (known_.size() >= kMostNames) {
      known_.clear();
      places_.clear();
    }
    std::optional<double> epoch;
    row_.resize(fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].is_text) continue;
      row_[i] = &known(fields[i], i);
      const Role role = row_[i]->role;
      if (role == Role::kFigure || role == Role::kAxis) continue;
      const auto number = fields[i].number();
      if (!number) continue;
      if (role == Role::kStep && std::abs(*number) < 9e15)
        step_ = static_cast<std::int64_t>(*number);
      if (role == Role::kEpoch) epoch = number;
      if (role == Role::kRuntime) runtime_ = number;
      if (role == Role::kTimestamp) stamp(*number);
    }
    if (epoch) epoch_ = epoch;
    if (epoch && runtime_) epoch_end(*epoch, *runtime_);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].is_text) {
        offer_setting(fields[i].name, fields[i].raw, run_);
        continue;
      }
      Known& field = *row_[i];
      if (field.role != Role::kFigure || is_media(fields[i], fields)) continue;
      if (const auto number = fields[i].number())
        means_.add(field.column, *number, epoch ? epoch : epoch_, step_, run_);
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
  struct Known {
    std::string outer;
    std::string name;
    Role role = Role::kFigure;
    EpochMeans::Column column;
  };

  /// Rows mostly have the same fields in the same places: one comparison then identifies a field.
  Known& known(const JsonLineField& field, std::size_t place) {
    if (place >= places_.size()) places_.resize(place + 1);
    if (Known* here = places_[place]; here != nullptr && field.is(here->outer, here->name))
      return *here;
    std::string path(field.outer);
    if (!path.empty()) path += '.';
    path += field.name;
    auto found = known_.find(path);
    if (found == known_.end()) {
      found = known_
                  .emplace(path, Known{std::string(field.outer), std::string(field.name),
                                       role_of(path), EpochMeans::column(path)})
                  .first;
      // "batch" and "epochs" may count along; these are facts of the whole run.
      if (field.name == "world_size" || field.name == "num_gpus" || field.name == "batch_size" ||
          field.name == "global_batch_size")
        offer_setting(field.name, field.raw, run_);
    }
    places_[place] = &found->second;
    return found->second;
  }

  /// Pictures, videos and tables are nested objects with a "_type".
  static bool is_media(const JsonLineField& field, const std::vector<JsonLineField>& fields) {
    if (field.outer.empty()) return false;
    return std::any_of(fields.begin(), fields.end(),
                       [&](const JsonLineField& other) { return other.is(field.outer, "_type"); });
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

  static constexpr std::size_t kMostNames = 4096;

  ImportedRun run_;
  EpochMeans means_;
  std::map<std::string, Known> known_;  ///< by path
  std::vector<Known*> places_;          ///< what stood at each place of the last rows
  std::vector<Known*> row_;             ///< the fields of this row; texts have none
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
    // Some tools write empty objects first; a file may be padded with zero bytes.
    std::string_view text = sample.text;
    std::string_view line;
    for (int lines = 0; lines < 16 && !text.empty(); ++lines) {
      const std::size_t stop = text.find('\n');
      line = trim(text.substr(0, stop));
      while (!line.empty() && line[0] == '\0') line.remove_prefix(1);
      text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
      if (!line.empty() && line != "{}") break;
    }
    if (line.size() < 2 || line[0] != '{') return Match::kNo;
    JsonLine json;
    if (!json.parse(line)) return Match::kNo;
    bool known = false;
    for (const JsonLineField& field : json.fields()) {
      if (field.is("", "_step") || field.is("", "_runtime") || field.is("", "_timestamp"))
        return Match::kCertain;
      known = known || metric_of(field.name).metric != Metric::kOther;
    }
    return known ? Match::kPossible : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    LineSource lines(input);
    History history;
    JsonLine json;
    Line line;
    std::uint64_t bad_line = 0;
    std::uint64_t bad_lines = 0;
    while (lines.next(line)) {
      if (json.parse(line.text)) {
        history.row(json.fields());
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
