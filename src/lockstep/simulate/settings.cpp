#include "lockstep/simulate/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/text/duration.h"
#include "lockstep/base/text/quantities.h"
#include "lockstep/base/units.h"

namespace lockstep::simulate {
namespace {

/// What a stated latency and bandwidth are taken to be off by, as `lockstep predict` has it.
constexpr double kStatedLinkSpread = 0.3;
/// Between all and nothing of what overlap could hide: exchange and compute take time from each
/// other. bench/simulate/README.md compares it with published steps.
constexpr double kHiddenShare = 0.5;
/// Beyond these, sums of times lose their digits.
constexpr double kShortestTime = 1e-12;
constexpr double kLongestTime = 1e12;
/// Backward takes about twice as long as forward.
constexpr double kBackwardShare = 2.0 / 3;

constexpr std::array<SettingInfo, 27> kSettings{{
    {"compute", "", "Forward and backward of one worker: 120ms"},
    {"backward", "", "The part of --compute that is backward (default: two thirds)"},
    {"other", "", "Optimizer and the rest of a step: 5ms"},
    {"input", "", "Waiting for the loader in each step: 2ms"},
    {"batch", "", "Batch per worker, for examples/s"},
    {"gradients", "", "Size of all gradients in 32 bits: 100MB"},
    {"bucket", "", "Gradients summed at a time, in 32 bits (default: the run's, else 25MB)"},
    {"jitter", "", "Relative spread of a worker's compute time: 3%, or none (default: the run's)"},
    {"per-host", "1", "Workers on each host; those of a run on CPUs share its cores"},
    {"machines", "",
     "Number of physical machines, if several hosts are containers or virtual machines on one "
     "(default: as many as hosts)"},
    {"inside", "", "Link of each worker inside its host (default: calibrated, else 300GB/s,2us)"},
    {"link", "",
     "Link of each host to the network (default: calibrated, else 200Gbit,2us; latency default "
     "2us)"},
    {"nics", "1", "Links per host, used together"},
    {"link-spread", "", "Relative uncertainty of the links (default: the calibration's, else 30%)"},
    {"topology", "star", "star, fat-tree:LEVELS, torus[:4x4x4], dragonfly or a SimGrid .xml file"},
    {"hosts-per-switch", "", "Hosts at each lowest switch (default: 16; of a dragonfly 4)"},
    {"uplinks", "", "Uplinks of each switch of a fat tree (default: as many as hosts)"},
    {"background", "0%", "Other traffic, as a share of each host's link: 30%"},
    {"algorithm", "auto", "auto, ring, tree, halving-doubling, hierarchical or central"},
    {"wire", "", "fp32 or fp16: format of gradients on the wire (default: the run's, else fp32)"},
    {"overlap", "",
     "Overlap with backward: yes, no, or the share of the possible overlap that is achieved "
     "(default: the run's, else yes; 50%)"},
    {"accumulate", "", "Micro-steps per exchange (default: the run's, else 1)"},
    {"local-sgd", "1", "Average parameters every K steps instead of gradients in every step"},
    {"slow-rank", "", "Compute time of one slow worker, relative to the others: 1.5"},
    {"mixed", "", "Workers of another speed, as share:speed: 25%:0.5 (several: 25%:0.5+10%:0.8)"},
    {"seed", "1", "Seed of random draws"},
    {"shape", "", "Bucket ready times: even, or layers where the network is known (default)"},
}};

std::string value_of(const Settings& settings, std::string_view name) {
  const auto found = settings.find(std::string(name));
  if (found != settings.end() && !found->second.empty()) return found->second;
  const auto info = std::find_if(kSettings.begin(), kSettings.end(),
                                 [&](const SettingInfo& one) { return one.name == name; });
  return std::string(info->fallback);
}

[[noreturn]] void refuse(std::string_view name, const std::string& text, const char* what,
                         const std::string& hint) {
  throw Error(ErrorKind::kUsage, fmt::format("--{} '{}' is not {}", name, text, what), hint);
}

double number(const std::string& text, std::string_view name, double least, double most,
              const char* example) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  const std::string rest(end);
  if (rest == "%") value /= 100;
  if (end == text.c_str() || (!rest.empty() && rest != "%") || !(value >= least) ||
      !(value <= most)) {
    refuse(name, text, fmt::format("a number from {:.10g} to {:.10g}", least, most).c_str(),
           fmt::format("for example --{} {}", name, example));
  }
  return value;
}

double numeric(const Settings& settings, std::string_view name, double fallback, double least,
               double most, const char* example) {
  const std::string text = value_of(settings, name);
  return text.empty() ? fallback : number(text, name, least, most, example);
}

double whole(const Settings& settings, std::string_view name, double fallback, double most,
             double least = 1) {
  const double value = numeric(settings, name, fallback, least, most, "8");
  if (value != std::floor(value)) {
    refuse(name, value_of(settings, name), "a whole number", fmt::format("--{} 8", name));
  }
  return value;
}

/// A step of 120 may be meant in seconds or milliseconds, gradients of 100 in bytes or megabytes.
void require_unit(const std::string& text, const std::string& option, const std::string& units) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || value == 0 || !std::isfinite(value)) return;
  throw Error(ErrorKind::kUsage, fmt::format("{} '{}' has no unit", option, text),
              fmt::format("write it as {}", units));
}

