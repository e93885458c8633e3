#include "lockstep/comm/placement.h"

#include <gtest/gtest.h>

#include <map>

#include "lockstep/base/error.h"

namespace lockstep::comm {
namespace {

Placement from(std::map<std::string, std::string> variables) {
  return placement_from_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Placement, IsARunOfOneWithoutVariables) {
  const Placement place = from({});
  EXPECT_EQ(place.size, 1);
  EXPECT_FALSE(place.shared_memory_fd.has_value());
}

TEST(Placement, ReadsWhatTheLauncherGives) {
  const Placement place = from({{"LOCKSTEP_RANK", "3"},
                                {"LOCKSTEP_WORLD_SIZE", "4"},
                                {"LOCKSTEP_LOCAL_RANK", "1"},
                                {"LOCKSTEP_LOCAL_SIZE", "2"},
                                {"LOCKSTEP_SHM_FD", "7"},
                                {"LOCKSTEP_RENDEZVOUS_DIR", "/somewhere"}});
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.shared_memory_fd, 7);
  EXPECT_EQ(place.rendezvous_dir, "/somewhere");
}

TEST(Placement, RefusesNonsense) {
  EXPECT_THROW(from({{"LOCKSTEP_RANK", "one"}}), Error);
  EXPECT_THROW(from({{"LOCKSTEP_RANK", "-1"}}), Error);
  EXPECT_THROW(from({{"LOCKSTEP_RANK", "2"}, {"LOCKSTEP_WORLD_SIZE", "2"}}), Error);
  EXPECT_THROW(from({{"LOCKSTEP_WORLD_SIZE", "0"}}), Error);
}

}  // namespace
}  // namespace lockstep::comm
