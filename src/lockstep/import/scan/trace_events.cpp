#include "lockstep/import/scan/trace_events.h"

namespace lockstep::import {
namespace {

enum class Field {
  kPhase,
  kCategory,
  kName,
  kProcess,
  kThread,
  kStart,
  kDuration,
  kArguments,
  kOther
};

Field field_of(std::string_view key) {
  if (key == "ph") return Field::kPhase;
  if (key == "cat") return Field::kCategory;
  if (key == "name") return Field::kName;
  if (key == "pid") return Field::kProcess;
  if (key == "tid") return Field::kThread;
  if (key == "ts") return Field::kStart;
  if (key == "dur") return Field::kDuration;
  if (key == "args") return Field::kArguments;
  return Field::kOther;
}

void clear(TraceEvent& event) {
  event.phase = 0;
  event.category.clear();
  event.name.clear();
  event.process = event.thread = event.start_us = event.duration_us = 0;
  event.argument_name.clear();
  event.argument_dtype.clear();
  event.argument_shape.clear();
}

void set_text(TraceEvent& event, Field field, std::string_view text) {
  if (field == Field::kPhase && !text.empty()) event.phase = text[0];
  if (field == Field::kCategory) event.category = text;
  if (field == Field::kName) event.name = text;
}

void set_number(TraceEvent& event, Field field, double number) {
  if (field == Field::kProcess) event.process = number;
  if (field == Field::kThread) event.thread = number;
  if (field == Field::kStart) event.start_us = number;
  if (field == Field::kDuration) event.duration_us = number;
}

bool read_arguments(JsonStream& json, TraceEvent& event) {
  JsonObject fields;
  if (!read_object(json, fields, 1)) return false;
  for (const JsonField& field : fields) {
    if (field.name == "name") event.argument_name = field.text;
    if (field.name == "dtype") event.argument_dtype = field.text;
    if (field.name == "shape") event.argument_shape = field.text;
  }
  return true;
}

}  // namespace

bool read_trace_event(JsonStream& json, TraceEvent& event, bool arguments) {
  clear(event);
  const std::size_t outside = json.depth() - 1;
  Field field = Field::kOther;
  while (json.depth() > outside) {
    const JsonToken token = json.next();
    switch (token) {
      case JsonToken::kEnd:
        return false;
      case JsonToken::kKey:
        field = field_of(json.text());
        break;
      case JsonToken::kString:
        set_text(event, field, json.text());
        break;
      case JsonToken::kNumber:
        set_number(event, field, json.number());
        break;
      case JsonToken::kBeginObject:
        if (field == Field::kArguments && arguments) {
          if (!read_arguments(json, event)) return false;
          break;
        }
        json.skip(token);
        break;
      case JsonToken::kBeginArray:
        json.skip(token);
        break;
      default:
        break;
    }
  }
  return true;
}

}  // namespace lockstep::import
