#include "lockstep/import/model/measurement_units.h"

#include <algorithm>
#include <array>
#include <span>

namespace lockstep::import {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kTimes = std::to_array<Unit>({{"s", 1},
                                                   {"sec", 1},
                                                   {"secs", 1},
                                                   {"second", 1},
                                                   {"seconds", 1},
                                                   {"s/epoch", 1},
                                                   {"ms", 1e-3},
                                                   {"milliseconds", 1e-3},
                                                   {"us", 1e-6},
                                                   {"µs", 1e-6},
                                                   {"ns", 1e-9},
                                                   {"min", 60},
                                                   {"mins", 60},
                                                   {"minute", 60},
                                                   {"minutes", 60},
                                                   {"h", 3600},
                                                   {"hour", 3600},
                                                   {"hours", 3600}});

constexpr std::array kThings =
    std::to_array<std::string_view>({"examples", "example", "ex", "images", "image", "img", "imgs",
                                     "samples", "sample", "sequences", "sentences", "items"});

// Bits and bytes apart, decimal and binary apart: 1 Gbit/s is 0.125 GB/s, 1 GiB/s is 1.0737 GB/s.
constexpr std::array kBandwidths = std::to_array<Unit>({{"B/s", 1e-9},
                                                        {"kB/s", 1e-6},
                                                        {"KB/s", 1e-6},
                                                        {"MB/s", 1e-3},
                                                        {"GB/s", 1},
                                                        {"TB/s", 1e3},
                                                        {"KiB/s", 1024e-9},
                                                        {"MiB/s", 1048576e-9},
                                                        {"GiB/s", 1073741824e-9},
                                                        {"Mbit/s", 1.25e-4},
                                                        {"Mb/s", 1.25e-4},
                                                        {"Gbit/s", 0.125},
                                                        {"Gb/s", 0.125},
                                                        {"Gbps", 0.125},
                                                        {"Mbps", 1.25e-4}});

std::optional<double> find(std::span<const Unit> units, std::string_view name) {
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const Unit& unit) { return unit.name == name; });
  if (found == units.end()) return std::nullopt;
  return found->factor;
}

/// "images/s", "img/sec", "samples/min".
std::optional<double> rate_factor(std::string_view unit) {
  const std::size_t slash = unit.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view things = unit.substr(0, slash);
  if (std::find(kThings.begin(), kThings.end(), things) == kThings.end()) return std::nullopt;
  const auto seconds = find(kTimes, unit.substr(slash + 1));
  if (!seconds) return std::nullopt;
  return 1 / *seconds;
}

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return text.ends_with(ending); });
}

}  // namespace

Quantity quantity_of(std::string_view metric) {
  if (metric.starts_with("reported_")) metric.remove_prefix(9);
  if (ends_with_any(metric, {"_time", "_time_without_data"})) return Quantity::kTime;
  if (ends_with_any(metric, {"throughput"})) return Quantity::kRate;
  if (ends_with_any(metric, {"accuracy", "efficiency"})) return Quantity::kFraction;
  if (ends_with_any(metric, {"bandwidth"}) || metric == "algbw" || metric == "busbw") {
    return Quantity::kBandwidth;
  }
  if (ends_with_any(metric, {"loss", "speedup"}) || metric == "epochs_to_stable" ||
      metric == "out_of_memory" || metric == "parameters") {
    return Quantity::kPlain;
  }
  return Quantity::kUnknown;
}

std::string_view canonical_unit(Quantity quantity) {
  switch (quantity) {
    case Quantity::kTime:
      return "s";
    case Quantity::kRate:
      return "examples/s";
    case Quantity::kBandwidth:
      return "GB/s";
    default:
      return "";
  }
}

std::optional<double> unit_factor(Quantity quantity, std::string_view unit) {
  switch (quantity) {
    case Quantity::kTime:
      return find(kTimes, unit);
    case Quantity::kRate:
      return rate_factor(unit);
    case Quantity::kBandwidth:
      return find(kBandwidths, unit);
    case Quantity::kFraction:
      if (unit == "%" || unit == "percent") return 0.01;
      return unit.empty() ? std::optional(1.0) : std::nullopt;
    case Quantity::kPlain:
      if (unit.empty() || unit == "epochs" || unit == "x" || unit == "count") return 1.0;
      return std::nullopt;
    case Quantity::kUnknown:
      return 1.0;
  }
  return std::nullopt;
}

std::string_view units_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kTime:
      return "s, ms, us, ns, min or h";
    case Quantity::kRate:
      return "examples/s, images/s, samples/s or the like";
    case Quantity::kBandwidth:
      return "GB/s, MB/s, GiB/s, Gbit/s or the like";
    case Quantity::kFraction:
      return "% or nothing";
    default:
      return "nothing";
  }
}

}  // namespace lockstep::import
