#include "lockstep/record/machine.h"

#include <nlohmann/json.hpp>

#include "lockstep/record/json_fields.h"

namespace lockstep::record {

template <class Visitor, class M>
static void visit_machine(Visitor&& field, M& machine) {
  field("host", machine.host);
  field("system", machine.system);
  field("cpu", machine.cpu);
  field("cores", machine.cores);
  field("memory_bytes", machine.memory_bytes);
  field("gpus", machine.gpus);
  field("governor", machine.governor);
}

template <class Visitor, class B>
static void visit_build(Visitor&& field, B& build) {
  field("version", build.version);
  field("compiler", build.compiler);
  field("torch", build.torch);
  field("blas", build.blas);
}

void to_json(nlohmann::json& json, const Machine& m) {
  visit_machine(FieldWriter{json}, m);
}
void from_json(const nlohmann::json& json, Machine& m) {
  visit_machine(FieldReader{json}, m);
}
void to_json(nlohmann::json& json, const Build& b) {
  visit_build(FieldWriter{json}, b);
}
void from_json(const nlohmann::json& json, Build& b) {
  visit_build(FieldReader{json}, b);
}

}  // namespace lockstep::record
