// What users see when a cluster does not start their workers: stand-ins for its programs in PATH
// print what the real ones print (Slurm 22.05, Open MPI 4.1, OpenSSH 9.2).
#include "cli_test.h"

namespace lockstep {
namespace {

class LauncherTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    std::filesystem::create_directory(programs());
    std::ofstream(folder_ / "hosts") << "node1 slots=1\nnode2 slots=1\n";
  }

  std::filesystem::path programs() const { return folder_ / "bin"; }

  /// A program that writes `errors` and ends with `code`.
  void stand_in(const std::string& name, const std::string& errors, int code) const {
    const auto path = programs() / name;
    std::ofstream(path) << "#!/bin/sh\ncat >&2 <<'END'\n"
                        << errors << "\nEND\nexit " << code << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  launch::CapturedOutput start(std::vector<std::string> arguments,
                               const std::string& more_path = ":/usr/bin:/bin") const {
    return run(command(arguments, {"PATH=" + programs().string() + more_path}));
  }

  /// Nothing but that error and that hint.
  static void expect_only(const launch::CapturedOutput& said, int code, const std::string& error,
                          const std::string& hint) {
    EXPECT_EQ(said.status.code, code);
    EXPECT_EQ(said.errors, "error: " + error + "\nhint: " + hint + "\n");
  }

  launch::CapturedOutput train_on(const std::string& launcher) const {
    std::vector<std::string> arguments{"train", "fashion", "-n", "2", "--launcher", launcher};
    if (launcher != "slurm") {
      arguments.insert(arguments.end(), {"--hostfile", (folder_ / "hosts").string()});
    }
    return start(arguments);
  }
};

TEST_F(LauncherTest, ReportsInOneSentenceThatSlurmHasNoSuchPartition) {
  stand_in("srun",
           "srun: error: invalid partition specified: nope\n"
           "srun: error: Unable to allocate resources: Invalid partition name specified",
           1);
  expect_only(train_on("slurm"), 2,
              "srun cannot start the workers: invalid partition specified: nope",
              "sinfo lists the partitions");
}

TEST_F(LauncherTest, ReportsThatAJobWouldWaitForever) {
  const auto path = programs() / "srun";
  // srun does not end by itself then.
  std::ofstream(path) << "#!/bin/sh\necho 'srun: Requested partition configuration not available "
                         "now' >&2\nexec sleep 100\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const auto said = train_on("slurm");
  EXPECT_EQ(said.status.code, 2);
  EXPECT_NE(said.errors.find("would wait in the queue forever"), std::string::npos) << said.errors;
}

TEST_F(LauncherTest, ReportsThatThisHostBelongsToNoCluster) {
  stand_in("srun",
           "srun: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
           "srun: error: fetch_config: DNS SRV lookup failed\n"
           "srun: error: _establish_config_source: failed to fetch config\n"
           "srun: fatal: Could not establish a configuration source",
           1);
  expect_only(train_on("slurm"), 3,
              "srun cannot start the workers: this host is not part of a Slurm cluster",
              "check that sinfo works on this host");
}

TEST_F(LauncherTest, NamesTheHostThatSshCannotReach) {
  const auto path = programs() / "ssh";
  std::ofstream(path) << "#!/bin/sh\ncase \"$*\" in *node2*) echo 'ssh: connect to host node2 port "
                         "22: Connection refused' >&2; exit 255;; esac\nexec sleep 100\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  expect_only(
      train_on("ssh-hostfile"), 3,
      "rank 1 on node2 cannot be started: connect to host node2 port 22: Connection refused",
      "check that 'ssh HOST true' works from here without a password");
}

TEST_F(LauncherTest, ReportsThatMpirunHasTooFewSlots) {
  const std::string frame(74, '-');
  stand_in("mpirun",
           frame +
               "\nThere are not enough slots available in the system to satisfy the 2\n"
               "slots that were requested by the application:\n\n  lockstep-worker\n\n"
               "Either request fewer slots for your application, or make more slots\n"
               "available for use.\n" +
               frame,
           1);
  expect_only(train_on("mpi"), 2, "mpirun cannot start the workers: fewer slots than workers",
              "add --oversubscribe, or hosts and slots in the file of --hostfile");
}

TEST_F(LauncherTest, NamesTheProgramThatIsNotInstalled) {
  for (const auto& [launcher, program] : std::vector<std::pair<std::string, std::string>>{
           {"slurm", "srun"}, {"mpi", "mpirun"}, {"ssh-hostfile", "ssh"}}) {
    std::vector<std::string> arguments{"train", "fashion", "-n", "2", "--launcher", launcher};
    if (launcher == "ssh-hostfile") {
      arguments.insert(arguments.end(), {"--hostfile", (folder_ / "hosts").string()});
    }
    const auto said = start(arguments, "");
    EXPECT_EQ(said.status.code, 3) << launcher;
    EXPECT_NE(said.errors.find(program + " was not found in PATH"), std::string::npos)
        << said.errors;
  }
  const auto said = start({"study", "fashion", "--workers", "1,2", "--launcher", "slurm"}, "");
  EXPECT_EQ(said.status.code, 3);
  EXPECT_NE(said.errors.find("sbatch was not found in PATH"), std::string::npos) << said.errors;
}

TEST_F(LauncherTest, EndsAStudyWhoseFirstJobSlurmRefuses) {
  for (const char* other : {"squeue", "scontrol", "scancel"}) stand_in(other, "", 0);
  stand_in("sbatch",
           "sbatch: error: invalid partition specified: nope\n"
           "sbatch: error: Batch job submission failed: Invalid partition name specified",
           1);
  const auto said = start({"study", "fashion", "--workers", "1,2", "--batch", "16", "--launcher",
                           "slurm", "--partition", "nope"});
  EXPECT_EQ(said.status.code, 2);
  EXPECT_NE(said.errors.find("error: sbatch rejects the job: invalid partition specified: "
                             "nope\nhint: sinfo lists the partitions\n"),
            std::string::npos)
      << said.errors;
}

TEST_F(LauncherTest, ShowsTheScriptOfTheLargestRunOfAStudyThatIsOnlyPlanned) {
  for (const char* name : {"sbatch", "squeue", "scontrol", "scancel"}) stand_in(name, "asked", 1);
  const auto said = start({"study", "fashion", "--workers", "1,4,2", "--batch", "16", "--launcher",
                           "slurm", "--partition", "night", "--time", "5", "--dry-run"});
  EXPECT_EQ(said.status.code, 0) << said.errors;
  EXPECT_NE(said.output.find("script for the run of 4 x 16"), std::string::npos) << said.output;
  EXPECT_NE(said.output.find("#SBATCH --partition=night"), std::string::npos) << said.output;
  EXPECT_EQ(said.errors.find("asked"), std::string::npos) << said.errors;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "lockstep.db.jobs"));
}

}  // namespace
}  // namespace lockstep
