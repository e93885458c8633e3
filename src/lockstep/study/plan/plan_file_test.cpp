#include "lockstep/study/plan/plan_file.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::study {
namespace {

using Words = std::vector<std::string>;

TEST(PlanFile, TurnsKeysIntoOptions) {
  const auto plan = parse_plan(
      "name = 'x'\nrecipe = 'fashion'\nworkers = [1, 2]\nglobal_batch = 64\nlr = 0.5\n"
      "no-augment = true\noversubscribe = false\n",
      "p.toml");
  EXPECT_EQ(plan.name, "x");
  ASSERT_EQ(plan.sweeps.size(), 1u);
  EXPECT_EQ(plan.sweeps[0].arguments,
            (Words{"--global-batch=64", "--lr=0.5", "--no-augment", "fashion", "--workers=1,2"}));
}

TEST(PlanFile, SweepsTakeKeysAboveThemAndMayOverruleThem) {
  const auto plan = parse_plan(
      "workers = [1, 2]\nrepeat = 3\n[[sweep]]\nrepeat = 1\n[[sweep]]\ncommand = ['a', '{batch}', "
      "7]\n",
      "p.toml");
  ASSERT_EQ(plan.sweeps.size(), 2u);
  EXPECT_EQ(plan.sweeps[0].arguments, (Words{"--repeat=1", "--workers=1,2"}));
  EXPECT_EQ(plan.sweeps[1].arguments, (Words{"--repeat=3", "--workers=1,2"}));
  EXPECT_EQ(plan.sweeps[1].command, (Words{"a", "{batch}", "7"}));
  EXPECT_EQ(plan.sweeps[1].line, 5u);
}

TEST(PlanFile, NamesFileAndLineOfWhatIsWrong) {
  for (const auto& [text, place] : std::initializer_list<std::pair<const char*, const char*>>{
           {"\nworkers = [1,", "p.toml:2"},
           {"a = 1\n\nb = {c = 1}\n", "p.toml:3"},
           {"command = 'x'\n", "p.toml:1"},
           {"sweep = 3\n", "p.toml:1"},
           {"sweep = [1, 2]\n", "p.toml:1"}}) {
    try {
      parse_plan(text, "p.toml");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find(place), 0u) << error.what();
    }
  }
  EXPECT_THROW(read_plan_file("/no/such/plan.toml"), Error);
}

}  // namespace
}  // namespace lockstep::study
