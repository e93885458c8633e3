#include "lockstep/record/event.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/record/json_fields.h"

namespace lockstep::record {
namespace {

using nlohmann::json;

template <class V, class E>
void visit_fields(V&& field, E& event) requires std::is_same_v<std::remove_const_t<E>, RunStarted> {
  field("spec", event.spec);
  field("machine", event.machine);
  field("build", event.build);
  field("started_wall_ns", event.started_wall_ns);
  field("steps_per_epoch", event.steps_per_epoch);
  field("first_epoch", event.first_epoch);
}

template <class V, class E>
void visit_fields(V&& field, E& event) requires std::is_same_v<std::remove_const_t<E>, Progress> {
  field("epoch", event.epoch);
  field("step", event.step);
  field("steps_per_epoch", event.steps_per_epoch);
  field("examples_per_s", event.examples_per_s);
  field("loss", event.loss);
}

template <class V, class E>
void visit_fields(V&& field,
                  E& event) requires std::is_same_v<std::remove_const_t<E>, EpochResult> {
  field("epoch", event.epoch);
  field("train_loss", event.train_loss);
  field("train_accuracy", event.train_accuracy);
  field("val_loss", event.val_loss);
  field("val_accuracy", event.val_accuracy);
  field("learning_rate", event.learning_rate);
  field("examples", event.examples);
  field("train_s", event.train_s);
  field("val_s", event.val_s);
  field("examples_per_s", event.examples_per_s);
  field("noise_scale", event.noise_scale);
  field("noise_scale_low", event.noise_scale_low);
  field("noise_scale_high", event.noise_scale_high);
  field("metrics", event.metrics);
}

template <class V, class E>
void visit_fields(V&& field,
                  E& event) requires std::is_same_v<std::remove_const_t<E>, CheckpointWritten> {
  field("path", event.path);
  field("epoch", event.epoch);
  field("step", event.step);
}

template <class V, class E>
void visit_fields(V&& field,
                  E& event) requires std::is_same_v<std::remove_const_t<E>, BucketChosen> {
  field("bytes", event.bytes);
}

template <class V, class E>
void visit_fields(V&& field,
                  E& event) requires std::is_same_v<std::remove_const_t<E>, WorkerError> {
  field("rank", event.rank);
  field("kind", event.kind);
  field("message", event.message);
  field("hint", event.hint);
}

template <class V, class E>
void visit_fields(V&& field, E& event) requires std::is_same_v<std::remove_const_t<E>, RunEnded> {
  field("ended_wall_ns", event.ended_wall_ns);
  field("total_s", event.total_s);
  field("peak_memory_bytes", event.peak_memory_bytes);
  field("parameters_digest", event.parameters_digest);
  field("energy_j", event.energy_j);
  field("energy_source", event.energy_source);
  field("others_cpu", event.others_cpu);
}

template <class E>
void write_fields(json& out, const E& event) {
  visit_fields(FieldWriter{out}, event);
  if constexpr (std::is_same_v<E, RunEnded>) out["status"] = status_name(event.status);
}

/// Rounded to the nanosecond: shorter text, and no clock here is more precise.
double whole_nanoseconds(double seconds) {
  return std::round(seconds * 1e9) / 1e9;
}

/// Columns instead of rows: a tenth of the bytes.
void write_fields(json& out, const StepBlock& block) {
  json& columns = out["columns"] = json::object();
  for (const char* name :
       {"rank", "epoch", "step", "examples", "start_ns", "ready_ns", "total_s"}) {
    columns[name] = json::array();
  }
  for (const StepTimes& step : block.steps) {
    columns["rank"].push_back(step.rank);
    columns["epoch"].push_back(step.epoch);
    columns["step"].push_back(step.step);
    columns["examples"].push_back(step.examples);
    columns["start_ns"].push_back(step.start_ns);
    columns["ready_ns"].push_back(step.ready_ns);
    columns["total_s"].push_back(whole_nanoseconds(step.total_s));
  }
  for (int p = 0; p < kPhaseCount; ++p) {
    json& column = columns[std::string(phase_name(static_cast<Phase>(p))) + "_s"] = json::array();
    for (const StepTimes& step : block.steps) {
      column.push_back(whole_nanoseconds(step.phase_s[static_cast<std::size_t>(p)]));
    }
  }
}

/// Once for writing and once for reading: each column and how it is reached.
template <class V, class S>
void visit_sample(V&& field, S& sample) {
  field("rank", sample.rank);
  field("epoch", sample.epoch);
  field("at_s", sample.at_s);
  field("seconds", sample.seconds);
  field("cpu_cores", sample.cpu_cores);
  field("resident_bytes", sample.resident_bytes);
  field("gpu", sample.gpu);
  field("gpu_memory_bytes", sample.gpu_memory_bytes);
}

void write_fields(json& out, const UtilisationBlock& block) {
  json& samples = out["samples"] = json::array();
  for (const Utilisation& sample : block.samples) {
    visit_sample(FieldWriter{samples.emplace_back(json::object())}, sample);
  }
}

UtilisationBlock read_utilisation(const json& in) {
  UtilisationBlock block;
  for (const json& sample : in.at("samples")) {
    visit_sample(FieldReader{sample}, block.samples.emplace_back());
  }
  return block;
}

template <class E>
E read_event(const json& in) {
  E event;
  visit_fields(FieldReader{in}, event);
  if constexpr (std::is_same_v<E, RunEnded>) {
    event.status = status_from_name(in.at("status").get<std::string>());
  }
  return event;
}

StepBlock read_steps(const json& in) {
  const json& columns = in.at("columns");
  StepBlock block;
  const std::size_t count = columns.at("rank").size();
  block.steps.resize(count);
  const auto fill = [&](const std::string& name, auto&& assign) {
    const json& column = columns.at(name);
    if (column.size() != count) throw Error(ErrorKind::kData, "columns of unequal length: " + name);
    for (std::size_t i = 0; i < count; ++i) assign(block.steps[i], column[i]);
  };
  fill("rank", [](StepTimes& s, const json& v) { s.rank = v.get<std::int32_t>(); });
  fill("epoch", [](StepTimes& s, const json& v) { s.epoch = v.get<std::int32_t>(); });
  fill("step", [](StepTimes& s, const json& v) { s.step = v.get<std::int64_t>(); });
  fill("examples", [](StepTimes& s, const json& v) { s.examples = v.get<std::int64_t>(); });
  fill("start_ns", [](StepTimes& s, const json& v) { s.start_ns = v.get<std::int64_t>(); });
  fill("ready_ns", [](StepTimes& s, const json& v) { s.ready_ns = v.get<std::int64_t>(); });
  fill("total_s", [](StepTimes& s, const json& v) { s.total_s = v.get<double>(); });
  for (int p = 0; p < kPhaseCount; ++p) {
    fill(std::string(phase_name(static_cast<Phase>(p))) + "_s", [p](StepTimes& s, const json& v) {
      s.phase_s[static_cast<std::size_t>(p)] = v.get<double>();
    });
  }
  return block;
}

constexpr std::array<const char*, std::variant_size_v<Event>> kTypeNames{
    "run_started", "progress",     "steps",       "epoch",        "checkpoint",
    "run_ended",   "worker_error", "utilisation", "bucket_chosen"};

constexpr std::array<std::string_view, 4> kStatusNames{"running", "done", "interrupted", "failed"};

}  // namespace

std::string disturbance(const RunEnded& ended) {
  if (!(ended.others_cpu >= kDisturbingShare)) return "";
  return fmt::format("{:.0f} % of the CPU time", 100 * ended.others_cpu);
}

std::string_view status_name(RunStatus status) {
  return kStatusNames[static_cast<std::size_t>(status)];
}

RunStatus status_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kStatusNames.size(); ++i) {
    if (kStatusNames[i] == name) return static_cast<RunStatus>(i);
  }
  throw Error(ErrorKind::kData, fmt::format("'{}' is not a run status", name));
}

