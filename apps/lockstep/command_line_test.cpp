#include "command_line.h"

#include <gtest/gtest.h>

#include "command_text.h"

namespace lockstep::cli {
namespace {

TEST(Nearest, FindsTheWordThatWasMeant) {
  const std::vector<std::string> commands{"train", "runs", "doctor"};
  EXPECT_EQ(nearest("trian", commands), "train");
  EXPECT_EQ(nearest("run", commands), "runs");
  EXPECT_EQ(nearest("docter", commands), "doctor");
  EXPECT_EQ(nearest("--wokers", {"--workers", "--epochs"}), "--workers");
}

TEST(Nearest, SuggestsNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest("bake", {"train", "runs", "doctor"}), "");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest("", {"train"}), "");
}

TEST(HelpText, ListsCommandsByTheirFirstSentenceUnderTheirHeading) {
  CommandText program{.name = "lockstep", .summary = "Measures training."};
  program.commands = {
      {.name = "run", .summary = "Runs once. Stores all of it.", .group = "Measure"},
      {.name = "advise", .summary = "Recommends.", .group = "Decide"},
      {.name = "study", .summary = "Sweeps.", .group = "Measure"}};
  const std::string help = help_text(program, "lockstep", 100);
  EXPECT_NE(help.find("\nUsage: lockstep COMMAND [OPTION]...\n"), std::string::npos) << help;
  EXPECT_NE(help.find("\nMeasure:\n"
                      "  run                     Runs once\n"
                      "  study                   Sweeps\n"
                      "\nDecide:\n"
                      "  advise                  Recommends\n"),
            std::string::npos)
      << help;
}

TEST(HelpText, WrapsMeaningsBelowThemselvesAndNamesDefaults) {
  CommandText command{.name = "train", .summary = "Trains.", .takes_command = true};
  command.options = {
      {.names = {"-n", "--workers"},
       .value = "N",
       .fallback = "2",
       .help = "Processes that train together, one for each part of the batch",
       .group = "Workers"},
      {.names = {"--a-name-that-is-far-too-long"}, .help = "A flag", .group = "Workers"}};
  const std::string help = help_text(command, "lockstep train", 70);
  EXPECT_NE(help.find("Usage: lockstep train [OPTION]... -- COMMAND\n"), std::string::npos) << help;
  EXPECT_NE(help.find("  -n, --workers N         Processes that train together, one for each\n"
                      "                          part of the batch (default: 2)\n"
                      "  --a-name-that-is-far-too-long\n"
                      "                          A flag\n"),
            std::string::npos)
      << help;
}

}  // namespace
}  // namespace lockstep::cli
