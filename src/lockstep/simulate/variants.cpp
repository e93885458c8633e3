#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "lockstep/base/error.h"
#include "lockstep/base/text/quantities.h"
#include "lockstep/simulate/settings.h"

namespace lockstep::simulate {
namespace {

constexpr std::int64_t kMostWorkers = 1'000'000;

bool is_setting(std::string_view name) {
  const auto known = known_settings();
  return std::any_of(known.begin(), known.end(),
                     [&](const SettingInfo& one) { return one.name == name; });
}

std::vector<std::string> cut(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Throws kUsage where `name` is no setting or its value is missing.
void check_change(const std::string& option, const std::string& name, std::string_view value) {
  if (is_setting(name)) {
    if (!value.empty()) return;
    throw Error(ErrorKind::kUsage, fmt::format("{} {} has no value", option, name),
                fmt::format("write it as {} {}=VALUE", option, name));
  }
  std::vector<std::string_view> names;
  for (const SettingInfo& one : known_settings()) names.push_back(one.name);
  throw Error(ErrorKind::kUsage, fmt::format("{} has no setting '{}'", option, name),
              fmt::format("settings: {}", fmt::join(names, ", ")));
}

[[noreturn]] void refuse_batch(const std::string& option, const std::string& batch) {
  throw Error(ErrorKind::kUsage,
              fmt::format("{} batch={} needs the compute time of each batch", option, batch),
              "state both: --compare batch=64,compute=240ms");
}

/// Another batch takes another time, which the base does not have.
void check_batch(const Settings& base, const Variant& variant, const std::string& option) {
  const auto value = [](const Settings& settings, const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string() : found->second;
  };
  const std::string batch = value(variant.settings, "batch");
  if (batch == value(base, "batch") || value(base, "batch").empty()) return;
  if (value(variant.settings, "compute") != value(base, "compute")) return;
  refuse_batch(option, batch);
}

/// A bandwidth alone keeps the latency of the base.
std::string with_latency(const Settings& base, const std::string& name, const std::string& value) {
  if ((name != "link" && name != "inside") || value.find(',') != std::string::npos) return value;
  const auto old = base.find(name);
  if (old == base.end() || old->second.find(',') == std::string::npos) return value;
  return fmt::format("{},{}s", value, parse_link(old->second, "--" + name).latency_s);
}

std::vector<double> doubled(double first, double last) {
  std::vector<double> values;
  for (double value = first; value < last * (1 - 1e-9); value *= 2) values.push_back(value);
  values.push_back(last);
  return values;
}

std::vector<std::string> sweep_values(const std::string& text, const std::string& range) {
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos) return cut(range, ',');
  char* end = nullptr;
  const std::string last_text = range.substr(dots + 2);
  const double first = std::strtod(range.c_str(), nullptr);
  const double last = std::strtod(last_text.c_str(), &end);
  if (!(first > 0) || !(last >= first) || last / first > 1e9) {
    throw Error(ErrorKind::kUsage, fmt::format("--sweep '{}' is not a range", text),
                "give the first and the last value, then the unit: --sweep link=10..400Gbit");
  }
  std::vector<std::string> values;
  for (const double value : doubled(first, last))
    values.push_back(fmt::format("{:g}{}", value, end));
  return values;
}

[[noreturn]] void refuse_counts(const std::string& text, const char* what,
                                const std::string& hint) {
  throw Error(ErrorKind::kUsage, fmt::format("--workers '{}' is not {}", text, what), hint);
}

}  // namespace

Variant parse_variant(const Settings& base, const std::string& text, const std::string& option) {
  Variant variant{text, base};
  std::string last;
  for (const std::string& part : cut(text, ',')) {
    const std::size_t sign = part.find('=');
    // A comma may also be inside a link: link=100Gbit,5us.
    if (sign == std::string::npos && !last.empty()) {
      variant.settings[last] += "," + part;
      continue;
    }
    last = part.substr(0, std::min(sign, part.size()));
    const std::string value = sign == std::string::npos ? "" : part.substr(sign + 1);
    check_change(option, last, value);
    variant.settings[last] = value;
  }
  check_batch(base, variant, option);
  for (const char* link : {"link", "inside"}) {
    std::string& value = variant.settings[link];
    if (!value.empty()) value = with_latency(base, link, value);
  }
  return variant;
}

std::vector<Variant> parse_sweep(const Settings& base, const std::string& text) {
  const std::size_t sign = text.find('=');
  const std::string name = text.substr(0, std::min(sign, text.size()));
  const std::string range = sign == std::string::npos ? "" : text.substr(sign + 1);
  check_change("--sweep", name, range);
  if (name == "batch") refuse_batch("--sweep", range);
  std::vector<Variant> variants;
  for (const std::string& value : sweep_values(text, range)) {
    check_change("--sweep", name, value);
    Variant variant{fmt::format("{}={}", name, value), base};
    variant.settings[name] = with_latency(base, name, value);
    variants.push_back(variant);
  }
  return variants;
}

std::vector<std::int64_t> parse_counts(const std::string& text) {
  const auto count = [&](const std::string& part) {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (value > kMostWorkers) {
      refuse_counts(text, "a count that can be simulated",
                    fmt::format("give at most {}", kMostWorkers));
    }
    if (problem != std::errc() || end != part.data() + part.size() || value < 1) {
      refuse_counts(text, "a list of counts", "give 8..4096 (doubled), or 1,2,12");
    }
    return value;
  };
  std::vector<std::int64_t> counts;
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    for (const std::string& part : cut(text, ',')) counts.push_back(count(part));
  } else {
    const std::int64_t last = count(text.substr(dots + 2));
    std::int64_t value = count(text.substr(0, dots));
    if (value > last) refuse_counts(text, "a range", "give the smaller count first: 8..4096");
    for (; value < last; value *= 2) counts.push_back(value);
    counts.push_back(last);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

}  // namespace lockstep::simulate
