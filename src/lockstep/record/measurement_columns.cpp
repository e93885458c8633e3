#include "lockstep/record/measurement_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace lockstep::record {
namespace {

constexpr std::string_view kText = "text";
constexpr std::string_view kCount = "a whole number above zero";
constexpr std::string_view kIndex = "a whole number";
constexpr std::string_view kPositive = "a number above zero";
constexpr std::string_view kYesOrNo = "yes or no";

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const char* first = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, problem] = std::from_chars(first, text.data() + text.size(), value);
  const bool read = problem == std::errc() && end == text.data() + text.size();
  return read && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

template <std::string Measurement::*field>
constexpr MeasurementColumn text_column(std::string_view name, ColumnRole role) {
  return {name, role, kText, [](const Measurement& row) { return row.*field; },
          [](Measurement& row, const std::string& text) {
            row.*field = text;
            return true;
          }};
}

template <std::optional<std::int64_t> Measurement::*field, int least>
bool set_integer(Measurement& row, const std::string& text) {
  const std::optional<double> value = number_in(text);
  if (!value || *value < least || *value != std::floor(*value) || *value > 9e15) return false;
  row.*field = static_cast<std::int64_t>(*value);
  return true;
}

template <std::optional<std::int64_t> Measurement::*field, int least = 1>
constexpr MeasurementColumn integer_column(std::string_view name, ColumnRole role) {
  return {name, role, least > 0 ? kCount : kIndex,
          [](const Measurement& row) { return row.*field ? std::to_string(*(row.*field)) : ""; },
          set_integer<field, least>};
}

template <bool Measurement::*field>
constexpr MeasurementColumn flag_column(std::string_view name) {
  return {name, ColumnRole::kRemark, kYesOrNo,
          [](const Measurement& row) { return std::string(row.*field ? "yes" : ""); },
          [](Measurement& row, const std::string& text) {
            row.*field = text != "no" && text != "false" && text != "0";
            return true;
          }};
}

constexpr MeasurementColumn kBatchPerWorker{
    "batch_per_worker", ColumnRole::kAlways, kPositive,
    [](const Measurement& row) {
      return row.batch_per_worker ? batch_text(*row.batch_per_worker) : "";
    },
    [](Measurement& row, const std::string& text) {
      const std::optional<double> value = number_in(text);
      if (!value || *value <= 0 || *value > 9e15) return false;
      row.batch_per_worker = *value;
      return true;
    }};

constexpr MeasurementColumn kValue{
    "value", ColumnRole::kAlways, "a number",
    [](const Measurement& row) { return fmt::format("{}", row.value); },
    [](Measurement& row, const std::string& text) {
      // A loss that is not finite is a result.
      const char* end = text.data() + text.size();
      const char* first = text.data() + (text.starts_with('+') ? 1 : 0);
      double value = 0;
      const auto [stop, problem] = std::from_chars(first, end, value);
      if (problem != std::errc() || stop != end) return false;
      row.value = value;
      return true;
    }};

constexpr MeasurementColumn kScaling{
    "scaling", ColumnRole::kSetting, "strong, weak or mixed",
    [](const Measurement& row) {
      return row.scaling ? std::string(scaling_name(*row.scaling)) : "";
    },
    [](Measurement& row, const std::string& text) {
      const std::optional<Scaling> scaling = scaling_from_name(text);
      if (scaling) row.scaling = scaling;
      return scaling.has_value();
    }};

using enum ColumnRole;

constexpr std::array kColumns{
    text_column<&Measurement::model>("model", kAlways),
    text_column<&Measurement::dataset>("dataset", kAlways),
    text_column<&Measurement::device>("device", kAlways),
    integer_column<&Measurement::nodes>("nodes", kAlways),
    integer_column<&Measurement::workers>("workers", kAlways),
    kBatchPerWorker,
    integer_column<&Measurement::global_batch>("global_batch", kAlways),
    integer_column<&Measurement::examples>("examples", kAlways),
    integer_column<&Measurement::epochs>("epochs", kAlways),
    text_column<&Measurement::metric>("metric", kAlways),
    kValue,
    text_column<&Measurement::unit>("unit", kAlways),
    integer_column<&Measurement::stated_batch>("stated_batch", kRemark),
    text_column<&Measurement::strategy>("strategy", kSetting),
    integer_column<&Measurement::threads_per_worker>("threads_per_worker", kSetting),
    kScaling,
    integer_column<&Measurement::bytes, 0>("bytes", kSetting),
    text_column<&Measurement::collective>("collective", kSetting),
    integer_column<&Measurement::parameters>("parameters", kRemark),
    integer_column<&Measurement::loader_workers, 0>("loader_workers", kRemark),
    integer_column<&Measurement::flops_per_example>("flops_per_example", kRemark),
    text_column<&Measurement::example_unit>("example_unit", kRemark),
    text_column<&Measurement::run>("run", kRemark),
    text_column<&Measurement::study>("study", kRemark),
    text_column<&Measurement::series>("series", kRemark),
    text_column<&Measurement::source>("source", kRemark),
    integer_column<&Measurement::repeat, 0>("repeat", kRemark),
    integer_column<&Measurement::epoch, 0>("epoch", kRemark),
    flag_column<&Measurement::warm_up>("warm_up"),
    flag_column<&Measurement::contains_warm_up>("contains_warm_up"),
    text_column<&Measurement::unreliable>("unreliable", kRemark),
    text_column<&Measurement::disturbed>("disturbed", kRemark),
};

/// Notes that describe how a value came about, not what was run.
bool is_remark(const std::string& name) {
  constexpr std::array<std::string_view, 10> kRemarks{
      "seed",  "file",   "timestamp",    "cell", "comment",
      "basis", "format", "workers_from", "line", "micro_steps"};
  if (const MeasurementColumn* column = find_column(name); column != nullptr) {
    return column->role == kRemark;
  }
  return std::find(kRemarks.begin(), kRemarks.end(), name) != kRemarks.end();
}

}  // namespace

std::span<const MeasurementColumn> measurement_columns() {
  return kColumns;
}

const MeasurementColumn* find_column(std::string_view name) {
  const auto found = std::find_if(kColumns.begin(), kColumns.end(),
                                  [&](const MeasurementColumn& one) { return one.name == name; });
  return found == kColumns.end() ? nullptr : &*found;
}

std::string column_text(const Measurement& row, const std::string& name) {
  if (const MeasurementColumn* column = find_column(name); column != nullptr) {
    if (std::string text = column->text(row); !text.empty()) return text;
  }
  const auto note = row.notes.find(name);
  return note == row.notes.end() ? "" : note->second;
}

void set_column(Measurement& row, const std::string& name, const std::string& text) {
  const MeasurementColumn* column = find_column(name);
  if (column != nullptr && (column->set(row, text) || column->role == kAlways)) return;
  row.notes[name] = text;
}

std::map<std::string, std::string> settings_of(const Measurement& row) {
  std::map<std::string, std::string> settings;
  for (const auto& [name, text] : row.notes) {
    if (!text.empty() && !is_remark(name)) settings[name] = text;
  }
  for (const MeasurementColumn& column : kColumns) {
    if (column.role != kSetting) continue;
    if (std::string text = column.text(row); !text.empty())
      settings[std::string(column.name)] = text;
  }
  return settings;
}

std::string batch_text(double batch) {
  return fmt::format("{:.15g}", batch);
}

}  // namespace lockstep::record
