#include "lockstep/launch/slurm_job.h"

#include <gtest/gtest.h>

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
            "run='/runs/a b'  # the names of its files begin so\n"
            "date +%s%N > \"$run.started\"\n"
            "\n"
            "srun --kill-on-bad-exit=1 /opt/lockstep-worker train fashion \\\n"
            "  '--data=my data'\n"
            "\n"
            "code=$?\n"
            "echo $code > \"$run.ended.tmp\" && mv \"$run.ended.tmp\" \"$run.ended\"\n"
            "exit $code\n");
}

TEST(FileNameOf, LeavesNothingThatLeadsElsewhere) {
  EXPECT_EQ(file_name_of("n=4 b=32/overlap"), "n=4_b=32_overlap");
  EXPECT_EQ(file_name_of("../x"), "_.._x");
  EXPECT_EQ(file_name_of(""), "_");
}

}  // namespace
}  // namespace lockstep::launch
