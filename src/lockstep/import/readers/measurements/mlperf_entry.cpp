#include "lockstep/import/readers/measurements/mlperf_entry.h"

#include <cmath>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

std::optional<double>* metadata(const JsonLineField& field, MlperfEntry& entry) {
  if (field.outer == "value") return field.name == "throughput" ? &entry.throughput : nullptr;
  if (field.name == "epoch_num") return &entry.epoch;
  if (field.name == "first_epoch_num") return &entry.first_epoch;
  if (field.name == "epoch_count") return &entry.epoch_count;
  if (field.name == "samples_count") return &entry.samples;
  return nullptr;
}

/// The fields "value" and "metadata.*" of an entry's JSON.
void read_fields(const JsonLine& json, MlperfEntry& entry) {
  for (const JsonLineField& field : json.fields()) {
    if (field.outer.empty()) {
      if (field.name == "key") {
        entry.key = field.raw;
      } else if (field.name == "time_ms") {
        entry.time_s = field.number().value_or(0) / 1000;
      } else if (field.name == "value") {
        const auto number = field.number();
        entry.has_number = number.has_value();
        entry.number = number.value_or(0);
        if (!number) entry.text = field.raw;
      }
    } else if (field.is("metadata", "status")) {
      entry.status = field.raw;
    } else if (field.outer == "metadata" || field.outer == "value") {
      if (field.outer == "value" && field.number() && entry.parts.size() < 16)
        entry.parts.emplace_back(field.name, *field.number());
      std::optional<double>* target = metadata(field, entry);
      const auto number = target == nullptr ? std::nullopt : field.number();
      if (number && std::abs(*number) < 1e15) *target = number;
    }
  }
}

/// After ":::MLPv0.5.0": " resnet 1541710592.117 (/a/main.py:12) eval_accuracy: {"epoch": 1,
/// "value": 0.41}", the value also a number, a text or nothing.
std::optional<MlperfEntry> read_first_version(std::string_view text, JsonLine& json) {
  const std::size_t version = text.find(' ');
  if (version == std::string_view::npos) return std::nullopt;
  text = trim(text.substr(version));
  const std::size_t name = text.find(' ');
  if (name == std::string_view::npos) return std::nullopt;
  MlperfEntry entry;
  entry.benchmark = text.substr(0, name);
  text.remove_prefix(name);
  const auto time = take_number(text);
  const std::size_t place = text.find(") ");
  if (!time || place == std::string_view::npos) return std::nullopt;
  entry.time_s = *time;
  text = trim(text.substr(place + 2));
  const std::size_t colon = text.find(':');
  entry.key = text.substr(0, colon);
  if (entry.key.empty() || entry.key.size() > 200) return std::nullopt;
  if (colon == std::string_view::npos) return entry;
  text = trim(text.substr(colon + 1));
  if (text.starts_with("{")) {
    json.parse(text);
    for (const JsonLineField& field : json.fields()) {
      if (field.name == "epoch") entry.epoch = field.number();
      if (field.name == "value") {
        entry.has_number = field.number().has_value();
        entry.number = field.number().value_or(0);
      }
      if (field.name == "success") entry.status = field.raw == "true" ? "success" : "failed";
    }
    return entry;
  }
  const auto number = parse_number(text);
  entry.has_number = number.has_value();
  entry.number = number.value_or(0);
  entry.text = text;
  return entry;
}

}  // namespace

std::optional<MlperfEntry> read_mlperf_entry(std::string_view text, JsonLine& json) {
  const std::size_t at = position_of(":::ML", text);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + 5);
  if (text.starts_with("Pv0.")) return read_first_version(text, json);
  if (!text.starts_with("L")) return std::nullopt;
  text.remove_prefix(1);
  MlperfEntry entry;
  if (text.starts_with("OG")) {
    text.remove_prefix(2);
  } else {
    const auto time = take_number(text);
    const std::size_t colon = text.find(": ");
    if (!time || colon == std::string_view::npos) return std::nullopt;
    entry.time_s = *time;
    entry.key = trim(text.substr(0, colon));
    text.remove_prefix(colon + 2);
  }
  json.parse(text);  // of a line that was cut, what is there
  read_fields(json, entry);
  if (entry.key.empty() || entry.key.size() > 200) return std::nullopt;
  return entry;
}

}  // namespace lockstep::import