std::string to_line(const Event& event) {
  json out{{"v", kFormatVersion}, {"type", kTypeNames[event.index()]}};
  std::visit([&](const auto& e) { write_fields(out, e); }, event);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Event> from_line(const std::string& line) {
  try {
    const json in = json::parse(line);
    const int version = in.at("v").get<int>();
    if (version > kFormatVersion) {
      throw Error(ErrorKind::kData,
                  fmt::format("record format version {} is newer than {}", version, kFormatVersion),
                  "use a newer lockstep");
    }
    const auto type = in.at("type").get<std::string>();
    if (type == "run_started") return read_event<RunStarted>(in);
    if (type == "progress") return read_event<Progress>(in);
    if (type == "steps") return read_steps(in);
    if (type == "epoch") return read_event<EpochResult>(in);
    if (type == "checkpoint") return read_event<CheckpointWritten>(in);
    if (type == "run_ended") return read_event<RunEnded>(in);
    if (type == "utilisation") return read_utilisation(in);
    if (type == "bucket_chosen") return read_event<BucketChosen>(in);
    if (type == "worker_error") return read_event<WorkerError>(in);
    return std::nullopt;
  } catch (const json::exception& problem) {
    throw Error(ErrorKind::kData,
                fmt::format("not a line of a lockstep record: {}", problem.what()));
  }
}

}  // namespace lockstep::record
