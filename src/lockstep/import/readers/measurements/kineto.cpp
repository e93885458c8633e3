#include "lockstep/import/readers/readers.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>

#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/intervals.h"
#include "lockstep/import/scan/json_stream.h"
#include "lockstep/import/scan/text_scan.h"
#include "lockstep/import/scan/trace_events.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostSteps = 1'000'000;

bool is_collective(std::string_view name) {
  return contains_any<"nccl", "Nccl", "rccl", "oneccl">(name);
}

class Trace {
 public:
  void event(const TraceEvent& event) {
    if (event.phase != 'X') return;
    const double end = event.start_us + event.duration_us;
    const std::string& category = event.category;
    if (category == "kernel" || category == "Kernel") {
      (is_collective(event.name) ? collectives_ : kernels_).add(event.start_us, end);
    } else if (category == "gpu_memcpy" || category == "Memcpy" || category == "gpu_memset" ||
               category == "Memset") {
      copies_.add(event.start_us, end);
    } else if (event.name.starts_with("ProfilerStep") && category != "gpu_user_annotation") {
      step(event, end);
    } else if (event.name.starts_with("gloo:") || event.name.starts_with("mpi:")) {
      host_collectives_.add(event.start_us, end);
    }
  }

  void world(const std::string& name, double value) {
    if (!(value >= 0) || value > 1e7) return;
    if (name == "rank") rank_ = static_cast<int>(value);
    if (name == "world_size" && value >= 1) run_.workers.offer(std::llround(value));
  }

  void backend(std::string_view name) { run_.notes["backend"] = printable(name); }

  void device(std::string_view name) {
    if (!run_.device && !name.empty()) run_.device.offer(printable(name));
  }

  bool any() const { return !steps_.empty() || !kernels_.empty(); }

  ImportedRun finish(std::string_view path) {
    if (rank_ < 0) rank_ = rank_from_name(path);
    RankSplit split;
    split.rank = std::max(rank_, 0);
    if (marks_are_moments()) {
      run_.warnings.emplace_back(
          "the ProfilerStep marks cover less than the time between them, so they are not the "
          "steps: no step time is taken");
      steps_.clear();
    }
    if (!steps_.empty()) split_steps(split);
    for (const auto& [number, span] : steps_)
      run_.step_time.add(number, (span.second - span.first) * 1e-6);
    run_.ranks.push_back(split);
    if (steps_.empty())
      run_.missing.push_back("step times: the trace has no ProfilerStep marks (call prof.step())");
    if (kernels_.empty())
      run_.missing.push_back("compute and overlap: the trace has no device kernels");
    if (rank_ < 0) run_.warnings.push_back("the trace has no rank; 0 is assumed");
    return std::move(run_);
  }

 private:
  void step(const TraceEvent& event, double end) {
    const std::size_t hash = event.name.find('#');
    const auto number = hash == std::string::npos
                            ? std::nullopt
                            : parse_integer(std::string_view(event.name).substr(hash + 1));
    if (!number || steps_.size() >= kMostSteps) return;
    const auto [place, fresh] = steps_.try_emplace(*number, event.start_us, end);
    if (!fresh) {
      place->second.first = std::min(place->second.first, event.start_us);
      place->second.second = std::max(place->second.second, end);
    }
  }

  /// A step begins where the one before ends. Some profilers wrote marks that end at once.
  bool marks_are_moments() const {
    double marked = 0;
    double between = 0;
    for (auto here = steps_.begin(); here != steps_.end(); ++here) {
      const auto next = std::next(here);
      if (next == steps_.end() || next->first != here->first + 1) continue;
      marked += here->second.second - here->second.first;
      between += std::max(0.0, next->second.first - here->second.second);
    }
    return between > marked;
  }

