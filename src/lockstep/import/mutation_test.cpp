#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/import/import_fixture.h"
#include "lockstep/import/run_record.h"

namespace lockstep::import {
namespace {

std::size_t pick(Rng& rng, std::size_t below) {
  return below == 0 ? 0
                    : static_cast<std::size_t>(rng.uniform() * static_cast<double>(below)) % below;
}

std::string mutate(std::string text, const std::string& other, Rng& rng) {
  for (int changes = 1 + static_cast<int>(pick(rng, 4)); changes > 0; --changes) {
    const std::size_t at = pick(rng, text.size() + 1);
    switch (pick(rng, 5)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(pick(rng, 256));
        break;
      case 2:
        text.erase(at, pick(rng, 40));
        break;
      case 3:
        text.insert(at, other.substr(pick(rng, other.size() + 1), pick(rng, 200)));
        break;
      default:
        text.insert(at, text.substr(pick(rng, text.size() + 1), pick(rng, 100)));
    }
  }
  return text;
}

/// Either runs or one sentence; never anything else.
void expect_answer(const std::string& text, const std::string& format) {
  try {
    ImportOptions options;
    options.format = format;
    for (const ImportedRun& run : import_text(text, "mutated_4gpus.log", options).runs) {
      to_record(run, "x");
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

/// A short run by default; LOCKSTEP_MUTATIONS=100000 makes a fuzzer of it that needs no clang.
int mutations() {
  const char* asked = std::getenv("LOCKSTEP_MUTATIONS");
  return asked == nullptr ? 150 : std::max(1, std::atoi(asked));
}

class Mutation : public ::testing::TestWithParam<std::string> {};

TEST_P(Mutation, GivesRunsOrOneSentence) {
  const bool events = GetParam() == "events";
  const std::string text = events ? event_file_text() : fixture_text(GetParam());
  const std::string format = import_text(text, GetParam()).format;
  Rng rng(11);
  for (int i = 0; i < mutations(); ++i) {
    const std::vector<std::string>& names = fixture_names();
    const std::string other = fixture_text(names[pick(rng, names.size())]);
    const std::string changed = mutate(text, other, rng);
    expect_answer(changed, format);
    expect_answer(changed, "");
  }
}

TEST(Fixtures, CoverEveryReader) {
  std::set<std::string> covered{"tensorboard", "wandb-run"};  // written by tests
  for (const std::string& name : fixture_names())
    covered.insert(std::string(import_fixture(name).format));
  const Registry registry;
  for (const auto& reader : registry.readers()) {
    EXPECT_TRUE(covered.contains(std::string(reader->name())))
        << "no file in testdata is read by " << reader->name();
  }
}

std::vector<std::string> all_fixtures() {
  std::vector<std::string> names = fixture_names();
  names.emplace_back("events");
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllFormats, Mutation, ::testing::ValuesIn(all_fixtures()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace lockstep::import
