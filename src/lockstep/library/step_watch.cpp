#include "lockstep/library/step_watch.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <torch/torch.h>
#include <torch/version.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <utility>

#include "lockstep/record/worker_environment.h"

namespace lockstep::library {
namespace {

constexpr std::size_t kStepsPerLine = 256;
/// Written at least this often, so that a killed process loses little.
constexpr Nanoseconds kFlushEvery = 1'000'000'000;

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::int64_t resident_bytes() {
  long pages = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * ::sysconf(_SC_PAGESIZE);
}

/// Names of hosts and devices in JSON.
std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

template <class Steps, class Format>
std::string listed(const Steps& steps, const Format& format) {
  std::string out = "[";
  for (const auto& step : steps) {
    if (out.size() > 1) out += ',';
    out += format(step);
  }
  return out + "]";
}

}  // namespace

StepWatch::StepWatch(int rank, int size) : rank_(rank), size_(size) {
  const char* folder = std::getenv(record::worker_environment::kWatchFolder);
  if (folder == nullptr || *folder == '\0') return;
  folder_ = folder;
  on_ = true;
  flushed_ = sampled_ = clock_.monotonic();
  cpu_s_ = processor_seconds();
}

void StepWatch::describe(std::int64_t parameters, torch::Device device, record::Backend backend) {
  parameters_ += parameters;
  device_ = device;
  backend_ = backend;
}

void StepWatch::mark(Watched phase) {
  if (!device_.is_cpu()) {
    c10::impl::VirtualGuardImpl(device_.type()).getStream(device_).synchronize();
  }
  const Nanoseconds now = clock_.monotonic();
  if (begun_) step_.phases[phase] += now - last_;
  last_ = now;
}

/// A backward without synchronisation is not announced: it is what follows a forward.
void StepWatch::mark_between() {
  mark(after_forward_ ? kBackward : kOther);
  after_forward_ = false;
}

/// Ends the step that had a synchronised backward, and begins the next.
void StepWatch::boundary() {
  mark_between();
  if (begun_ && synchronised_) {
    step_.end = last_;
    steps_.push_back(step_);
    if (!file_) open();
    if (step_.end - sampled_ >= kFlushEvery) sample_usage(step_.end);
    if (step_.end - flushed_ >= kFlushEvery || steps_.size() >= kStepsPerLine) flush();
    Step next;
    next.index = step_.index + 1;
    next.epoch = step_.epoch;
    next.start = last_;
    step_ = std::move(next);
    synchronised_ = false;
  } else if (!begun_) {
    step_.start = last_;
    begun_ = true;
  }
}

void StepWatch::begin_epoch() {
  if (!on_) return;
  wrapped_loader_ = true;
  before_fetch();
  in_pass_ = true;
  step_.epoch = ++epochs_;
}

void StepWatch::set_epoch(int epoch) {
  if (!on_) return;
  if (synchronised_) boundary();
  epochs_ = epoch - 1;
  step_.epoch = epoch;
}

void StepWatch::before_fetch() {
  if (on_) boundary();
}

void StepWatch::after_fetch(std::int64_t examples) {
  if (!on_) return;
  if (examples < 0) {
    // What comes now, validation for example, belongs to no step.
    in_pass_ = begun_ = false;
    step_.phases = {};
    step_.examples = 0;
    return;
  }
  mark(kInput);
  step_.examples += examples;
}

void StepWatch::before_forward(std::int64_t examples) {
  if (!on_) return;
  if (!wrapped_loader_) {
    if (synchronised_ || !begun_) boundary();
    step_.examples += examples;
  }
  mark_between();
}

void StepWatch::after_forward() {
  if (!on_) return;
  mark(kForward);
  after_forward_ = true;
}

void StepWatch::backward_done() {
  if (!on_) return;
  mark(kBackward);
  after_forward_ = false;
  exposed_from_ = last_;
}

void StepWatch::sums_done() {
  if (!on_) return;
  mark(kExposed);
  synchronised_ = true;
  step_.collectives.emplace_back(exposed_from_, last_);
}

void StepWatch::before_optimizer() {
  if (on_) mark_between();
}

void StepWatch::after_optimizer() {
  if (on_) mark(kOptimizer);
}

void StepWatch::norms(double own_squares, double averaged_squares, std::int64_t examples) {
  if (!on_ || !std::isfinite(own_squares) || !std::isfinite(averaged_squares)) return;
  noise_ += fmt::format("{}[{},{:.9g},{:.9g},{}]", noise_.empty() ? "" : ",", step_.index,
                        own_squares, averaged_squares, examples);
}

void StepWatch::log(const std::string& name, double value) {
  if (!on_ || rank_ != 0 || !std::isfinite(value)) return;
  if (!file_) open();
  write(fmt::format("{{\"type\":\"figure\",\"epoch\":{},\"name\":{},\"value\":{:.17g}}}",
                    step_.epoch, json_text(name), value));
}

void StepWatch::open() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string path = fmt::format("{}/rank-{}-{}-{}.jsonl", folder_, rank_, host, ::getpid());
  file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  write(
      fmt::format("{{\"type\":\"started\",\"v\":1,\"rank\":{},\"world\":{},\"host\":{},\"pid\":{},"
                  "\"torch\":{},\"backend\":{},\"device\":{},\"threads\":{},\"parameters\":{},"
                  "\"wall_minus_monotonic_ns\":{}}}",
                  rank_, size_, json_text(host), ::getpid(), json_text(TORCH_VERSION),
                  json_text(std::string(record::name_of(backend_))), json_text(device_.str()),
                  at::get_num_threads(), parameters_, clock_.wall() - clock_.monotonic()));
}

