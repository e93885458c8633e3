#include "lockstep/import/model/history.h"

#include <algorithm>
#include <cmath>

#include "lockstep/import/model/config_facts.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::uint64_t kFewestRowTimes = 10;

/// The unit of a time that names neither step nor epoch, in seconds; 0 for any other field.
double row_time_scale(const JsonLineField& field) {
  if (field.is("", "time_ms") || field.is("", "dt_ms")) return 1e-3;
  return field.is("", "time_s") || field.is("", "dt_s") ? 1 : 0;
}

}  // namespace

History::Role History::role_of(std::string_view name) {
  if (name == "_step") return Role::kRowNumber;
  if (name == "step" || name == "global_step" || name == "trainer/global_step" ||
      name == "train/global_step" || name == "iter" || name == "iteration")
    return Role::kStep;
  if (name == "epoch" || name == "trainer/epoch" || name == "train/epoch") return Role::kEpoch;
  if (name == "_runtime") return Role::kRuntime;
  if (name == "_timestamp") return Role::kTimestamp;
  return name.starts_with("_") ? Role::kAxis : Role::kFigure;
}

bool History::sizes_a_run(std::string_view name) {
  return name == "world_size" || name == "num_gpus" || name == "batch_size" ||
         name == "global_batch_size";
}

bool History::is_of_another_run(const std::vector<JsonLineField>& fields) const {
  if (sizes_.empty()) return false;
  bool goes_on = false;  // a batch may grow within a run, and the last one of an epoch is smaller
  for (const JsonLineField& field : fields) {
    const auto number = field.outer.empty() ? field.number() : std::nullopt;
    const Role role = role_of(field.name);
    goes_on = goes_on || (number && role == Role::kEpoch && epoch_ && *number > *epoch_) ||
              (number && role == Role::kStep && *number > static_cast<double>(step_)) ||
              (number && role == Role::kRowNumber);
  }
  return std::any_of(fields.begin(), fields.end(), [&](const JsonLineField& field) {
    if (field.is_text || !field.outer.empty() || !sizes_a_run(field.name)) return false;
    if (goes_on && field.name.ends_with("batch_size")) return false;
    const auto known = sizes_.find(field.name);
    return known != sizes_.end() && known->second != field.raw;
  });
}

void History::row(const std::vector<JsonLineField>& fields) {
  if (known_.size() >= kMostNames) {
    known_.clear();
    places_.clear();
  }
  if (is_validation(fields)) {
    validation_row(fields);
    return;
  }
  std::optional<double> epoch;
  std::optional<double> own_step;
  row_.resize(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].is_text) continue;
    row_[i] = &known(fields[i], i);
    const Role role = row_[i]->role;
    if (role == Role::kFigure || role == Role::kAxis) continue;
    const auto number = fields[i].number();
    if (!number) continue;
    if (role == Role::kStep) own_step = number;
    if (role == Role::kRowNumber && !own_step && std::abs(*number) < 9e15)
      step_ = static_cast<std::int64_t>(*number);
    if (role == Role::kEpoch) epoch = number;
    if (role == Role::kRuntime) runtime_ = number;
    if (role == Role::kTimestamp) stamp(*number);
  }
  if (own_step && std::abs(*own_step) < 9e15) step_ = static_cast<std::int64_t>(*own_step);
  if (epoch) epoch_ = epoch;
  if (epoch && runtime_) epoch_end(*epoch, *runtime_);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].is_text) {
      offer_config(fields[i].name, fields[i].raw, run_);
      continue;
    }
    Known& field = *row_[i];
    if (field.role != Role::kFigure || is_media(fields[i], fields)) continue;
    if (const auto number = fields[i].number())
      means_.add(field.column, *number, epoch ? epoch : epoch_, step_, run_);
  }
  if (timed_) step_time(fields);
  if (row_timed_ && own_step) row_time(fields, step_);
  ++rows_;
}

/// "step": 7, "time_ms": 26.4: of that step where the steps follow each other and the times do not
/// rise all the way, as a clock does.
void History::row_time(const std::vector<JsonLineField>& fields, std::int64_t step) {
  for (const JsonLineField& field : fields) {
    const double scale = row_time_scale(field);
    const auto value = scale > 0 ? field.number() : std::nullopt;
    if (!value || !(*value > 0)) continue;
    one_by_one_ = one_by_one_ && (row_times_.empty() || step == last_timed_ + 1);
    fell_ = fell_ || (!row_times_.empty() && *value * scale < row_times_.last());
    row_times_.add(step, *value * scale);
    last_timed_ = step;
    return;
  }
}

ImportedRun History::finish() {
  if (run_.step_time.empty() && one_by_one_ && fell_ && row_times_.count() >= kFewestRowTimes)
    run_.step_time = row_times_;
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

/// OpenMMLab's tools write {"mode": "val", ...}. Its "iter" counts the validation's own batches.
bool History::is_validation(const std::vector<JsonLineField>& fields) const {
  return !fields.empty() && fields[0].is_text && fields[0].is("", "mode") &&
         (fields[0].raw == "val" || fields[0].raw == "test");
}

void History::validation_row(const std::vector<JsonLineField>& fields) {
  for (const JsonLineField& field : fields) {
    const auto number = field.number();
    if (field.is_text || !number || !field.outer.empty()) continue;
    if (role_of(field.name) != Role::kFigure || field.name == "lr" || field.name == "time" ||
        field.name == "data_time" || field.name == "memory")
      continue;
    means_.add("val_" + std::string(field.name), *number, epoch_, step_, run_);
  }
  ++rows_;
}

/// "time" beside "data_time" and a loss is that of a step; validation has both without a loss.
void History::step_time(const std::vector<JsonLineField>& fields) {
  const JsonLineField* time = nullptr;
  bool data = false;
  bool loss = false;
  for (const JsonLineField& field : fields) {
    if (field.is("", "time")) time = &field;
    data = data || field.is("", "data_time");
    loss = loss || field.is("", "loss");
  }
  if (time == nullptr || !data || !loss) return;
  const auto seconds = time->number();
  if (seconds && *seconds > 0) run_.step_time.add(step_, *seconds);
}

/// Rows mostly have the same fields in the same places: one comparison then identifies a field.
History::Known& History::known(const JsonLineField& field, std::size_t place) {
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
    timed_ = timed_ || field.is("", "data_time");
    row_timed_ = row_timed_ || row_time_scale(field) > 0;
    // "batch" and "epochs" may count along; these are facts of the whole run.
    if (sizes_a_run(field.name)) {
      offer_config(field.name, field.raw, run_);
      if (field.outer.empty()) sizes_.emplace(field.name, field.raw);
    }
  }
  places_[place] = &found->second;
  return found->second;
}

/// Pictures, videos and tables are nested objects with a "_type".
bool History::is_media(const JsonLineField& field, const std::vector<JsonLineField>& fields) {
  if (field.outer.empty()) return false;
  return std::any_of(fields.begin(), fields.end(),
                     [&](const JsonLineField& other) { return other.is(field.outer, "_type"); });
}

void History::stamp(double seconds) {
  if (!(seconds > 0) || seconds > 9e9) return;
  const auto wall = static_cast<std::int64_t>(seconds * 1e9);
  if (!run_.started_wall_ns) run_.started_wall_ns = wall;
  run_.ended_wall_ns = wall;
}

void History::epoch_end(double epoch, double runtime) {
  if (!(epoch >= 0 && epoch <= 1e6) || ends_.size() > 100'000) return;
  ends_[static_cast<std::int64_t>(epoch)] = runtime;
}

}  // namespace lockstep::import
