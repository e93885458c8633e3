#include "lockstep/record/run_spec.h"

#include <nlohmann/json.hpp>

#include "lockstep/record/json_fields.h"

namespace lockstep::record {

void to_json(nlohmann::json& json, const DataFacts& data) {
  visit_fields(FieldWriter{json}, data);
}
void from_json(const nlohmann::json& json, DataFacts& data) {
  visit_fields(FieldReader{json}, data);
}
void to_json(nlohmann::json& json, const WorkerTrial& trial) {
  visit_fields(FieldWriter{json}, trial);
}
void from_json(const nlohmann::json& json, WorkerTrial& trial) {
  visit_fields(FieldReader{json}, trial);
}
void to_json(nlohmann::json& json, const RunSpec& spec) {
  visit_fields(FieldWriter{json}, spec);
}
void from_json(const nlohmann::json& json, RunSpec& spec) {
  visit_fields(FieldReader{json}, spec);
}

}  // namespace lockstep::record
