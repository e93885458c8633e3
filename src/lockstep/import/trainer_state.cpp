#include "lockstep/import/trainer_state.h"

#include <cmath>
#include <string>

#include "lockstep/import/epoch_means.h"
#include "lockstep/import/json_stream.h"
#include "lockstep/import/text_scan.h"

namespace lockstep::import {
namespace {

class TrainerState {
 public:
  TrainerState() { means_.count_fractions(); }

  /// An entry of log_history.
  void entry(const std::vector<JsonField>& fields) {
    std::optional<double> epoch;
    for (const JsonField& field : fields) {
      if (!field.is_number) continue;
      if (field.name == "epoch") epoch = field.number;
      if (field.name == "step" && std::abs(field.number) < 9e15)
        step_ = static_cast<std::int64_t>(field.number);
    }
    ++entries_;
    for (const JsonField& field : fields) {
      if (field.is_number && field.name != "epoch" && field.name != "step") figure(field, epoch);
    }
  }

  void setting(const std::string& name, double value) {
    if (!(value > 0) || value > 9e15) return;
    if (name == "global_step") steps_ = value;
    if (name == "max_steps") max_steps_ = value;
    if (name == "num_train_epochs") run_.epochs_planned.offer(std::llround(std::ceil(value)));
    if (name == "num_train_epochs") epochs_ = value;
    if (name == "train_batch_size") run_.batch_per_worker.offer(std::llround(value));
    if (name == "total_flos") run_.notes["total_flops"] = std::to_string(value);
  }

  std::int64_t entries() const { return entries_; }

  ImportedRun finish() {
    means_.finish(run_);
    if (max_steps_ > 0 && epochs_ > 0) {
      run_.steps_per_epoch.offer(std::llround(max_steps_ / epochs_), Provenance::kDerived);
    }
    const double steps = steps_ > 0 ? steps_ : static_cast<double>(step_);
    if (run_.total_s && steps > 0) {
      run_.step_time.add(static_cast<std::int64_t>(steps), *run_.total_s / steps);
      run_.notes["step_time"] = "train_runtime / global_step, evaluation included";
    }
    if (run_.reported_throughput && steps_per_s_ > 0) {
      // Both are rounded to three decimals; their ratio is the whole batch.
      const double batch = *run_.reported_throughput / steps_per_s_;
      if (batch >= 1 && batch < 1e9)
        run_.global_batch.offer(std::llround(batch), Provenance::kDerived);
      const double examples =
          *run_.reported_throughput * run_.total_s.value_or(0) / std::max(epochs_, 1e-9);
      if (epochs_ > 0 && examples >= 1 && examples < 9e15) {
        run_.notes["examples"] =
            "about " + std::to_string(std::llround(examples)) + " an epoch, from rates";
      }
    }
    return std::move(run_);
  }

 private:
  void figure(const JsonField& field, std::optional<double> epoch) {
    if (field.name == "train_runtime") {
      if (field.number > 0) run_.total_s = field.number;
    } else if (field.name == "train_samples_per_second") {
      if (field.number > 0) run_.reported_throughput = field.number;
    } else if (field.name == "train_steps_per_second") {
      steps_per_s_ = field.number;
    } else if (field.name == "eval_runtime") {
      if (field.number > 0) run_.other["eval_runtime_s"].add(step_, field.number);
    } else if (field.name == "train_loss") {
      run_.other["train_loss (whole run)"].add(step_, field.number);
    } else if (field.name != "total_flos" && !field.name.ends_with("_per_second")) {
      means_.add(field.name, field.number, epoch, step_, run_);
    }
  }

  ImportedRun run_;
  EpochMeans means_;
  std::int64_t step_ = 0;
  std::int64_t entries_ = 0;
  double steps_ = 0;
  double max_steps_ = 0;
  double epochs_ = 0;
  double steps_per_s_ = 0;
};

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
    TrainerState state;
    std::vector<JsonField> fields;
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
