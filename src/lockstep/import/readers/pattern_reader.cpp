#include "lockstep/import/readers/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/import/model/epoch_means.h"
#include "lockstep/import/model/log_facts.h"
#include "lockstep/import/model/log_reader.h"
#include "lockstep/import/run_settings.h"
#include "lockstep/import/scan/rank_prefix.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// std::regex recurses with the length of the text.
constexpr std::size_t kLongestMatchedLine = 2000;

struct NamedPattern {
  std::regex expression;
  std::vector<std::pair<std::string, std::size_t>> groups;
  std::string required;  ///< is in every line that fits; may be empty
};

/// The longest plain text outside groups. Looking for it first spares nearly all lines that do not
/// fit the regular expression, which is some hundred times slower.
std::string required_text(std::string_view pattern) {
  std::string best;
  std::string run;
  int depth = 0;
  const auto cut = [&] {
    if (run.size() > best.size()) best = run;
    run.clear();
  };
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '|') return "";  // either side will do
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      const bool plain = !is_letter(escaped) && !is_digit(escaped);
      if (plain && depth == 0) run += escaped;
      if (!plain) cut();
    } else if (c == '[') {
      cut();
      while (i < pattern.size() && pattern[i] != ']') i += pattern[i] == '\\' ? 2 : 1;
    } else if (c == '(' || c == ')') {
      cut();
      depth += c == '(' ? 1 : -1;
    } else if (c == '*' || c == '?' || c == '{') {
      if (!run.empty()) run.pop_back();  // it may be missing
      cut();
      if (c == '{') i = std::min(pattern.find('}', i), pattern.size());
    } else if (c == '+' || c == '.' || c == '^' || c == '$') {
      cut();
    } else if (depth == 0) {
      run += c;
    }
  }
  cut();
  return best;
}

/// std::regex has no named groups: the names are taken out and kept beside their numbers.
NamedPattern compile(const std::string& pattern) {
  NamedPattern named;
  std::string plain;
  std::size_t group = 0;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    plain += c;
    if (c == '\\' && i + 1 < pattern.size()) {
      plain += pattern[++i];
    } else if (c == '[') {
      in_class = true;
    } else if (c == ']') {
      in_class = false;
    } else if (c == '(' && !in_class) {
      const std::string_view rest = std::string_view(pattern).substr(i + 1);
      if (!rest.starts_with("?")) ++group;
      const bool look_behind = rest.starts_with("?<=") || rest.starts_with("?<!");
      if (look_behind || !(rest.starts_with("?<") || rest.starts_with("?P<"))) continue;
      const std::size_t open = pattern.find('<', i);
      const std::size_t close = pattern.find('>', open);
      if (close == std::string::npos) break;
      named.groups.emplace_back(pattern.substr(open + 1, close - open - 1), ++group);
      i = close;
    }
  }
  try {
    named.expression = std::regex(plain, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& problem) {
    throw Error(ErrorKind::kUsage, fmt::format("--pattern '{}' is not a regular expression: {}",
                                               pattern, problem.what()));
  }
  named.required = required_text(plain);
  if (named.groups.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("--pattern '{}' has no named group", pattern),
                "name what it reads: --pattern 'epoch (?<epoch>\\d+) loss (?<loss>\\S+)'");
  }
  return named;
}

class PatternReader final : public Reader {
 public:
  explicit PatternReader(const std::string& pattern) : pattern_(compile(pattern)) {}

  std::string_view name() const override { return "pattern"; }
  std::string_view description() const override {
    return "any line log, by --pattern with named groups";
  }
  Match recognise(const Sample&) const override { return Match::kCertain; }

  void read(Input& input, ImportSink& sink) const override {
    const PrefixStyle style = prefix_style(input.peek(256 * 1024));
    LineSource lines(input);
    LogFacts facts;
    std::set<int> ranks;
    Collected now;
    std::vector<ImportedRun> runs;
    Line line;
    while (lines.next(line)) {
      const RankedText ranked = split_rank(line.text, style);
      if (ranked.rank >= 0) ranks.insert(ranked.rank);
      std::cmatch match;
      const auto matches = [&](std::string_view text) {
        return text.size() <= kLongestMatchedLine && contains(text, pattern_.required) &&
               std::regex_search(text.data(), text.data() + text.size(), match,
                                 pattern_.expression);
      };
      // A pattern may name the prefix as well.
      const bool fits =
          ranked.rank <= 0 && (matches(ranked.text) || (ranked.rank == 0 && matches(line.text)));
      if (!fits) {
        facts.line(ranked.text, ranked.rank);
        continue;
      }
      take(match, now, runs);
    }
    warn_of_damage(lines, input, sink);
    close(now, runs);
    for (ImportedRun& run : runs) {
      facts.offer(run, count_of_ranks(ranks), runs.size() > 1);
      sink.add(std::move(run));
    }
  }

 private:
  struct Collected {
    ImportedRun run;
    EpochMeans means;
    std::string name;
    std::int64_t lines = 0;
    std::optional<double> epoch;
    std::int64_t step = 0;
  };

  static void close(Collected& now, std::vector<ImportedRun>& runs) {
    if (now.lines > 0) {
      now.means.finish(now.run);
      now.run.label = now.name;
      runs.push_back(std::move(now.run));
    }
    now = Collected();
  }

  void take(const std::cmatch& match, Collected& now, std::vector<ImportedRun>& runs) const {
    const auto text_of = [&](std::size_t group) {
      return group < match.size() && match[group].matched
                 ? std::string_view(match[group].first,
                                    static_cast<std::size_t>(match[group].length()))
                 : std::string_view();
    };
    for (const auto& [name, group] : pattern_.groups) {
      const std::string_view text = text_of(group);
      if (text.empty()) continue;
      if (name == "run" && printable(text) != now.name) {
        if (!now.name.empty()) close(now, runs);
        now.name = printable(text);
      } else if (name == "epoch") {
        const auto epoch = parse_number(text);
        if (epoch && now.epoch && *epoch < *now.epoch && *epoch <= 1 && now.name.empty())
          close(now, runs);
        if (epoch) now.epoch = epoch;
      } else if (name == "step") {
        now.step = parse_integer(text).value_or(now.step + 1);
      }
    }
    ++now.lines;
    for (const auto& [name, group] : pattern_.groups) {
      std::string_view text = text_of(group);
      if (text.empty() || name == "run" || name == "epoch" || name == "step") continue;
      if (offer_setting(name, text, now.run)) continue;
      const auto value = take_number(text);
      if (!value) continue;
      if (name == "total_time") {
        now.run.total_s = *value;
      } else {
        const bool percent = !trim(text).empty() && trim(text)[0] == '%';
        now.means.add(name, percent ? *value / 100 : *value, now.epoch, now.step, now.run);
      }
    }
  }

  NamedPattern pattern_;
};

}  // namespace

std::unique_ptr<Reader> make_pattern_reader(const std::string& pattern) {
  return std::make_unique<PatternReader>(pattern);
}

}  // namespace lockstep::import
