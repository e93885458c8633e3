#include "lockstep/import/tell_apart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lockstep/base/statistics.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

struct Candidate {
  ImportedRun* run;
  const std::string* file;
};

std::string configuration_of(const ImportedRun& run) {
  const auto number = [](const Fact<std::int64_t>& fact) { return fact.value.value_or(0); };
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", number(run.workers), number(run.nodes),
                     number(run.batch_per_worker), number(run.global_batch),
                     run.batch_said.value_or(0), run.device.value.value_or(""),
                     run.model.value.value_or(""), run.dataset.value.value_or(""));
}

using Notes = std::vector<std::string>;

/// The notes that differ among runs which are alike otherwise.
Notes notes_that_differ(const std::vector<Candidate>& same, const Notes& notes) {
  Notes differ;
  for (const std::string& name : notes) {
    const auto note = [&](const Candidate& candidate) {
      const auto found = candidate.run->notes.find(name);
      return found == candidate.run->notes.end() ? std::string() : found->second;
    };
    if (std::any_of(same.begin(), same.end(),
                    [&](const Candidate& other) { return note(other) != note(same.front()); }))
      differ.push_back(name);
  }
  return differ;
}

std::string variant_of(const ImportedRun& run, const Notes& notes) {
  std::string variant;
  for (const std::string& name : notes) {
    const auto found = run.notes.find(name);
    if (found != run.notes.end()) variant += (variant.empty() ? "" : ", ") + found->second;
  }
  return variant;
}

/// The times of a run that can be compared, and in which unit they are.
struct RunTimes {
  const char* unit = "";
  double middle = 0;
  double spread = 0;  ///< from the smallest to the largest, the first left out
};

RunTimes times_of(const ImportedRun& run) {
  std::vector<double> times;
  for (const record::EpochResult& epoch : run.epochs) {
    if (epoch.train_s > 0) times.push_back(epoch.train_s);
  }
  if (times.size() > 1) times.erase(times.begin());
  if (!times.empty()) {
    const auto [low, high] = std::minmax_element(times.begin(), times.end());
    return {"epoch", median(times), *high - *low};
  }
  if (run.epoch_s) return {"epoch", *run.epoch_s, 0};
  if (!run.step_time.empty()) {
    // The largest steps contain evaluation or the start: half of the way to them is their spread.
    const double middle = run.step_time.median();
    return {"step", middle, middle - run.step_time.minimum()};
  }
  return {};
}

/// Times of repeats differ by a few percent even where each of them hardly varies.
constexpr double kRepeatsDiffer = 0.25;

bool are_apart(const RunTimes& a, const RunTimes& b) {
  if (!(a.middle > 0) || !(b.middle > 0) || std::string_view(a.unit) != b.unit) return false;
  const double gap = std::abs(a.middle - b.middle);
  return gap > a.spread + b.spread && gap > kRepeatsDiffer * std::min(a.middle, b.middle);
}

constexpr std::size_t kLongestShown = 100;

/// How much the variants have in common at their beginnings, in whole words: long ones are shown
/// from there on, because their ends distinguish them.
std::size_t common_beginning(const std::vector<std::string>& variants) {
  std::string_view common = variants.front();
  for (const std::string& variant : variants) {
    const auto differ = std::mismatch(common.begin(), common.end(), variant.begin(), variant.end());
    common = common.substr(0, static_cast<std::size_t>(differ.first - common.begin()));
  }
  const std::size_t blank = common.find_last_of(' ');
  return blank == std::string_view::npos ? 0 : blank + 1;
}

/// The names of variants of `model`, all different as the variants are.
std::map<std::string, std::string> names_of(const std::string& model,
                                            const std::vector<std::string>& variants) {
  const std::size_t common = common_beginning(variants);
  std::map<std::string, std::string> names;
  std::set<std::string> taken;
  for (const std::string& variant : variants) {
    if (names.contains(variant)) continue;
    const std::string suffix = fmt::format(" ({})", variant);
    std::string name = variant.empty() || model.ends_with(suffix) ? model
                       : model.empty()                            ? variant
                                                                  : model + suffix;
    if (name.size() > kLongestShown && !variant.empty())
      name = fmt::format("{} ({})", printable(model, 40), printable(variant.substr(common), 50));
    name = printable(name, kLongestShown);
    for (int number = 2; !taken.insert(name).second; ++number)
      name = fmt::format("{} [{}]", printable(name, kLongestShown - 10), number);
    names[variant] = name;
  }
  return names;
}

