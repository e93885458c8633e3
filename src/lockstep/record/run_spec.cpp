#include "lockstep/record/run_spec.h"

#include <nlohmann/json.hpp>

#include "lockstep/record/json_fields.h"

namespace lockstep::record {

template <class Visitor, class Data>
static void visit_data(Visitor&& field, Data& data) {
  field("name", data.name);
  field("path", data.path);
  field("synthetic", data.synthetic);
  field("train_examples", data.train_examples);
  field("val_examples", data.val_examples);
  field("skipped", data.skipped);
}

template <class Visitor, class Spec>
static void visit_spec(Visitor&& field, Spec& spec) {
  field("recipe", spec.recipe);
  field("data", spec.data);
  field("device", spec.device);
  field("nodes", spec.nodes);
  field("workers", spec.workers);
  field("threads_per_worker", spec.threads_per_worker);
  field("batch_per_worker", spec.batch_per_worker);
  field("accumulate", spec.accumulate);
  field("epochs", spec.epochs);
  field("max_steps", spec.max_steps);
  field("strategy", spec.strategy);
  field("average_every", spec.average_every);
  field("wire", spec.wire);
  field("backend", spec.backend);
  field("sync_batch_norm", spec.sync_batch_norm);
  field("amp", spec.amp);
  field("optimizer", spec.optimizer);
  field("learning_rate", spec.learning_rate);
  field("momentum", spec.momentum);
  field("weight_decay", spec.weight_decay);
  field("beta1", spec.beta1);
  field("beta2", spec.beta2);
  field("schedule", spec.schedule);
  field("warmup_epochs", spec.warmup_epochs);
  field("lr_steps", spec.lr_steps);
  field("lr_gamma", spec.lr_gamma);
  field("patience", spec.patience);
  field("lr_scale", spec.lr_scale);
  field("base_batch", spec.base_batch);
  field("scaled_learning_rate", spec.scaled_learning_rate);
  field("bucket_bytes", spec.bucket_bytes);
  field("seed", spec.seed);
  field("augment", spec.augment);
  field("oversubscribed", spec.oversubscribed);
  field("parameters", spec.parameters);
  field("command", spec.command);
  field("launcher", spec.launcher);
  field("queue_wait_s", spec.queue_wait_s);
  field("options", spec.options);
}

void to_json(nlohmann::json& json, const DataFacts& data) {
  visit_data(FieldWriter{json}, data);
}
void from_json(const nlohmann::json& json, DataFacts& data) {
  visit_data(FieldReader{json}, data);
}
void to_json(nlohmann::json& json, const RunSpec& spec) {
  visit_spec(FieldWriter{json}, spec);
}
void from_json(const nlohmann::json& json, RunSpec& spec) {
  visit_spec(FieldReader{json}, spec);
}

}  // namespace lockstep::record
