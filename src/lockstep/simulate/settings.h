#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/simulate/simulation.h"
#include "lockstep/simulate/step_source.h"

namespace lockstep::simulate {

/// What a user may set about a simulated step and cluster: an option of `lockstep simulate`, a
/// change for --compare, a row of --sweep.
struct SettingInfo {
  std::string_view name;
  std::string_view fallback;  ///< used where neither user nor run says otherwise
  std::string_view help;
};
std::span<const SettingInfo> known_settings();

/// By name, as written.
using Settings = std::map<std::string, std::string>;

/// Seconds of a positive time with a unit. Throws kUsage naming `option` otherwise, and for times
/// that are no longer those of a computer.
double parse_time(const std::string& text, const std::string& option);
/// The same, or none: "0" or "0s".
double parse_time_or_zero(const std::string& text, const std::string& option);

/// The scenario that settings and a measured step describe. Throws kUsage naming the setting, kData
/// where neither gives compute time or gradients.
Scenario make_scenario(const Settings& settings, const StepSource& source);

/// One of several scenarios beside each other.
struct Variant {
  std::string name;
  Settings settings;
};

/// "algorithm=tree,wire=fp16": the base with these settings changed. Throws kUsage naming `option`.
Variant parse_variant(const Settings& base, const std::string& text,
                      const std::string& option = "--compare");

/// "link=10..400Gbit" (doubled from the first to the last) or "bucket=1MB,25MB,100MB": one variant
/// per value. A link without latency keeps that of the base. Throws kUsage.
std::vector<Variant> parse_sweep(const Settings& base, const std::string& text);

/// "8..4096" (doubled from the first to the last) or "1,2,12". Ascending. Throws kUsage.
std::vector<std::int64_t> parse_counts(const std::string& text);

}  // namespace lockstep::simulate
