#include "lockstep/base/text/quantities.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "lockstep/base/error.h"
#include "lockstep/base/text/duration.h"

namespace lockstep {
namespace {

struct Number {
  double value = 0;
  std::string rest;  ///< what follows it, without spaces
};

/// NaN when the text does not begin with a number.
Number leading_number(const std::string& text) {
  char* end = nullptr;
  Number number{std::strtod(text.c_str(), &end), {}};
  if (end == text.c_str()) number.value = std::nan("");
  for (; *end != '\0'; ++end) {
    if (*end != ' ') number.rest += *end;
  }
  return number;
}

}  // namespace

double parse_duration(const std::string& text, const std::string& option) {
  const Number number = leading_number(text);
  const double seconds = number.rest.empty() ? number.value : parse_duration(text).value_or(0);
  if (!(seconds > 0) || !std::isfinite(seconds)) {
    throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not a duration", option, text),
                "give a number with a unit: 90s, 30min, 2h, 3d");
  }
  return seconds;
}

double parse_flops(const std::string& text, const std::string& option) {
  static const std::map<std::string, double> factors{{"", 1},    {"K", 1e3},  {"M", 1e6},
                                                     {"G", 1e9}, {"T", 1e12}, {"P", 1e15}};
  Number number = leading_number(text);
  for (const char* unit : {"FLOP/s", "FLOPS", "FLOPs"}) {
    if (number.rest.ends_with(unit))
      number.rest.erase(number.rest.size() - std::string(unit).size());
  }
  const auto factor = factors.find(number.rest);
  if (!(number.value > 0) || !std::isfinite(number.value) || factor == factors.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not a rate of operations", option, text),
                "give operations per second: 312T, 800G, 1e12");
  }
  return number.value * factor->second;
}

std::map<std::string, double> parse_prices(const std::vector<std::string>& texts) {
  std::map<std::string, double> prices;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    const Number number =
        leading_number(sign == std::string::npos ? std::string() : text.substr(sign + 1));
    const bool hourly = number.rest.empty() || number.rest == "/h";
    if (sign == 0 || !(number.value >= 0) || !std::isfinite(number.value) || !hourly) {
      throw Error(ErrorKind::kUsage, fmt::format("--price '{}' is not a price", text),
                  "give device=price per hour of one device: v100=2.48/h");
    }
    prices[text.substr(0, sign)] = number.value;
  }
  return prices;
}

bool Target::reached_by(double measured) const {
  const bool loss = metric.find("loss") != std::string::npos;
  return loss ? measured <= value : measured >= value;
}

Target parse_target(const std::string& text) {
  const std::size_t sign = text.find('=');
  const Number number =
      leading_number(sign == std::string::npos ? std::string() : text.substr(sign + 1));
  const std::string metric = text.substr(0, std::min(sign, text.size()));
  const bool known = metric == "val_accuracy" || metric == "val_loss" ||
                     metric == "train_accuracy" || metric == "train_loss";
  if (!known || !std::isfinite(number.value) || !number.rest.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("--target '{}' is not a target", text),
                "give a metric and a value: val_accuracy=0.9 (or val_loss, train_accuracy, "
                "train_loss)");
  }
  if (metric.ends_with("accuracy") && (number.value <= 0 || number.value > 1)) {
    throw Error(ErrorKind::kUsage, fmt::format("--target '{}' cannot be reached", text),
                "accuracies are fractions: 0.9 is 90 %");
  }
  return {metric, number.value};
}

LinkText parse_link(const std::string& text, const std::string& option, double usual_latency_s) {
  static const std::map<std::string, double> latencies{
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  static const std::map<std::string, double> bandwidths{
      {"MB/s", 1e6},      {"GB/s", 1e9},      {"TB/s", 1e12},    {"Mbit/s", 1e6 / 8},
      {"Mbit", 1e6 / 8},  {"Mb/s", 1e6 / 8},  {"Mbps", 1e6 / 8}, {"Gbit/s", 1e9 / 8},
      {"Gbit", 1e9 / 8},  {"Gb/s", 1e9 / 8},  {"Gbps", 1e9 / 8}, {"Tbit/s", 1e12 / 8},
      {"Tbit", 1e12 / 8}, {"Tb/s", 1e12 / 8}, {"Tbps", 1e12 / 8}};
  LinkText link{usual_latency_s, -1};
  const auto read = [&](const std::string& part) {
    const Number number = leading_number(part);
    const auto latency = latencies.find(number.rest);
    const auto bandwidth = bandwidths.find(number.rest);
    if (!std::isfinite(number.value) || number.value < 0) return;
    if (latency != latencies.end()) link.latency_s = number.value * latency->second;
    if (bandwidth != bandwidths.end()) link.bytes_per_s = number.value * bandwidth->second;
  };
  const bool latency_needed = usual_latency_s < 0;
  const std::size_t comma = text.find(',');
  read(text.substr(0, comma));
  if (comma != std::string::npos) read(text.substr(comma + 1));
  if (link.bytes_per_s == 0) {
    throw Error(ErrorKind::kUsage, fmt::format("{} '{}' has no bandwidth", option, text),
                "nothing would arrive: give a bandwidth above zero");
  }
  if (link.latency_s < 0 || link.bytes_per_s < 0) {
    throw Error(ErrorKind::kUsage,
                latency_needed
                    ? fmt::format("{} '{}' is not a latency and a bandwidth", option, text)
                    : fmt::format("{} '{}' is not a bandwidth", option, text),
                latency_needed ? "write it as 30us,4GB/s or 200Gbit,2us"
                               : "write it as 200Gbit or 25GB/s, with a latency as 200Gbit,2us");
  }
  return link;
}

}  // namespace lockstep
