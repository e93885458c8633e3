#include "lockstep/launch/cluster/slurm_job.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::launch {
namespace {

TEST(BatchScript, ReadsAsAPersonWouldWriteIt) {
  WorkerJob job;
  job.program = "/opt/lockstep-worker";
  job.arguments = {"train", "fashion", "--data=my data"};
  job.workers = 4;
  job.name = "lockstep-fashion";
  ClusterOptions options;
  options.partition = "gpu";
  options.time = "30";
  options.gres = "gpu:{workers}";
  EXPECT_EQ(batch_script(job, options, {"/runs/a b"}, "fashion, 4 workers"),
            "#!/bin/bash\n"
            "# fashion, 4 workers\n"
            "#SBATCH --job-name=lockstep-fashion\n"
            "#SBATCH --ntasks=4\n"
            "#SBATCH --partition=gpu\n"
            "#SBATCH --time=30\n"
            "#SBATCH --gres=gpu:4\n"
            "#SBATCH --output=/runs/a b.log\n"
            "#SBATCH --no-requeue\n"
            "\n"
            "run='/runs/a b'  # prefix of the names of its files\n"
            "date +%s%N > \"$run.started\"\n"
            "\n"
            "began=$(date +%s%N)\n"
            "srun --kill-on-bad-exit=1 /opt/lockstep-worker train fashion \\\n"
            "  '--data=my data'\n"
            "\n"
            "code=$?\n"
            "echo \"$code $began $(date +%s%N)\" > \"$run.ended.tmp\" && "
            "mv \"$run.ended.tmp\" \"$run.ended\"\n"
            "exit $code\n");
}

TEST(CommandScript, SetsUpAndRunsTheCommandOfTheUserOncePerHost) {
  CommandJob job;
  job.name = "lockstep-train";
  job.about = "train, 4 workers";
  job.shape = {4, 2, 2};
  job.task_per_node = true;
  job.environment = {"PYTHONUNBUFFERED=1"};
  job.words = {"srun",       "torchrun", "--nproc-per-node",
               "2",          "--rdzv",   "${MASTER_ADDR}:${MASTER_PORT}",
               "my train.py"};
  ClusterOptions options;
  options.gres = "gpu:{workers_per_node}";
  options.setup = "/home/me/setup.sh";
  EXPECT_EQ(command_script(job, options, {"/runs/a"}),
            "#!/bin/bash\n"
            "# train, 4 workers\n"
            "#SBATCH --job-name=lockstep-train\n"
            "#SBATCH --nodes=2\n"
            "#SBATCH --ntasks-per-node=1\n"
            "#SBATCH --cpus-per-task=2\n"
            "#SBATCH --gres=gpu:2\n"
            "#SBATCH --output=/runs/a.log\n"
            "#SBATCH --no-requeue\n"
            "\n"
            "run=/runs/a  # prefix of the names of its files\n"
            "date +%s%N > \"$run.started\"\n"
            "\n"
            "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
            "getent hosts \"$MASTER_ADDR\" > /dev/null ||\n"
            "  MASTER_ADDR=$(scontrol show node \"$MASTER_ADDR\" | sed -n "
            "'s/.*NodeAddr=\\([^ ]*\\).*/\\1/p')\n"
            "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))\n"
            ". /home/me/setup.sh\n"
            "echo $? > \"$run.setup\"\n"
            "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n"
            "export PYTHONUNBUFFERED=1\n"
            "began=$(date +%s%N)\n"
            "srun torchrun --nproc-per-node 2 --rdzv \"${MASTER_ADDR}\":\"${MASTER_PORT}\" "
            "'my train.py'\n"
            "\n"
            "code=$?\n"
            "echo \"$code $began $(date +%s%N)\" > \"$run.ended.tmp\" && "
            "mv \"$run.ended.tmp\" \"$run.ended\"\n"
            "exit $code\n");
}

TEST(EndOfJob, SlurmsOwnEndIsNamedEvenIfTheScriptNotedOne) {
  JobState state;
  state.phase = JobState::Phase::kEnded;
  state.exit_code = 143;
  const JobEnd timeout = end_of_job(
      state,
      "slurmstepd-node1: error: *** JOB 8 ON node1 CANCELLED AT 2026-11-19T23:46:29 DUE TO TIME "
      "LIMIT ***\nsrun: error: node1: task 0: Terminated\n",
      "");
  EXPECT_EQ(timeout.text, "Slurm ended the job at its time limit (--time)");
  EXPECT_FALSE(timeout.output_explains);
  state.phase = JobState::Phase::kLost;
  state.word = "CANCELLED";
  EXPECT_EQ(end_of_job(state, "", "").text, "the job was cancelled (scancel)");
}

TEST(EndOfJob, ASetupThatEndsTheJobIsNamed) {
  JobState state;
  state.phase = JobState::Phase::kLost;
  state.word = "FAILED";
  const JobEnd ended = end_of_job(state, "", "env.sh");
  EXPECT_EQ(ended.text, "--setup env.sh ended the job before its command began");
  EXPECT_TRUE(ended.output_explains);
  state.setup_code = 0;
  EXPECT_EQ(end_of_job(state, "", "env.sh").text, "the job ended as FAILED");
}

TEST(EndOfJob, AFailedCommandAfterAFailedSetupHasBothCodes) {
  JobState state;
  state.phase = JobState::Phase::kEnded;
  state.exit_code = 1;
  state.setup_code = 127;
  EXPECT_EQ(
      end_of_job(state, "", "env.sh").text,
      "the command ended with exit code 1, after --setup env.sh had ended with exit code 127");
  state.setup_code = 0;
  EXPECT_EQ(end_of_job(state, "", "env.sh").text, "the command ended with exit code 1");
}

TEST(JobShape, SpreadsWorkersEquallyOverHosts) {
  ClusterOptions options;
  EXPECT_EQ(options.shape(8).nodes, 1);
  options.workers_per_node = 4;
  EXPECT_EQ(options.shape(2).workers_per_node, 2);
  EXPECT_EQ(options.shape(8).nodes, 2);
  EXPECT_THROW(options.shape(6), Error);
  options = {};
  options.nodes = 2;
  EXPECT_EQ(options.shape(1).nodes, 1);
  EXPECT_EQ(options.shape(4).workers_per_node, 2);
  EXPECT_THROW(options.shape(3), Error);
}

TEST(FileNameOf, LeavesNothingThatLeadsElsewhere) {
  EXPECT_EQ(file_name_of("n=4 b=32/overlap"), "n=4_b=32_overlap");
  EXPECT_EQ(file_name_of("../x"), "_.._x");
  EXPECT_EQ(file_name_of(""), "_");
}

}  // namespace
}  // namespace lockstep::launch
