#include "lockstep/measure/energy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "lockstep/base/units.h"

namespace lockstep::measure {
namespace {

namespace fs = std::filesystem;

std::optional<double> microjoules_in(const fs::path& path) {
  std::ifstream in(path);
  double value = 0;
  return in >> value ? std::optional(value * 1e-6) : std::nullopt;
}

std::string zone_name_in(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Zones that add up without counting anything twice: "core" and "uncore" are parts of a package,
/// "psys" contains all, and the folders of intel-rapl-mmio repeat those of intel-rapl.
bool is_counted(const std::string& folder, const std::string& name) {
  return folder.find("-mmio") == std::string::npos &&
         (name.starts_with("package") || name == "dram");
}

}  // namespace

EnergyMeter::EnergyMeter()
    : EnergyMeter(Places{.visible_gpus = std::getenv("CUDA_VISIBLE_DEVICES")}) {}

EnergyMeter::EnergyMeter(const Places& places) : nvml_(Nvml::open(places.nvml)) {
  find_zones(places.powercap);
  if (nvml_) find_gpus(places.visible_gpus);
}

void EnergyMeter::find_zones(const fs::path& powercap) {
  std::error_code problem;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(powercap, problem)) {
    folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  problem_ = fmt::format("{} contains no energy counter of a processor", powercap.string());
  for (const fs::path& folder : folders) {
    Zone zone{zone_name_in(folder / "name"), folder / "energy_uj"};
    if (!is_counted(folder.filename().string(), zone.name)) continue;
    const auto now = microjoules_in(zone.counter);
    if (!now) {
      problem_ = fmt::format("{} cannot be read; on most systems only root can read it",
                             zone.counter.string());
      zones_.clear();  // a part of the processors would pass for all
      return;
    }
    zone.last_j = *now;
    zone.range_j = microjoules_in(folder / "max_energy_range_uj").value_or(0);
    zones_.push_back(std::move(zone));
  }
}

void EnergyMeter::find_gpus(const char* visible) {
  for (int at = 0; at < nvml_->gpus(); ++at) {
    const std::optional<int> index = nvml_index(*nvml_, {.number = at, .pci_id = ""}, visible);
    if (!index) continue;
    Gpu gpu{*index, nvml_->energy_j(*index)};
    if (gpu.last_j || nvml_->power_w(*index)) gpus_.push_back(gpu);
  }
}

HostEnergy EnergyMeter::read(Nanoseconds now) {
  for (Zone& zone : zones_) {
    const auto value = microjoules_in(zone.counter);
    if (!value) continue;
    double used = *value - zone.last_j;
    if (used < 0) used = std::max(0.0, used + zone.range_j);
    used_.processors_j += used;
    zone.last_j = *value;
  }
  const double seconds = read_at_ > 0 ? static_cast<double>(now - read_at_) * 1e-9 : 0;
  for (Gpu& gpu : gpus_) {
    if (!gpu.last_j) {
      used_.gpus_j += nvml_->power_w(gpu.index).value_or(0) * seconds;
    } else if (const auto value = nvml_->energy_j(gpu.index)) {
      used_.gpus_j += std::max(0.0, *value - *gpu.last_j);
      gpu.last_j = value;
    }
  }
  read_at_ = now;
  return used_;
}

std::string EnergyMeter::source(bool with_gpus) const {
  if (with_gpus && gpus_.empty()) return "not measured: no GPU reports its energy";
  if (!with_gpus && zones_.empty()) return "not measured: " + problem_;
  std::vector<std::string> parts;
  std::vector<std::string> names;
  for (const Zone& zone : zones_) names.push_back(zone.name);
  if (!names.empty()) parts.push_back(fmt::format("RAPL: {}", fmt::join(names, ", ")));
  if (with_gpus) {
    parts.push_back("NVML: " + counted(std::ssize(gpus_), "GPU"));
    if (zones_.empty()) parts.emplace_back("without processors: " + problem_);
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

EnergySampler::EnergySampler(const Clock& clock, EnergyMeter meter, Seconds interval)
    : clock_(clock), meter_(std::move(meter)), interval_(interval) {
  sample();
  if (meter_.processors() || meter_.gpus()) thread_ = std::thread([this] { run(); });
}

EnergySampler::~EnergySampler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EnergySampler::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval_, [this] { return stopping_; })) sample();
}

/// With the mutex held, or alone.
void EnergySampler::sample() {
  const Nanoseconds now = clock_.monotonic();
  samples_.push_back({now, meter_.read(now)});
  if (samples_.size() < kMostSamples) return;
  std::vector<Sample> half;
  for (std::size_t i = 0; i < samples_.size(); i += 2) half.push_back(samples_[i]);
  half.push_back(samples_.back());
  samples_ = std::move(half);
}

bool EnergySampler::readable(bool with_gpus) const {
  return with_gpus ? meter_.gpus() : meter_.processors();
}

double EnergySampler::at(Nanoseconds moment, bool with_gpus) const {
  const auto joules = [&](const Sample& one) {
    return one.used.processors_j + (with_gpus ? one.used.gpus_j : 0);
  };
  const auto after =
      std::lower_bound(samples_.begin(), samples_.end(), moment,
                       [](const Sample& one, Nanoseconds when) { return one.at < when; });
  if (after == samples_.begin()) return joules(samples_.front());
  if (after == samples_.end()) return joules(samples_.back());
  const Sample& before = *std::prev(after);
  const double share = static_cast<double>(moment - before.at) /
                       static_cast<double>(std::max<Nanoseconds>(1, after->at - before.at));
  return joules(before) + share * (joules(*after) - joules(before));
}

std::optional<double> EnergySampler::between(Nanoseconds from, Nanoseconds to, bool with_gpus) {
  if (!readable(with_gpus)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  sample();
  return at(to, with_gpus) - at(from, with_gpus);
}

std::optional<double> EnergySampler::total(bool with_gpus) {
  if (!readable(with_gpus)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  sample();
  return at(samples_.back().at, with_gpus);
}

}  // namespace lockstep::measure
