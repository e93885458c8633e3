#include "lockstep/import/readers/tables/printed_histories.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lockstep/import/model/name_facts.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostHistories = 1'000;
constexpr std::size_t kLongestHistoryName = 120;
constexpr std::size_t kHeaderBytes = 400;
constexpr std::size_t kHeaderBefore = 100;
constexpr std::int64_t kFirstTime = 1'000'000'000;  // 2001
constexpr std::int64_t kLastTime = 4'000'000'000;

std::vector<std::string_view> tokens_in(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (std::size_t at = text.find_first_not_of(" \t\r\n"); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    tokens.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(" \t\r\n", end);
  }
  return tokens;
}

/// "'SGD_dp_batch_size_512_2gpus':" at or after `from`: where it begins and ends.
struct NamedPlace {
  std::size_t begin = std::string_view::npos;
  std::size_t end = 0;
  std::string name;
};

/// The number at `at`, which moves past it.
std::optional<std::int64_t> digits_at(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return parse_integer(text.substr(begin, at - begin));
}

/// "h_size_512_2gp<tab> trainer/ global_step": a name that text recognition tore apart together
/// with the columns. Its two numbers are whole.
NamedPlace next_torn_name(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find("size_", from); at != std::string_view::npos;
       at = text.find("size_", at + 1)) {
    std::size_t end = at + 5;
    const auto batch = digits_at(text, end);
    if (!batch || end >= text.size() || text[end] != '_') continue;
    ++end;
    const auto workers = digits_at(text, end);
    const std::string_view rest = text.substr(end, text.find('\n', end) - end);
    if (!workers || !rest.starts_with('g') || rest.starts_with("gpus'") ||
        !contains_any<"global_step", "global step">(rest))
      continue;
    return {at, end + 1, fmt::format("batch_size_{}_{}gpus", *batch, *workers)};
  }
  return {};
}

NamedPlace next_whole_name(std::string_view text, std::size_t from) {
  for (std::size_t end = text.find("':", from); end != std::string_view::npos;
       end = text.find("':", end + 1)) {
    const std::size_t begin = end == 0 ? std::string_view::npos : text.rfind('\'', end - 1);
    if (begin == std::string_view::npos || begin < from || end - begin > kLongestHistoryName)
      continue;
    std::string name(text.substr(begin + 1, end - begin - 1));
    if (name.find('\n') != std::string::npos) continue;
    std::replace(name.begin(), name.end(), ' ', '_');
    return {begin, end + 2, std::move(name)};
  }
  return {};
}

NamedPlace next_name(std::string_view text, std::size_t from) {
  NamedPlace whole = next_whole_name(text, from);
  NamedPlace torn = next_torn_name(text, from);
  return torn.begin < whole.begin ? torn : whole;
}

/// The rows up to the frame's second part: an index, a step, ..., the epoch and the time.
void read_rows(std::string_view text, PrintedHistory& history) {
  const std::vector<std::string_view> tokens = tokens_in(text);
  std::size_t row = 0;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const auto time = parse_integer(tokens[i]);
    if (!time || *time < kFirstTime || *time >= kLastTime) continue;
    if (const auto epoch = parse_integer(tokens[i - 1]); epoch && *epoch >= 0 && *epoch < 100'000) {
      const auto found = history.epochs.try_emplace(*epoch, *time, *time).first;
      found->second.first = std::min(found->second.first, *time);
      found->second.second = std::max(found->second.second, *time);
    }
    history.last_step.reset();
    if (row > 0 && i > row + 1) history.last_step = parse_integer(tokens[row + 1]);
    row = i + 1;
  }
}

std::optional<double> last_decimal(std::string_view text) {
  std::optional<double> last;
  for (const std::string_view token : tokens_in(text)) {
    if (!is_digit(token[0]) || token.find('.') == std::string_view::npos) continue;
    if (const auto value = parse_number(token)) last = value;
  }
  return last;
}

/// The last value of a second part whose name was lost: after the times the index begins again at
/// 0, each with one value.
std::optional<double> unnamed_tail(std::string_view text) {
  const std::vector<std::string_view> tokens = tokens_in(text);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto time = parse_integer(tokens[i]);
    if (time && *time >= kFirstTime && *time < kLastTime) begin = i + 1;
  }
  // Of the name words may be left.
  for (int words = 0; words < 3 && begin < tokens.size() && !is_digit(tokens[begin][0]); ++words)
    ++begin;
  if (begin + 4 > tokens.size() || tokens[begin] != "0" || tokens[begin + 1] != "NaN")
    return std::nullopt;
  const std::string_view last = tokens.back();
  const auto index = parse_integer(tokens[tokens.size() - 2]);
  const auto value = parse_number(last);
  if (!index || !value || last.find('.') == std::string_view::npos) return std::nullopt;
  return value;
}

