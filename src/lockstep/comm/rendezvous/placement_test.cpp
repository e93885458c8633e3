#include "lockstep/comm/rendezvous/placement.h"

#include <gtest/gtest.h>

#include <map>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

using Variables = std::map<std::string, std::string>;

Placement from(const Variables& variables) {
  return placement_from_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables slurm_step() {
  return {{"SLURM_PROCID", "3"},
          {"SLURM_NTASKS", "5"},
          {"SLURM_STEP_NUM_TASKS", "5"},
          {"SLURM_LOCALID", "1"},
          {"SLURM_NODEID", "1"},
          {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
          {"SLURM_STEP_NODELIST", "node[2-3,7]"},
          {"SLURM_JOB_ID", "77"},
          {"SLURM_STEP_ID", "0"}};
}

Variables open_mpi() {
  return {{"OMPI_COMM_WORLD_RANK", "2"},
          {"OMPI_COMM_WORLD_SIZE", "4"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
          {"OMPI_MCA_orte_num_nodes", "2"},
          {"OMPI_MCA_orte_hnp_uri", "335413248.0;tcp://192.0.2.7,10.0.0.7:54905;tcp6://[::]:1"}};
}

TEST(Placement, IsARunOfOneWithoutVariables) {
  const Placement place = from({});
  EXPECT_EQ(place.size, 1);
  EXPECT_FALSE(place.shared_memory_fd.has_value());
  EXPECT_EQ(place.starter, "");
}

TEST(Placement, ReadsWhatTheLauncherGives) {
  const Placement place = from({{"LOCKSTEP_RANK", "3"},
                                {"LOCKSTEP_WORLD_SIZE", "4"},
                                {"LOCKSTEP_LOCAL_RANK", "1"},
                                {"LOCKSTEP_LOCAL_SIZE", "2"},
                                {"LOCKSTEP_SHM_FD", "7"},
                                {"LOCKSTEP_RENDEZVOUS", "10.1.2.3:2345"}});
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.shared_memory_fd, 7);
  EXPECT_EQ(place.rendezvous_host, "10.1.2.3");
  EXPECT_EQ(place.rendezvous_port, 2345);
}

TEST(Placement, MeetsOnTheFirstHostOfASlurmStep) {
  const Placement place = from(slurm_step());
  EXPECT_EQ(place.starter, "slurm");
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.size, 5);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 2);
  EXPECT_EQ(place.nodes, 3);
  EXPECT_EQ(place.rendezvous_host, "node2");
}

TEST(Placement, IsNotFooledByTheScriptOfABatchJob) {
  Variables variables = slurm_step();
  variables.erase("SLURM_STEP_ID");
  EXPECT_EQ(from(variables).size, 1);
}

TEST(Placement, MeetsOnTheHostOfMpirunAndOnLoopbackWithinOneHost) {
  EXPECT_EQ(from(open_mpi()).rendezvous_host, "192.0.2.7");
  EXPECT_EQ(from(open_mpi()).nodes, 2);
  Variables one_host = open_mpi();
  one_host["OMPI_COMM_WORLD_LOCAL_SIZE"] = "4";
  EXPECT_EQ(from(one_host).rendezvous_host, "127.0.0.1");
}

TEST(Placement, PrefersMpirunInsideAnAllocationOfSlurm) {
  Variables both = slurm_step();
  both.merge(open_mpi());
  EXPECT_EQ(from(both).starter, "openmpi");
}

TEST(Placement, ReadsTorchrun) {
  Variables variables{{"RANK", "1"},          {"WORLD_SIZE", "4"},     {"LOCAL_RANK", "1"},
                      {"MASTER_PORT", "295"}, {"MASTER_ADDR", "head"}, {"LOCAL_WORLD_SIZE", "2"}};
  EXPECT_EQ(from(variables).starter, "torchrun");
  EXPECT_EQ(from(variables).rendezvous_host, "head");
  EXPECT_EQ(from(variables).rendezvous_port, 295);
  EXPECT_EQ(from(variables).nodes, 2);
  // torchrun keeps a store of its own on that port then.
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(from(variables).rendezvous_port, 0);
}

TEST(Placement, DistinguishesJobs) {
  Variables other = slurm_step();
  other["SLURM_JOB_ID"] = "78";
  EXPECT_NE(from(other).job, from(slurm_step()).job);
}

TEST(Placement, RefusesNonsense) {
  EXPECT_THROW(from({{"LOCKSTEP_RANK", "one"}}), Error);
  EXPECT_THROW(from({{"LOCKSTEP_RANK", "-1"}}), Error);
  EXPECT_THROW(from({{"LOCKSTEP_RANK", "2"}, {"LOCKSTEP_WORLD_SIZE", "2"}}), Error);
  EXPECT_THROW(from({{"LOCKSTEP_RANK", "0"}, {"LOCKSTEP_WORLD_SIZE", "0"}}), Error);
  EXPECT_THROW(from({{"OMPI_COMM_WORLD_RANK", "0"}}), Error);
  for (const char* place : {"host:", ":1", "host:99999", "host:x"}) {
    EXPECT_THROW(from({{"LOCKSTEP_RANK", "0"}, {"LOCKSTEP_RENDEZVOUS", place}}), Error) << place;
  }
}

TEST(TasksOfNode, ReadsRepetitions) {
  EXPECT_EQ(tasks_of_node("2(x2),1", 0), 2);
  EXPECT_EQ(tasks_of_node("2(x2),1", 1), 2);
  EXPECT_EQ(tasks_of_node("2(x2),1", 2), 1);
  EXPECT_EQ(tasks_of_node("4", 0), 4);
  for (const char* text : {"", "x", "2(x", "2(x0)", "0", "2(x2)1", "2,"}) {
    EXPECT_THROW(tasks_of_node(text, 5), Error) << text;
  }
}

}  // namespace
}  // namespace lockstep::comm
