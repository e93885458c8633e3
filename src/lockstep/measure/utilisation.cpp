#include "lockstep/measure/utilisation.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

namespace lockstep::measure {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

record::Utilisation merge(const record::Utilisation& a, const record::Utilisation& b) {
  record::Utilisation both = b;
  both.seconds = a.seconds + b.seconds;
  if (both.seconds <= 0) return both;
  const auto mean = [&](double x, double y) {
    return (x * a.seconds + y * b.seconds) / both.seconds;
  };
  both.cpu_cores = mean(a.cpu_cores, b.cpu_cores);
  if (std::isfinite(a.gpu) && std::isfinite(b.gpu)) both.gpu = mean(a.gpu, b.gpu);
  both.resident_bytes = std::max(a.resident_bytes, b.resident_bytes);
  both.gpu_memory_bytes = std::max(a.gpu_memory_bytes, b.gpu_memory_bytes);
  return both;
}

}  // namespace

ProcessUsage read_process_usage() {
  ProcessUsage usage;
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  usage.cpu_s = seconds(own.ru_utime) + seconds(own.ru_stime);
  std::int64_t pages = 0, resident = 0;
  std::ifstream statm("/proc/self/statm");
  if (statm >> pages >> resident) usage.resident_bytes = resident * ::sysconf(_SC_PAGESIZE);
  return usage;
}

void UtilisationLog::add(const record::Utilisation& sample) {
  samples_.push_back(sample);
  if (samples_.size() <= most_) return;
  std::vector<record::Utilisation> merged;
  std::size_t i = 0;
  for (; i + 1 < samples_.size(); i += 2) merged.push_back(merge(samples_[i], samples_[i + 1]));
  if (i < samples_.size()) merged.push_back(samples_[i]);
  samples_ = std::move(merged);
}

std::vector<record::Utilisation> UtilisationLog::take() {
  std::vector<record::Utilisation> taken;
  std::swap(taken, samples_);
  return taken;
}

UtilisationSampler::UtilisationSampler(const Clock& clock, int rank,
                                       const std::optional<VisibleGpu>& gpu, Seconds interval)
    : clock_(clock),
      rank_(rank),
      interval_(interval),
      nvml_(gpu ? Nvml::open() : std::nullopt),
      began_(clock.monotonic()),
      last_(began_),
      usage_(read_process_usage()),
      log_(kKept) {
  if (nvml_) gpu_ = nvml_index(*nvml_, *gpu, std::getenv("CUDA_VISIBLE_DEVICES"));
  thread_ = std::thread([this] { run(); });
}

UtilisationSampler::~UtilisationSampler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void UtilisationSampler::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval_, [this] { return stopping_; })) sample();
}

/// With the mutex held.
void UtilisationSampler::sample() {
  const Nanoseconds now = clock_.monotonic();
  const ProcessUsage usage = read_process_usage();
  record::Utilisation sample;
  sample.rank = rank_;
  sample.at_s = static_cast<double>(now - began_) * 1e-9;
  sample.seconds = static_cast<double>(now - last_) * 1e-9;
  if (sample.seconds <= 0) return;
  sample.cpu_cores = (usage.cpu_s - usage_.cpu_s) / sample.seconds;
  sample.resident_bytes = usage.resident_bytes;
  if (nvml_ && gpu_) {
    if (const auto gpu = nvml_->read(*gpu_)) {
      sample.gpu = gpu->busy;
      sample.gpu_memory_bytes = gpu->memory_bytes;
    }
  }
  last_ = now;
  usage_ = usage;
  log_.add(sample);
}

std::vector<record::Utilisation> UtilisationSampler::take(int epoch) {
  const std::lock_guard lock(mutex_);
  sample();
  auto samples = log_.take();
  for (record::Utilisation& sample : samples) sample.epoch = epoch;
  return samples;
}

}  // namespace lockstep::measure
