#include "lockstep/train/trainer/damage_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <sstream>

#include "lockstep/base/terminal/log.h"
#include "lockstep/base/units.h"

namespace lockstep::train {
namespace {

constexpr std::size_t kMostNames = 10;

}  // namespace

DamageReport::DamageReport(const data::DataSplit& data, comm::Communicator& communicator)
    : communicator_(communicator) {
  for (const auto& dataset : {data.train, data.validation}) {
    if (dataset) datasets_.push_back(dataset);
  }
}

std::string DamageReport::unsent() {
  std::string lines;
  for (const auto& dataset : datasets_) {
    for (const auto& file : dataset->damaged()) {
      if (!sent_.insert(file.path).second) continue;
      std::string line = fmt::format("{} ({})", file.path, file.reason);
      std::replace(line.begin(), line.end(), '\n', ' ');
      lines += line + "\n";
    }
  }
  return lines;
}

void DamageReport::report_new() {
  std::string mine = unsent();
  const auto sizes = communicator_.gather_all(mine.size());
  const std::size_t longest = *std::max_element(sizes.begin(), sizes.end());
  if (longest == 0) return;
  mine.resize(longest, '\n');
  const auto all = communicator_.gather_all(std::span<const char>(mine));
  if (communicator_.rank() != 0) return;
  std::vector<std::string> news;
  std::istringstream lines(std::string(all.begin(), all.end()));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && reported_.insert(line).second) news.push_back(line);
  }
  if (news.empty()) return;
  const std::size_t count = news.size();
  news.resize(std::min(count, kMostNames));
  log_warning(fmt::format("{}: {}{}; each was replaced by the next readable example",
                          counted(static_cast<std::int64_t>(count), "damaged file"),
                          fmt::join(news, ", "), count > kMostNames ? ", ..." : ""));
}

}  // namespace lockstep::train
