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
  std::string_view description() const override {
    return "Hugging Face trainer_state.json, all_results.json";
  }

  Match recognise(const Sample& sample) const override {
    if (trim(sample.text).empty() || trim(sample.text)[0] != '{') return Match::kNo;
    if (contains(sample.text, "\"log_history\"")) return Match::kCertain;
    // all_results.json and train_results.json beside it: the summary alone.
    const bool summary = sample.complete && contains(sample.text, "\"train_runtime\"") &&
                         contains(sample.text, "\"train_steps_per_second\"") &&
                         !contains(sample.text, "[");
    return summary ? Match::kCertain : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    JsonStream json(input);
    TrainerHistory state;
    JsonObject fields;
    JsonObject summary;
    std::string key;
    if (json.next() != JsonToken::kBeginObject) return;
    for (JsonToken token = json.next(); token != JsonToken::kEnd && json.depth() > 0;
         token = json.next()) {
      if (token == JsonToken::kKey) {
        key = json.text();
      } else if (token == JsonToken::kNumber) {
        state.setting(key, json.number());
        if (key == "epoch" || key.starts_with("train_") || key.starts_with("eval_")) {
          JsonField& field = summary.add();
          field.name = key;
          field.is_number = true;
          field.number = json.number();
        }
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
    if (state.entries() == 0) take_summary(summary, state);
    if (state.entries() > 0) sink.add(state.finish());
  }

 private:
  /// all_results.json: {"epoch": 3.0, "train_runtime": 24486.7, "train_loss": 1.69, ...}.
  static void take_summary(const JsonObject& summary, TrainerHistory& state) {
    bool any = false;
    for (const JsonField& field : summary) {
      if (field.name == "epoch") state.setting("num_train_epochs", field.number);
      any = any || field.name == "train_runtime";
    }
    if (any) state.entry(summary);
  }
};

}  // namespace

std::unique_ptr<Reader> make_trainer_state_reader() {
  return std::make_unique<TrainerStateReader>();
}

}  // namespace lockstep::import