/// "0", "0s", "0.0ms"; other text is left to its parser.
bool is_zero(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit(end);
  return end != text.c_str() && value == 0 &&
         (unit.empty() || parse_duration("1" + unit).has_value());
}

double seconds(const Settings& settings, std::string_view name, double fallback) {
  const std::string text = value_of(settings, name);
  return text.empty() ? fallback : parse_time_or_zero(text, fmt::format("--{}", name));
}

double bytes(const Settings& settings, std::string_view name, double fallback) {
  const std::string text = value_of(settings, name);
  if (text.empty()) return fallback;
  const std::string option = fmt::format("--{}", name);
  require_unit(text, option, fmt::format("{0}MB, {0}kB or {0}B", text));
  return static_cast<double>(parse_bytes(text, option).count);
}

/// Compute that was measured with one batch is not that of another.
double batch_of(const Settings& settings, const StepSource& source) {
  const double measured = source.shape.batch_per_worker;
  const double batch = whole(settings, "batch", measured, 1e9);
  if (measured > 0 && batch != measured && value_of(settings, "compute").empty()) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--batch {:.0f} needs the compute time of that batch: the run has b = {:.0f}",
                    batch, measured),
        "add --compute, or name a run with that batch");
  }
  return batch;
}

StepShape shape_of(const Settings& settings, const StepSource& source) {
  StepShape shape = source.shape;
  const double measured = shape.forward_s + shape.backward_s;
  const std::string stated = value_of(settings, "compute");
  const double compute = stated.empty() ? measured : parse_time(stated, "--compute");
  const double share = measured > 0 ? shape.backward_s / measured : kBackwardShare;
  shape.backward_s = seconds(settings, "backward", compute * share);
  if (shape.backward_s > compute) {
    refuse("backward", value_of(settings, "backward"), "a part of --compute",
           "--compute covers forward and backward together");
  }
  shape.forward_s = compute - shape.backward_s;
  shape.other_s = seconds(settings, "other", shape.other_s);
  shape.input_s = seconds(settings, "input", shape.input_s);
  shape.batch_per_worker = batch_of(settings, source);
  shape.accumulate = static_cast<int>(whole(settings, "accumulate", shape.accumulate, 1e6));
  shape.local_steps = static_cast<std::int64_t>(whole(settings, "local-sgd", 1, 1e9));
  const std::string overlap = value_of(settings, "overlap");
  shape.hidden = kHiddenShare;
  if (overlap == "yes" || overlap == "no") {
    shape.overlap = overlap == "yes";
  } else if (!overlap.empty()) {
    shape.overlap = true;
    shape.hidden = number(overlap, "overlap", 0, 1, "80%, or yes or no");
  }
  return shape;
}

double wire_factor(const Settings& settings, const StepSource& source) {
  const std::string wire = value_of(settings, "wire");
  if (wire.empty()) return source.half_wire ? 0.5 : 1;
  if (wire == "fp16" || wire == "bf16") return 0.5;
  if (wire == "fp32" || wire == "float") return 1;
  refuse("wire", wire, "fp32 or fp16", "--wire fp16 halves the bytes on the wire");
}

