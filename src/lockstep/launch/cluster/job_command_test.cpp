#include "lockstep/launch/cluster/job_command.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/base/error.h"

namespace lockstep::launch {
namespace {

WorkerJob job_of(int workers) {
  WorkerJob job;
  job.program = "/opt/lockstep-worker";
  job.arguments = {"train", "fashion", "--data=my data"};
  job.workers = workers;
  job.environment = {"LOCKSTEP_SECRET=hush", "OPENBLAS_CORETYPE=Zen"};
  return job;
}

TEST(MpirunCommand, PassesVariablesAndNeverTheSecret) {
  ClusterOptions options;
  options.hostfile = "hosts";
  const ProcessSpec spec = mpirun_command(job_of(4), options);
  EXPECT_EQ(shell_text(spec),
            "mpirun -np 4 --hostfile hosts -x LOCKSTEP_SECRET -x OPENBLAS_CORETYPE=Zen "
            "/opt/lockstep-worker train fashion '--data=my data'");
  EXPECT_EQ(spec.environment.front(), "LOCKSTEP_SECRET=hush");
  EXPECT_TRUE(spec.events_in_output);
}

TEST(SrunCommand, PassesTheUsersOptionsToSlurm) {
  ClusterOptions options;
  options.partition = "gpu";
  options.account = "mine";
  options.time = "1:00:00";
  options.gres = "gpu:{workers}";
  options.nodes = 2;
  WorkerJob job = job_of(4);
  job.uses_mpi = true;
  EXPECT_EQ(shell_text(srun_command(job, options)),
            "srun --ntasks=4 --kill-on-bad-exit=1 --job-name=lockstep --nodes=2 --partition=gpu "
            "--account=mine --time=1:00:00 --gres=gpu:4 --mpi=pmix /opt/lockstep-worker train "
            "fashion '--data=my data'");
}

TEST(SshCommands, FillHostsInTheirOrder) {
  const auto specs = ssh_commands(job_of(3), {{"me@a", 2}, {"b", 4}}, "ssh");
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].arguments[4], "me@a");
  EXPECT_EQ(specs[2].arguments[4], "b");
  EXPECT_EQ(specs[2].host, "b");
  const std::string& last = specs[2].arguments.back();
  for (const char* part :
       {"LOCKSTEP_RANK=2", "LOCKSTEP_WORLD_SIZE=3", "LOCKSTEP_LOCAL_RANK=0",
        "LOCKSTEP_LOCAL_SIZE=1", "LOCKSTEP_NODES=2", "LOCKSTEP_RENDEZVOUS=a", "'--data=my data'"}) {
    EXPECT_NE(last.find(part), std::string::npos) << part << " in " << last;
  }
  for (const ProcessSpec& spec : specs) {
    EXPECT_EQ(spec.input, "hush\n");
    EXPECT_EQ(shell_text(spec).find("hush"), std::string::npos);
  }
  EXPECT_THROW(ssh_commands(job_of(7), {{"a", 2}, {"b", 4}}, "ssh"), Error);
}

TEST(HostFile, ReadsHostsSlotsAndComments) {
  const auto hosts = parse_host_file("# cluster\nnode1 slots=4\n\n me@node2 # one\n", "f");
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].slots, 4);
  EXPECT_EQ(hosts[1].slots, 1);
  EXPECT_EQ(hosts[1].address(), "node2");
  EXPECT_EQ(parse_host_file("a slots=2 max_slots=4", "f").front().slots, 2);  // as mpirun takes it
}

TEST(HostFile, RefusesOptionsInDisguiseAndNonsense) {
  for (const char* text :
       {"", "-oProxyCommand=x", "a slots=0", "a slots=x", "a b", "a;b", "a slots=2x", "a slots="}) {
    EXPECT_THROW(parse_host_file(text, "f"), Error) << text;
  }
}

TEST(ShellQuoted, LeavesNoWordOpen) {
  EXPECT_EQ(shell_quoted("plain-1.2"), "plain-1.2");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("$(x)"), "'$(x)'");
}

}  // namespace
}  // namespace lockstep::launch
