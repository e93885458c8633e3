#include "lockstep/import/readers/readers.h"

#include <string>

#include "lockstep/import/readers/programs/trainer_history.h"
#include "lockstep/import/scan/json_stream.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

class TrainerStateReader final : public Reader {
 public:
  std::string_view name() const override { return "trainer-state"; }
  std::string_view description() const override { return "Hugging Face trainer_state.json"; }

  Match recognise(const Sample& sample) const override {
    if (trim(sample.text).empty() || trim(sample.text)[0] != '{') return Match::kNo;
    return contains(sample.text, "\"log_history\"") ? Match::kCertain : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    JsonStream json(input);
    TrainerHistory state;
    JsonObject fields;
    std::string key;
    if (json.next() != JsonToken::kBeginObject) return;
    for (JsonToken token = json.next(); token != JsonToken::kEnd && json.depth() > 0;
         token = json.next()) {
      if (token == JsonToken::kKey) {
        key = json.text();
      } else if (token == JsonToken::kNumber) {
        state.setting(key, json.number());
      } else if (token == JsonToken::kBeginArray && key == "log_history") {
        while ((token = json.next()) == JsonToken::kBeginObject) {
          if (!read_object(json, fields)) break;
          state.entry(fields);
        }
      } else {
        json.skip(token);
      }
    }
    if (!json.problem().empty()) sink.warn(input.name() + " " + json.problem());
    if (state.entries() > 0) sink.add(state.finish());
  }
};

}  // namespace

std::unique_ptr<Reader> make_trainer_state_reader() {
  return std::make_unique<TrainerStateReader>();
}

}  // namespace lockstep::import
