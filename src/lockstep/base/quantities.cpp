#include "lockstep/base/quantities.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "lockstep/base/error.h"

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
  static const std::map<std::string, double> units{
      {"", 1}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"ms", 0.001}};
  const Number number = leading_number(text);
  const auto unit = units.find(number.rest);
  if (!(number.value > 0) || !std::isfinite(number.value) || unit == units.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("{} '{}' is not a duration", option, text),
                "give a number with a unit: 90s, 30min, 2h, 3d");
  }
  return number.value * unit->second;
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

LinkText parse_link(const std::string& text) {
  static const std::map<std::string, double> latencies{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}};
  static const std::map<std::string, double> bandwidths{
      {"MB/s", 1e6}, {"GB/s", 1e9}, {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}};
  const auto quantity = [&](const std::string& part, const std::map<std::string, double>& units) {
    char* end = nullptr;
    const double value = std::strtod(part.c_str(), &end);
    const auto unit = units.find(end);
    if (end == part.c_str() || unit == units.end() || !std::isfinite(value) || value <= 0) {
      throw Error(ErrorKind::kUsage, "--link '" + text + "' is not a latency and a bandwidth",
                  "write it as 30us,4GB/s");
    }
    return value * unit->second;
  };
  const std::size_t comma = text.find(',');
  const std::string second = comma == std::string::npos ? "" : text.substr(comma + 1);
  return {quantity(text.substr(0, comma), latencies), quantity(second, bandwidths)};
}

}  // namespace lockstep