/// What is alike in every stated fact, by that.
using Alike = std::map<std::string, std::vector<Candidate>>;

void warn_of_other_times(const std::vector<Candidate>& same, bool one_file) {
  const RunTimes expected = times_of(*same.front().run);
  const std::string& first_file = *same.front().file;
  for (const Candidate& candidate : same) {
    const RunTimes times = times_of(*candidate.run);
    if (!are_apart(times, expected) || (!one_file && candidate.file == &first_file)) continue;
    candidate.run->warnings.push_back(fmt::format(
        "its settings are those of {}, but it takes {:.4g} s per {} instead of {:.4g} s: what "
        "differs is not stated; separate them with --set model=NAME",
        one_file ? "the first run of the file" : first_file, times.middle, times.unit,
        expected.middle));
  }
}

/// Names the variants of a network. A run that is like no other gets the name of its variant too:
/// on one worker there may be only one run, which belongs to the series of that variant.
void name_variants(const std::vector<Candidate>& runs, const Alike& alike, const Notes& notes) {
  std::map<std::string, std::vector<std::string>> variants;  ///< by network
  for (const auto& [configuration, same] : alike) {
    if (same.size() < 2) continue;
    const std::string first = variant_of(*same.front().run, notes);
    const bool varied = std::any_of(same.begin(), same.end(), [&](const Candidate& other) {
      return variant_of(*other.run, notes) != first;
    });
    if (!varied) continue;
    for (const Candidate& candidate : same) {
      variants[candidate.run->model.value.value_or("")].push_back(
          variant_of(*candidate.run, notes));
    }
  }
  std::map<std::string, std::map<std::string, std::string>> names;
  for (const auto& [model, of_model] : variants) names[model] = names_of(model, of_model);
  for (const Candidate& candidate : runs) {
    const auto of_model = names.find(candidate.run->model.value.value_or(""));
    const std::string variant = variant_of(*candidate.run, notes);
    if (of_model == names.end() || variant.empty()) continue;
    const auto name = of_model->second.find(variant);
    if (name != of_model->second.end()) candidate.run->model = {name->second, Provenance::kDerived};
  }
}

void tell_apart(const std::vector<Candidate>& runs, bool one_file) {
  Alike alike;
  std::vector<Candidate> trained;
  for (const Candidate& candidate : runs) {
    if (!candidate.run->is_training() || !candidate.run->has_figures()) continue;
    alike[configuration_of(*candidate.run)].push_back(candidate);
    trained.push_back(candidate);
  }
  Notes notes{"strategy", "optimizer", "precision", "setting", "batch"};
  if (one_file) notes.insert(notes.begin(), {"heading", "loader"});
  std::set<std::string> differ;
  for (const auto& [configuration, same] : alike) {
    const Notes own = notes_that_differ(same, notes);
    differ.insert(own.begin(), own.end());
    if (own.empty()) warn_of_other_times(same, one_file);
  }
  std::erase_if(notes, [&](const std::string& name) { return !differ.contains(name); });
  if (!notes.empty()) name_variants(trained, alike, notes);
}

}  // namespace

void tell_apart(ImportedFile& file) {
  if (file.runs.size() < 2) return;
  std::vector<Candidate> runs;
  for (ImportedRun& run : file.runs) runs.push_back({&run, &file.path});
  tell_apart(runs, true);
}

void tell_apart(std::vector<ImportedFile>& files) {
  if (files.size() < 2) return;
  std::vector<Candidate> runs;
  for (ImportedFile& file : files) {
    for (ImportedRun& run : file.runs) runs.push_back({&run, &file.path});
  }
  tell_apart(runs, false);
}

}  // namespace lockstep::import
