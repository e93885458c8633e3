#include "lockstep/predict/scaling/host_boundary.h"

#include <array>
#include <cctype>
#include <charconv>
#include <regex>
#include <string>

namespace lockstep::predict {
namespace {

/// Host size assumed when neither nodes nor a known device say anything.
constexpr int kUsualHostSize = 8;

struct HostSize {
  std::string_view word;
  int devices;
};

/// Sizes in which these devices are usually sold or rented (vendor and cloud instance pages), and
/// of a few public systems. The first match counts.
constexpr auto kHostSizes = std::to_array<HostSize>({
    {"p2.16xlarge", 16},  {"p2.8xlarge", 8},   {"p3.16xlarge", 8},   {"p3.8xlarge", 4},
    {"p3dn.24xlarge", 8}, {"p4d.24xlarge", 8}, {"p4de.24xlarge", 8}, {"p5.48xlarge", 8},
    {"g4dn.12xlarge", 4}, {"g5.48xlarge", 8},  {"dgx-2", 16},        {"dgx", 8},
    {"hgx", 8},           {"puhti", 4},        {"mahti", 4},         {"lumi", 8},
    {"frontier", 8},      {"summit", 6},       {"perlmutter", 4},    {"polaris", 4},
    {"leonardo", 4},      {"juwels", 4},       {"abci", 4},          {"daint", 1},
    {"k80", 8},           {"p100", 4},         {"v100", 8},          {"t4", 4},
    {"a100", 8},          {"a800", 8},         {"h100", 8},          {"h800", 8},
    {"h200", 8},          {"b200", 8},         {"gh200", 4},         {"mi250", 8},
    {"mi250x", 8},        {"mi300x", 8},
});

/// The word stands alone: no letter or digit before it, no digit after it.
bool holds_word(const std::string& text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !std::isalnum(static_cast<unsigned char>(text[at - 1]));
    const std::size_t after = at + word.size();
    const bool ends =
        after >= text.size() || !std::isdigit(static_cast<unsigned char>(text[after]));
    if (starts && ends) return true;
  }
  return false;
}

int small_number(const std::string& digits) {
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value >= 1 && value <= 1024 ? value : 0;
}

}  // namespace

int devices_per_host(std::string_view device) {
  // Descriptions come from files: a bounded length keeps std::regex's recursion bounded too.
  std::string text(device.substr(0, 200));
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  static const std::regex per_node(
      R"((\d{1,4})\s*(?:gpus?|devices?)?\s*(?:/|per)\s*(?:node|host|server|machine))");
  // "8x V100" and "8xV100", but not the 12 of "g4dn.12xlarge".
  static const std::regex times(R"((?:^|[^\w.])(\d{1,4})\s?x\s?(?!large)[a-z])");
  std::smatch match;
  if (std::regex_search(text, match, per_node)) return small_number(match[1]);
  if (std::regex_search(text, match, times)) return small_number(match[1]);
  for (const HostSize& entry : kHostSizes) {
    if (holds_word(text, entry.word)) return entry.devices;
  }
  return 0;
}

Boundary locate_boundary(const ScalingSeries& series, const ScalingPoint& target) {
  Boundary boundary;
  if (series.points.empty()) return boundary;
  const ScalingPoint& last = series.points.back();
  const ScalingPoint* before =
      series.points.size() > 1 ? &series.points[series.points.size() - 2] : nullptr;
  if (last.nodes > 0 && target.nodes > 0) {
    boundary.crosses_next = last.nodes == 1 && target.nodes > 1;
    boundary.beyond = last.nodes > 1;
    boundary.just_crossed = last.nodes > 1 && before != nullptr && before->nodes == 1;
    return boundary;
  }
  const double sure = series.devices_per_host > 0 ? 1 : 0.5;
  const int host = series.devices_per_host > 0 ? series.devices_per_host : kUsualHostSize;
  boundary.crosses_next = last.workers <= host && target.workers > host ? sure : 0;
  boundary.beyond = last.workers > host ? sure : 0;
  boundary.just_crossed =
      last.workers > host && before != nullptr && before->workers <= host ? sure : 0;
  return boundary;
}

}  // namespace lockstep::predict
