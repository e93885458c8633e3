#include "lockstep/study/command/command_template.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::study {
namespace {

using Words = std::vector<std::string>;

PlannedRun planned() {
  PlannedRun run;
  run.cell.workers = 4;
  run.cell.batch_per_worker = 32;
  run.repeat = 3;
  return run;
}

TEST(CommandTemplate, ReplacesEveryPlaceholderEverywhere) {
  EXPECT_EQ(expand_command({"run", "-n={workers},{workers}", "{batch}", "{global_batch}",
                            "{epochs}", "{seed}", "{device}"},
                           planned(), {5, 10, "gpu"}),
            (Words{"run", "-n=4,4", "32", "128", "5", "12", "gpu"}));
}

TEST(CommandTemplate, LeavesOtherBracesAlone) {
  const Words command{"awk", "{print $1}", "{}", "{print}"};
  EXPECT_EQ(expand_command(command, planned(), {}), command);
}

TEST(CommandTemplate, DoesNotReadPlaceholdersInWhatItPutIn) {
  EXPECT_EQ(expand_command({"{device}"}, planned(), {1, 1, "{device}"}), (Words{"{device}"}));
}

TEST(CommandTemplate, NamesACommandAfterItsScript) {
  EXPECT_EQ(script_name({"torchrun", "--nproc-per-node", "{workers}", "src/train.py"}), "train");
  EXPECT_EQ(script_name({"python3", "-m", "torch.distributed.run", "train.py"}), "train");
  EXPECT_EQ(script_name({"python3", "-m", "trainer.main", "--lr", "0.1"}), "trainer.main");
  EXPECT_EQ(script_name({"./build/net.v2", "{workers}"}), "net.v2");
}

TEST(CommandTemplate, RefusesACommandThatIgnoresWhatIsVaried) {
  Sweep sweep;
  sweep.workers = {1, 2};
  sweep.batches = {32, 64};
  EXPECT_THROW(check_command({"train", "{batch}"}, sweep, {}), Error);
  EXPECT_THROW(check_command({"train", "{workers}"}, sweep, {}), Error);
  EXPECT_THROW(check_command({"{workers}", "{batch}", "{device}"}, sweep, {}), Error);
  EXPECT_NO_THROW(check_command({"{workers}", "{global_batch}"}, sweep, {}));
  sweep.workers = {1};
  sweep.batches = {32};
  EXPECT_NO_THROW(check_command({"train"}, sweep, {}));
}

TEST(CommandTemplate, RefusesAMisspeltPlaceholder) {
  Sweep sweep;
  sweep.workers = {1};
  sweep.batches = {32};
  EXPECT_THROW(check_command({"train", "{batch_size}"}, sweep, {}), Error);
  EXPECT_NO_THROW(check_command({"awk", "{print}"}, sweep, {}));
}

TEST(CommandTemplate, IsNamedAfterTheScript) {
  EXPECT_EQ(command_title({"/usr/bin/python3", "-m", "torch.distributed.run", "a/train.py"}),
            "train.py");
  EXPECT_EQ(command_title({"./build/trainer", "{batch}"}), "trainer");
  EXPECT_EQ(command_title({"mpirun", "-np", "{workers}", "./build/trainer", "{batch}"}), "trainer");
  EXPECT_EQ(command_title({"mpirun", "--hostfile", "/etc/hosts", "trainer"}), "mpirun");
}

TEST(CommandTemplate, RunsPythonIfAWordNamesOne) {
  EXPECT_TRUE(runs_python({"env", "-i", "/usr/bin/python3", "-c", "1"}));
  EXPECT_TRUE(runs_python({"torchrun", "train.py"}));
  EXPECT_FALSE(runs_python({"mpirun", "-np", "2", "./train"}));
}

}  // namespace
}  // namespace lockstep::study
