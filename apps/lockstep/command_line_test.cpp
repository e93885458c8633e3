#include "command_line.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lockstep::cli