std::vector<Bucket> buckets_of(const Settings& settings, const StepSource& source) {
  const double gradients = bytes(settings, "gradients", source.gradient_bytes);
  if (!(gradients > 0) && value_of(settings, "gradients").empty()) {
    throw Error(ErrorKind::kData, "the size of the gradients is not known",
                "give --gradients 100MB: four bytes per parameter");
  }
  const std::string how = value_of(settings, "shape");
  if (!how.empty() && how != "even" && how != "layers") {
    refuse("shape", how, "even or layers", "--shape even spreads gradients evenly over backward");
  }
  const double bucket = bytes(settings, "bucket", source.bucket_bytes);
  const double factor = wire_factor(settings, source);
  if (how == "even") return plan_buckets(gradients, bucket, factor);
  return plan_buckets(gradients, bucket, factor, source.layers);
}

LinkSpeed link_of(const Settings& settings, const char* name, const MeasuredLink& measured,
                  const LinkSpeed& fallback) {
  const std::string text = value_of(settings, name);
  if (text.empty()) return measured.known() ? measured.speed : fallback;
  const std::string option = fmt::format("--{}", name);
  const LinkText link = text.find(',') == std::string::npos
                            ? parse_link(text, option, fallback.latency_s)
                            : parse_link(text, option);
  return {link.latency_s, link.bytes_per_s};
}

/// What would be read and not used.
void refuse_without_effect(const Settings& settings, const Topology& topology) {
  const bool platform = topology.kind == TopologyKind::kPlatform;
  const bool switches =
      topology.kind == TopologyKind::kFatTree || topology.kind == TopologyKind::kDragonfly;
  if (platform) {
    for (const char* name : {"link", "nics"}) {
      const auto given = settings.find(name);
      if (given == settings.end() || given->second.empty()) continue;
      throw Error(ErrorKind::kUsage,
                  fmt::format("--{} has no effect: the links are those of {}", name, topology.path),
                  "change them in the platform file, or describe the network with --topology "
                  "fat-tree:2");
    }
  }
  if (!value_of(settings, "hosts-per-switch").empty() && !switches) {
    throw Error(ErrorKind::kUsage, "--hosts-per-switch applies to a fat tree or a dragonfly",
                "add --topology fat-tree:2");
  }
  if (!value_of(settings, "uplinks").empty() && topology.kind != TopologyKind::kFatTree) {
    throw Error(ErrorKind::kUsage, "--uplinks applies to a fat tree", "add --topology fat-tree:2");
  }
}

Cluster cluster_of(const Settings& settings, const StepSource& source) {
  Cluster cluster;
  cluster.topology = parse_topology(value_of(settings, "topology"));
  refuse_without_effect(settings, cluster.topology);
  cluster.per_host = static_cast<std::int64_t>(whole(settings, "per-host", 1, 1024));
  cluster.inside = link_of(settings, "inside", source.inside, cluster.inside);
  cluster.background = numeric(settings, "background", 0, 0, 0.95, "30%");
  cluster.link = link_of(settings, "link", source.between, cluster.link);
  cluster.link.bytes_per_s *= whole(settings, "nics", 1, 64);
  cluster.topology.hosts_per_switch = static_cast<int>(
      whole(settings, "hosts-per-switch", cluster.topology.hosts_per_switch, 4096));
  cluster.topology.uplinks = static_cast<int>(whole(settings, "uplinks", 0, 4096));
  cluster.seed = static_cast<std::uint64_t>(whole(settings, "seed", 1, 1e15, 0));
  return cluster;
}