void StepWatch::flush() {
  flushed_ = clock_.monotonic();
  const auto number = [&](auto member) {
    return listed(steps_, [&](const Step& step) { return fmt::format("{}", step.*member); });
  };
  if (!steps_.empty()) {
    write(fmt::format(
        "{{\"type\":\"steps\",\"step\":{},\"epoch\":{},\"examples\":{},\"start_ns\":{},"
        "\"end_ns\":{},\"phases_ns\":{},\"collectives_ns\":{}}}",
        number(&Step::index), number(&Step::epoch),
        listed(steps_,
               [](const Step& step) {
                 return step.examples > 0 ? fmt::format("{}", step.examples) : "null";
               }),
        number(&Step::start), number(&Step::end),
        listed(steps_,
               [](const Step& step) {
                 return listed(step.phases, [](Nanoseconds ns) { return fmt::format("{}", ns); });
               }),
        listed(steps_, [](const Step& step) {
          return listed(step.collectives, [](const auto& span) {
            return fmt::format("[{},{}]", span.first, span.second);
          });
        })));
    steps_.clear();
  }
  if (!noise_.empty()) {
    write(fmt::format("{{\"type\":\"noise\",\"samples\":[{}]}}", std::exchange(noise_, {})));
  }
}

void StepWatch::sample_usage(Nanoseconds now) {
  const double cpu_s = processor_seconds();
  write(
      fmt::format("{{\"type\":\"usage\",\"epoch\":{},\"from_ns\":{},\"to_ns\":{},\"cpu_s\":{},"
                  "\"resident_bytes\":{}}}",
                  step_.epoch, sampled_, now, cpu_s - cpu_s_, resident_bytes()));
  sampled_ = now;
  cpu_s_ = cpu_s;
}

void StepWatch::write(const std::string& line) {
  const std::string text = line + "\n";
  if (file_ &&
      ::write(file_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return;
  }
  on_ = false;
  std::fprintf(stderr,
               "lockstep: the record of rank %d cannot be written to %s; the run continues\n",
               rank_, folder_.c_str());
}

void StepWatch::close() {
  if (!on_) return;
  if (begun_ && synchronised_) boundary();
  if (!file_) return;
  flush();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  write(fmt::format("{{\"type\":\"ended\",\"peak_memory_bytes\":{}}}",
                    std::int64_t{usage.ru_maxrss} * 1024));
  on_ = false;
}

}  // namespace lockstep::library
