#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/import/import_fixture.h"
#include "lockstep/import/reported_figures.h"

namespace lockstep::import {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, stop - at));
    at = stop + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::size_t chosen(Rng& rng, std::size_t below) {
  return static_cast<std::size_t>(rng.uniform() * static_cast<double>(below)) % below;
}

/// As another process that wrote into the same file would leave it.
std::vector<std::string> interleaved(const std::vector<std::string>& lines, Rng& rng) {
  std::vector<std::string> mixed;
  std::size_t second = 0;
  for (const std::string& line : lines) {
    mixed.push_back(line);
    while (second < lines.size() && rng.uniform() < 0.5) mixed.push_back(lines[second++]);
  }
  return mixed;
}

std::string damaged(const std::string& text, Rng& rng) {
  std::vector<std::string> lines = lines_of(text);
  if (rng.uniform() < 0.2) lines = interleaved(lines, rng);
  for (int changes = 0; changes < 4 && lines.size() > 1; ++changes) {
    const std::size_t i = chosen(rng, lines.size());
    const auto place = lines.begin() + static_cast<std::ptrdiff_t>(i);
    switch (chosen(rng, 4)) {
      case 0:
        lines.erase(place);
        break;
      case 1:
        lines.insert(place, std::string(lines[i]));
        break;
      case 2:
        std::swap(lines[i], lines[chosen(rng, lines.size())]);
        break;
      default:  // cut off between words, where a number stays one
        lines[i].resize(std::min(lines[i].find(' ', lines[i].size() / 2), lines[i].size()));
    }
  }
  return joined(lines);
}

/// The property that an import must keep whatever happens to a file: each figure that it reports
/// stands in the file, or the run says how it was derived from figures that do.
class LiteralFigures : public ::testing::TestWithParam<std::string> {};

TEST_P(LiteralFigures, StandInTheFileHoweverItsLinesAreDamaged) {
  const std::string whole = fixture_text(GetParam());
  Rng rng(23);
  for (int i = 0; i < 150; ++i) {
    const std::string text = i == 0 ? whole : damaged(whole, rng);
    ImportedFile file;
    try {
      file = import_text(text, "log.txt");
    } catch (const Error&) {
      continue;  // nothing certain is left
    }
    const PrintedNumbers numbers(text);
    for (const ImportedRun& run : file.runs) {
      for (const ReportedFigure& figure : reported_figures(run)) {
        if (!figure.derivation.empty()) continue;
        ASSERT_TRUE(numbers.has(figure.value))
            << figure.words << " " << figure.value << " does not stand in\n"
            << text;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllForms, LiteralFigures, ::testing::ValuesIn(fixture_names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '.'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace lockstep::import
