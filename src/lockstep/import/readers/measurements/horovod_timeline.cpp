#include "lockstep/import/readers/readers.h"

#include <algorithm>
#include <map>
#include <string>

#include "lockstep/import/scan/intervals.h"
#include "lockstep/import/scan/json_stream.h"
#include "lockstep/import/scan/text_scan.h"
#include "lockstep/import/scan/trace_events.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostTensors = 100'000;
constexpr std::size_t kDeepestStack = 16;

double bytes_of(std::string_view dtype) {
  if (contains(dtype, "64")) return 8;
  if (contains(dtype, "16")) return 2;
  if (contains(dtype, "8") || contains(dtype, "bool")) return 1;
  return 4;
}

/// "[64, 3, 7, 7]" -> 9408; "[]" -> 1.
double elements_of(std::string_view shape) {
  double total = 1;
  while (!shape.empty()) {
    std::string_view rest = shape;
    if (is_digit(shape[0])) {
      const auto size = parse_number(shape.substr(0, shape.find_first_not_of("0123456789")));
      total *= size.value_or(1);
      rest = shape.substr(std::min(shape.size(), shape.find_first_not_of("0123456789")));
    } else {
      rest.remove_prefix(1);
    }
    shape = rest;
  }
  return total;
}

class Timeline {
 public:
  void event(const TraceEvent& event) {
    if (event.phase == 'M') return;
    if (event.phase == 'X' || event.phase == 'i') {
      // A tick under a negotiation is named after the rank that became ready.
      const auto rank = parse_integer(event.name);
      if (rank && *rank >= 0 && *rank < 10'000'000) ranks_ = std::max(ranks_, *rank + 1);
      return;
    }
    if (tensors_.size() >= kMostTensors && tensors_.find(event.process) == tensors_.end()) return;
    Tensor& tensor = tensors_[event.process];
    if (event.phase == 'B') {
      if (tensor.open.size() < kDeepestStack) tensor.open.push_back({event.name, event.start_us});
      if (event.name == "NEGOTIATE_ALLREDUCE") negotiated(tensor, event.start_us);
    } else if (event.phase == 'E' && !tensor.open.empty()) {
      const Activity done = tensor.open.back();
      tensor.open.pop_back();
      finished(tensor, done, event);
    }
  }

  bool any() const { return events_ > 0; }

  ImportedRun finish() {
    negotiations_.settle();
    collectives_.settle();
    if (ranks_ > 0) run_.workers.offer(ranks_);
    RankSplit split;
    std::int64_t steps = 0;
    double step_bytes = 0;
    for (const auto& [process, tensor] : tensors_) {
      steps = std::max(steps, tensor.reductions);
      step_bytes += tensor.bytes;
    }
    if (steps > 0 && last_us_ > first_us_) {
      const double each = 1e-6 / static_cast<double>(steps);
      split.steps = steps;
      split.communication_s = collectives_.covered(first_us_, last_us_) * each;
      if (!run_.step_time.empty()) split.step_s = run_.step_time.mean();
      run_.other["negotiation_s"].add(0, negotiations_.covered(first_us_, last_us_) * each);
      if (step_bytes > 0) run_.other["bytes_per_step"].add(0, step_bytes);
      for (const auto& [name, series] : run_.other) run_.notes[name] = "of all tensors of a step";
      run_.ranks.push_back(split);
    }
    run_.notes["tensors"] = std::to_string(tensors_.size());
    run_.missing.push_back("compute and overlap: a Horovod timeline shows communication only");
    if (run_.step_time.empty()) run_.missing.push_back("step times: no tensor was reduced twice");
    return std::move(run_);
  }

 private:
  struct Activity {
    std::string name;
    double start_us = 0;
  };
  struct Tensor {
    std::vector<Activity> open;
    std::int64_t reductions = 0;
    double last_us = 0;
    double bytes = 0;
  };

  /// The first tensor that comes a second time beats the steps.
  void negotiated(Tensor& tensor, double start_us) {
    ++tensor.reductions;
    if (pace_ == nullptr && tensor.reductions == 2) pace_ = &tensor;
    if (pace_ == &tensor && start_us > tensor.last_us) {
      run_.step_time.add(tensor.reductions - 1, (start_us - tensor.last_us) * 1e-6);
      run_.notes["step_time_from"] = "time between two reductions of one tensor";
    }
    tensor.last_us = start_us;
  }

  void finished(Tensor& tensor, const Activity& done, const TraceEvent& end) {
    ++events_;
    if (events_ == 1 || done.start_us < first_us_) first_us_ = done.start_us;
    last_us_ = std::max(last_us_, end.start_us);
    if (done.name.starts_with("NEGOTIATE_")) {
      negotiations_.add(done.start_us, end.start_us);
    } else if (done.name == "ALLREDUCE" || done.name == "ALLGATHER" || done.name == "BROADCAST" ||
               done.name == "ALLTOALL" || done.name == "REDUCESCATTER") {
      collectives_.add(done.start_us, end.start_us);
    }
    if (done.name == "ALLREDUCE" && !end.argument_shape.empty()) {
      tensor.bytes = elements_of(end.argument_shape) * bytes_of(end.argument_dtype);
    }
  }

  ImportedRun run_;
  std::map<double, Tensor> tensors_;
  Tensor* pace_ = nullptr;
  Intervals negotiations_;
  Intervals collectives_;
  std::int64_t ranks_ = 0;
  std::int64_t events_ = 0;
  double first_us_ = 0;
  double last_us_ = 0;
};

class TimelineReader final : public Reader {
 public:
  std::string_view name() const override { return "horovod-timeline"; }
  std::string_view description() const override {
    return "Horovod timeline JSON (NEGOTIATE_ALLREDUCE, ALLREDUCE), closed or not";
  }

  Match recognise(const Sample& sample) const override {
    const std::string_view text = trim(sample.text);
    if (text.empty() || (text[0] != '[' && text[0] != '{')) return Match::kNo;
    return contains(text, "\"NEGOTIATE_") ? Match::kCertain : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    JsonStream json(input);
    Timeline timeline;
    TraceEvent event;
    JsonToken token = json.next();
    bool whole = true;
    while (token != JsonToken::kEnd && whole) {
      // {"traceEvents": [...]}: the outermost object is no event.
      if (token == JsonToken::kBeginObject && json.depth() > 1) {
        whole = read_trace_event(json, event, true);
        if (whole) timeline.event(event);
      }
      token = json.next();
    }
    // A run that is killed leaves the array open and the last event cut: that is how these files
    // end.
    if (!json.problem().empty() && !contains(json.problem(), "bracket") &&
        !contains(json.problem(), "string")) {
      sink.warn(input.name() + " " + json.problem());
    }
    if (timeline.any()) sink.add(timeline.finish());
  }
};

}  // namespace

std::unique_ptr<Reader> make_horovod_timeline_reader() {
  return std::make_unique<TimelineReader>();
}

}  // namespace lockstep::import
