#include "lockstep/import/readers/transcript/value_lists.h"

#include <algorithm>

#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostListed = 10'000;

/// The numbers of "[0.4, '0.2']", all of it, or none.
std::vector<double> listed_numbers(std::string_view text) {
  std::vector<double> values;
  text = trim(text);
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return {};
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view item = trim(text.substr(0, comma));
    if (item.size() > 2 && (item.front() == '\'' || item.front() == '"') &&
        item.back() == item.front())
      item = item.substr(1, item.size() - 2);
    const auto value = parse_number(item);
    if (!value || values.size() >= kMostListed) return {};
    values.push_back(*value);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return values;
}

}  // namespace

std::optional<ValueList> find_value_list(std::string_view text, MetricCache& metrics) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  std::string_view name = trim(text.substr(0, open));
  while (!name.empty() && (name.back() == ':' || name.back() == '=' || name.back() == ' '))
    name.remove_suffix(1);
  if (name.empty() || name.size() > 60 || !is_letter(name[0])) return std::nullopt;
  ValueList list;
  list.values = listed_numbers(text.substr(open));
  if (list.values.size() < 2) return std::nullopt;
  list.name = lower(name);
  list.of_epochs = contains(list.name, "epoch");
  const bool part =
      contains_any<"data", "load", "comput", "comm", "forward", "backward">(list.name);
  const MetricName metric = metrics.of(name);
  if (metric.metric == Metric::kEpochTime && !part) {
    list.kind = LineFigure::Kind::kEpochTime;
    list.metric = Metric::kEpochTime;
  } else if (metric.metric == Metric::kTrainLoss || metric.metric == Metric::kTrainAccuracy ||
             metric.metric == Metric::kValLoss || metric.metric == Metric::kValAccuracy) {
    list.metric = metric.metric;
  }
  return list;
}

bool ValueLists::fits(const ValueList& list) const {
  return std::all_of(lists_.begin(), lists_.end(), [&](const ValueList& other) {
    return other.values.size() == list.values.size() && other.name != list.name;
  });
}

std::vector<ValueList> ValueLists::take() {
  std::vector<ValueList> lists;
  lists.swap(lists_);
  const bool epochs =
      std::any_of(lists.begin(), lists.end(), [](const ValueList& list) { return list.of_epochs; });
  if (!epochs) lists.clear();
  return lists;
}

}  // namespace lockstep::import