  /// Over all whole steps: kernels run behind the host, so single steps cannot be separated.
  void split_steps(RankSplit& split) {
    double begin = steps_.begin()->second.first;
    double end = steps_.begin()->second.second;
    for (const auto& [number, span] : steps_) {
      begin = std::min(begin, span.first);
      end = std::max(end, span.second);
    }
    const auto steps = static_cast<double>(steps_.size());
    const double each = 1e-6 / steps;
    split.steps = static_cast<std::int64_t>(steps_.size());
    split.step_s = (end - begin) * each;
    kernels_.settle();
    collectives_.settle();
    copies_.settle();
    host_collectives_.settle();
    if (!kernels_.empty()) {
      split.compute_s = kernels_.covered(begin, end) * each;
      split.communication_s = collectives_.covered(begin, end) * each;
      split.overlap_s = kernels_.shared(collectives_, begin, end) * each;
      split.exposed_s = split.communication_s - split.overlap_s;
      const double copies_alone = copies_.covered(begin, end) -
                                  copies_.shared(kernels_, begin, end) -
                                  copies_.shared(collectives_, begin, end);
      split.idle_s = std::max(0.0, split.step_s - split.compute_s - split.exposed_s -
                                       std::max(0.0, copies_alone) * each);
      run_.sync_s = split.exposed_s;
    } else if (!host_collectives_.empty()) {
      split.communication_s = host_collectives_.covered(begin, end) * each;
    }
  }

  static int rank_from_name(std::string_view path) {
    const std::string name = lower(path.substr(path.find_last_of('/') + 1));
    const std::size_t at = name.find("rank");
    if (at == std::string::npos) return -1;
    std::string_view rest = std::string_view(name).substr(at + 4);
    while (!rest.empty() && (rest[0] == '-' || rest[0] == '_')) rest.remove_prefix(1);
    const auto rank = take_number(rest);
    return rank && *rank >= 0 && *rank < 1e6 ? static_cast<int>(*rank) : -1;
  }

  ImportedRun run_;
  Intervals kernels_;
  Intervals collectives_;
  Intervals copies_;
  Intervals host_collectives_;
  std::map<std::int64_t, std::pair<double, double>> steps_;
  int rank_ = -1;
};

class KinetoReader final : public Reader {
 public:
  std::string_view name() const override { return "kineto"; }
  std::string_view description() const override {
    return "PyTorch profiler (Kineto) traces: step times, compute, communication and overlap of a "
           "rank";
  }

  Match recognise(const Sample& sample) const override {
    const std::string_view text = trim(sample.text);
    if (text.empty() || (text[0] != '{' && text[0] != '[')) return Match::kNo;
    // Older profilers write the array of events alone.
    if (text[0] == '[')
      return contains(text, "ProfilerStep") && contains(text, "\"ph\"") ? Match::kLikely
                                                                        : Match::kNo;
    const bool events = contains(text, "\"traceEvents\"");
    const bool profiler = contains(text, "\"schemaVersion\"") ||
                          contains(text, "\"deviceProperties\"") ||
                          contains(text, "ProfilerStep") || contains(text, "\"cpu_op\"") ||
                          contains(text, "\"distributedInfo\"");
    if (events && profiler) return Match::kCertain;
    return events || profiler ? Match::kPossible : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    JsonStream json(input);
    Trace trace;
    const JsonToken first = json.next();
    if (first == JsonToken::kBeginArray) events(json, trace);
    std::string key;
    for (JsonToken token = json.next(); token != JsonToken::kEnd; token = json.next()) {
      if (token == JsonToken::kKey) {
        key = json.text();
      } else if (token == JsonToken::kBeginArray && key == "traceEvents") {
        events(json, trace);
      } else if (token == JsonToken::kBeginObject && key == "distributedInfo") {
        distributed(json, trace);
      } else if (token == JsonToken::kBeginArray && key == "deviceProperties") {
        devices(json, trace);
      } else {
        json.skip(token);
      }
    }
    if (!json.problem().empty()) sink.warn(input.name() + " " + json.problem());
    if (trace.any()) sink.add(trace.finish(input.name()));
  }

 private:
  static void events(JsonStream& json, Trace& trace) {
    TraceEvent event;
    while (json.next() == JsonToken::kBeginObject) {
      if (!read_trace_event(json, event, false)) return;
      trace.event(event);
    }
  }

  static void distributed(JsonStream& json, Trace& trace) {
    JsonObject fields;
    read_object(json, fields, 1);
    for (const JsonField& field : fields) {
      if (field.is_number) trace.world(field.name, field.number);
      if (field.name == "backend") trace.backend(field.text);
    }
  }

  static void devices(JsonStream& json, Trace& trace) {
    JsonObject fields;
    while (json.next() == JsonToken::kBeginObject) {
      if (!read_object(json, fields, 1)) return;
      for (const JsonField& field : fields) {
        if (field.name == "name") trace.device(field.text);
      }
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_kineto_reader() {
  return std::make_unique<KinetoReader>();
}

}  // namespace lockstep::import
