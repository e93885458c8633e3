#include "command_line/command_line.h"

#include <gtest/gtest.h>

#include "command_line/command_text.h"

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

CommandText command_named(const std::string& name, const std::string& summary,
                          const std::string& group = "") {
  CommandText command;
  command.name = name;
  command.summary = summary;
  command.group = group;
  return command;
}

TEST(HelpText, ListsCommandsByTheirFirstSentenceUnderTheirHeading) {
  CommandText program = command_named("lockstep", "Measures training.");
  program.commands = {command_named("run", "Runs once. Stores all of it.", "Measure"),
                      command_named("advise", "Recommends.", "Decide"),
                      command_named("study", "Sweeps.", "Measure")};
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
  CommandText command = command_named("run", "Runs once.");
  command.takes_command = true;
  OptionText workers;
  workers.names = {"-n", "--workers"};
  workers.value = "N";
  workers.fallback = "2";
  workers.help = "Processes that train together, one for each part of the batch";
  workers.group = "Workers";
  OptionText flag;
  flag.names = {"--a-name-that-is-far-too-long"};
  flag.help = "A flag";
  flag.group = "Workers";
  command.options = {workers, flag};
  const std::string help = help_text(command, "lockstep run", 70);
  EXPECT_NE(help.find("Usage: lockstep run [OPTION]... -- COMMAND\n"), std::string::npos) << help;
  EXPECT_NE(help.find("  -n, --workers N         Processes that train together, one for each\n"
                      "                          part of the batch (default: 2)\n"
                      "  --a-name-that-is-far-too-long\n"
                      "                          A flag\n"),
            std::string::npos)
      << help;
}

}  // namespace
}  // namespace lockstep::cli