/// `header` begins a little before the name: text recognition may put the columns there.
std::optional<PrintedHistory> history_of(const std::string& name, std::string_view header,
                                         std::string_view text) {
  text = text.substr(0, std::min(text.find('}'), text.find("\nOut")));  // the dict ends here
  std::size_t second = std::min(text.find("train_loss_epoch"), text.find("train loss epoch"));
  const bool columns = contains(header, "epoch") && contains(header, "timestamp");
  // "[198 rows x 7 columns]" stands below frames of which pandas left rows out.
  const std::size_t shape = position_of(" rows x", text);
  const auto tail = second == std::string_view::npos && shape != std::string_view::npos
                        ? unnamed_tail(text.substr(0, text.substr(0, shape).rfind('[')))
                        : std::nullopt;
  if (!contains_any<"global_step", "global step">(header) ||
      (!columns && second == std::string_view::npos && !tail))
    return std::nullopt;
  ImportedRun facts;
  facts_from_name(name, facts);
  const std::size_t size = name.find("batch_size_");
  const auto batch = size == std::string::npos ? std::nullopt : integer_after(name, "batch_size_");
  if (!facts.workers || !batch || *batch < 1) return std::nullopt;
  PrintedHistory history;
  history.name = name;
  history.workers = *facts.workers;
  history.batch = *batch;
  history.whole = shape == std::string_view::npos;
  read_rows(text.substr(0, std::min(second, shape)), history);
  if (second != std::string_view::npos) {
    second += std::string_view("train_loss_epoch").size();
    history.train_loss = last_decimal(text.substr(
        second, shape == std::string_view::npos || shape < second ? shape : shape - second));
  }
  history.unnamed_tail = tail;
  return history;
}

/// The epochs of the whole history whose duration is `time`.
std::set<std::int64_t> epochs_of_length(const PrintedHistory& history, double time) {
  std::set<std::int64_t> epochs;
  for (const auto& [epoch, span] : history.epochs) {
    const auto seconds = static_cast<double>(span.second - span.first);
    if (seconds > 0 && std::abs(seconds - time) < 0.5) epochs.insert(epoch);
  }
  return epochs;
}

bool whole_run_takes(const PrintedHistory& history, double time) {
  if (history.epochs.empty()) return false;
  const auto seconds = static_cast<double>(history.epochs.rbegin()->second.second -
                                           history.epochs.begin()->second.first);
  return std::abs(seconds - time) < 0.5;
}

bool batches_are_global(const std::vector<PrintedHistory>& histories) {
  int of_all = 0;
  int of_each = 0;
  for (const PrintedHistory& a : histories) {
    for (const PrintedHistory& b : histories) {
      const bool pair = a.batch == b.batch && a.workers < b.workers && a.last_step && b.last_step &&
                        *a.last_step > 0 && *b.last_step > 0;
      if (!pair || a.epochs.size() < 2 || b.epochs.size() < 2) continue;
      const double shared = static_cast<double>(*b.last_step) * static_cast<double>(b.workers) /
                            (static_cast<double>(*a.last_step) * static_cast<double>(a.workers));
      of_all += *a.last_step == *b.last_step;
      of_each += std::abs(shared - 1) < 0.05;
    }
  }
  return of_all > 0 && of_each == 0;
}

}  // namespace

std::vector<PrintedHistory> find_histories(std::string_view text) {
  std::vector<PrintedHistory> histories;
  NamedPlace here = next_name(text, 0);
  while (here.begin != std::string_view::npos && histories.size() < kMostHistories) {
    NamedPlace after = next_name(text, here.end);
    const std::size_t end = std::min(after.begin, text.size());
    const std::size_t before = here.begin - std::min(here.begin, kHeaderBefore);
    const std::string_view header =
        text.substr(before, std::min(end, here.end + kHeaderBytes) - before);
    if (auto history = history_of(here.name, header, text.substr(here.end, end - here.end)))
      histories.push_back(std::move(*history));
    here = std::move(after);
  }
  // The frames of one dict have the same columns: the others name the last one.
  const bool named = std::any_of(histories.begin(), histories.end(), [](const auto& history) {
    return history.train_loss.has_value();
  });
  for (PrintedHistory& history : histories) {
    if (named && !history.train_loss) history.train_loss = history.unnamed_tail;
  }
  return histories;
}

TableMeaning meaning_of(const TableTimes& times, const std::vector<PrintedHistory>& histories) {
  TableMeaning meaning;
  meaning.batch_is_global = batches_are_global(histories);
  std::set<std::int64_t> common;
  int compared = 0;
  for (const PrintedHistory& history : histories) {
    const auto row = times.find({history.workers, history.batch});
    if (!history.whole || row == times.end() || history.epochs.empty()) continue;
    const std::set<std::int64_t> epochs = epochs_of_length(history, row->second);
    if (epochs.empty() || whole_run_takes(history, row->second)) return meaning;
    if (++compared == 1) common = epochs;
    std::erase_if(common, [&](std::int64_t epoch) { return !epochs.contains(epoch); });
  }
  if (compared >= 2 && !common.empty()) meaning.time_is_epoch = *common.rbegin();
  return meaning;
}

void add_histories(const std::vector<PrintedHistory>& histories, const TableMeaning& meaning,
                   std::vector<ImportedRun>& runs) {
  for (const PrintedHistory& history : histories) {
    if (!history.train_loss) continue;
    const auto same = [&](const ImportedRun& run) {
      const auto batch = run.global_batch ? run.global_batch.value : run.batch_said;
      return run.workers && *run.workers == history.workers && batch == history.batch;
    };
    const auto owners = std::count_if(runs.begin(), runs.end(), same);
    if (owners == 1) {
      ImportedRun& run = *std::find_if(runs.begin(), runs.end(), same);
      if (!run.at_end) run.at_end.emplace().train_loss = *history.train_loss;
    } else if (owners == 0) {
      ImportedRun run;
      run.workers.offer(history.workers, Provenance::kName);
      if (meaning.batch_is_global || history.workers == 1) run.global_batch.offer(history.batch);
      if (!run.global_batch) run.notes["setting"] = fmt::format("batch size {}", history.batch);
      run.at_end.emplace().train_loss = *history.train_loss;
      runs.push_back(std::move(run));
    }
  }
}

}  // namespace lockstep::import