std::vector<OddWorkers> odd_workers(const Settings& settings) {
  std::vector<OddWorkers> odd;
  const std::string slow = value_of(settings, "slow-rank");
  if (!slow.empty()) odd.push_back({0, 1 / number(slow, "slow-rank", 1, 1000, "1.5")});
  const std::string mixed = value_of(settings, "mixed");
  for (std::size_t begin = 0; begin < mixed.size();) {
    const std::size_t end = std::min(mixed.find('+', begin), mixed.size());
    const std::string part = mixed.substr(begin, end - begin);
    const std::size_t colon = part.find(':');
    if (colon == std::string::npos) {
      refuse("mixed", mixed, "a share and a speed",
             "--mixed 25%:0.5: a quarter of the workers has half the speed");
    }
    odd.push_back({number(part.substr(0, colon), "mixed", 1e-9, 1, "25%:0.5"),
                   number(part.substr(colon + 1), "mixed", 1e-3, 1000, "25%:0.5")});
    begin = end + 1;
  }
  double shares = 0;
  for (const OddWorkers& one : odd) shares += one.share;
  if (shares > 1 + 1e-9) {
    refuse("mixed", mixed, "a mix of at most 100 % of the workers",
           "workers outside these shares have the measured speed");
  }
  return odd;
}

/// What the cores behind the hosts are shared by.
void share_machines(Scenario& scenario, const Settings& settings, const StepSource& source) {
  scenario.sharing = source.sharing;
  scenario.machines = static_cast<std::int64_t>(whole(settings, "machines", 0, 1e6));
  scenario.overlap_stated = !value_of(settings, "overlap").empty();
  if (scenario.machines > 0 && !scenario.sharing) {
    throw Error(ErrorKind::kUsage,
                "--machines has no effect: only workers of a run on CPUs share the cores of a "
                "machine",
                "name such a run with --run, or state the slowdown: --mixed 100%:0.5");
  }
}

double link_spread(const Settings& settings, const StepSource& source, const Cluster& cluster) {
  const MeasuredLink& used =
      cluster.per_host > 1 && !source.between.known() && value_of(settings, "link").empty()
          ? source.inside
          : source.between;
  const bool measured = used.known() && value_of(settings, "link").empty();
  return numeric(settings, "link-spread", measured ? used.spread : kStatedLinkSpread, 0, 3, "20%");
}

}  // namespace

double parse_time(const std::string& text, const std::string& option) {
  if (is_zero(text)) {
    throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is zero", option, text),
                "give a time above zero: 120ms");
  }
  require_unit(text, option, fmt::format("{0}ms, {0}s or {0}h", text));
  const double seconds = parse_duration(text, option);
  if (seconds < kShortestTime || seconds > kLongestTime) {
    throw Error(ErrorKind::kUsage, fmt::format("{} '{}' cannot be simulated", option, text),
                "give a time between 1 ps and 30,000 years");
  }
  return seconds;
}

double parse_time_or_zero(const std::string& text, const std::string& option) {
  return is_zero(text) ? 0 : parse_time(text, option);
}

std::span<const SettingInfo> known_settings() {
  return kSettings;
}

Scenario make_scenario(const Settings& settings, const StepSource& source) {
  Scenario scenario;
  scenario.shape = shape_of(settings, source);
  if (!(scenario.shape.forward_s + scenario.shape.backward_s > 0)) {
    throw Error(ErrorKind::kUsage, "neither a run nor --compute gives the time of a step",
                "name a run of the store (--run 12), or give --compute 120ms --gradients 100MB");
  }
  scenario.shape.buckets = buckets_of(settings, source);
  scenario.cluster = cluster_of(settings, source);
  const std::string jitter = value_of(settings, "jitter");
  scenario.jitter = jitter.empty()     ? source.jitter
                    : jitter == "none" ? Jitter()
                                       : Jitter::stated(number(jitter, "jitter", 0, 2, "3%"));
  // Jitter is that of the micro-steps that were measured; more of them even each other out.
  scenario.jitter = scenario.jitter.averaged(
      scenario.shape.accumulate / std::max(source.shape.accumulate, 1), scenario.cluster.seed);
  const std::string algorithm = value_of(settings, "algorithm");
  if (algorithm != "auto") scenario.algorithm = algorithm_from_name(algorithm);
  scenario.odd = odd_workers(settings);
  share_machines(scenario, settings, source);
  scenario.link_spread = link_spread(settings, source, scenario.cluster);
  scenario.compute_spread = source.compute_spread;
  return scenario;
}

}  // namespace lockstep::simulate
