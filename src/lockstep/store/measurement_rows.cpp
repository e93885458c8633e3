#include "lockstep/store/measurement_rows.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "lockstep/record/measurement_columns.h"

namespace lockstep::store {
namespace {

using nlohmann::json;

template <class T>
void put(json& out, const char* name, const std::optional<T>& value) {
  if (value) out[name] = *value;
}

template <class T>
void take(const json& in, const char* name, std::optional<T>& value) {
  if (const auto found = in.find(name); found != in.end()) value = found->template get<T>();
}

record::Measurement parse_configuration(const std::string& text) {
  record::Measurement out;
  const json in = json::parse(text, nullptr, false);
  if (!in.is_object()) return out;
  out.model = in.value("model", "");
  out.dataset = in.value("dataset", "");
  out.device = in.value("device", "");
  take(in, "nodes", out.nodes);
  take(in, "workers", out.workers);
  take(in, "batch_per_worker", out.batch_per_worker);
  take(in, "global_batch", out.global_batch);
  take(in, "examples", out.examples);
  take(in, "epochs", out.epochs);
  for (const auto& [name, note] : in.value("notes", std::map<std::string, std::string>{})) {
    if (!note.empty()) record::set_column(out, name, note);
  }
  out.line = in.value("line", out.line);
  return out;
}

}  // namespace

std::string configuration_text(const record::Measurement& row) {
  json out = json::object();
  if (!row.model.empty()) out["model"] = row.model;
  if (!row.dataset.empty()) out["dataset"] = row.dataset;
  if (!row.device.empty()) out["device"] = row.device;
  put(out, "nodes", row.nodes);
  put(out, "workers", row.workers);
  if (const auto batch = row.batch_per_worker) {
    // Whole batches as integers, as earlier versions wrote and read them.
    const bool whole = *batch == std::floor(*batch);
    out["batch_per_worker"] = whole ? json(static_cast<std::int64_t>(*batch)) : json(*batch);
  }
  put(out, "global_batch", row.global_batch);
  put(out, "examples", row.examples);
  put(out, "epochs", row.epochs);
  // Further columns are written among the notes, as text: stores of earlier versions have the same
  // form.
  std::map<std::string, std::string> notes = row.notes;
  for (const record::MeasurementColumn& column : record::measurement_columns()) {
    if (column.role == record::ColumnRole::kAlways) continue;
    if (std::string text = column.text(row); !text.empty()) notes[std::string(column.name)] = text;
  }
  if (!notes.empty()) out["notes"] = notes;
  if (row.line != 0) out["line"] = row.line;
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

record::Measurement MeasurementReader::read(const Statement& row) {
  if (const std::int64_t run = row.integer(0); run != run_) {
    parsed_.clear();
    run_ = run;
  }
  std::string text = row.text(4);
  auto found = parsed_.find(text);
  if (found == parsed_.end()) {
    record::Measurement parsed = parse_configuration(text);
    parsed.run = std::to_string(run_);
    found = parsed_.emplace(std::move(text), std::move(parsed)).first;
  }
  record::Measurement out = found->second;
  out.metric = row.text(1);
  out.value = row.real(2);
  out.unit = row.text(3);
  return out;
}

}  // namespace lockstep::store
