#include "lockstep/analyze/steps/remedy.h"

#include <gtest/gtest.h>

namespace lockstep::analyze {
namespace {

TEST(Remedy, OfLoadingInTurnsIsAsManyProcessesAsHideIt) {
  // 60 ms of loading behind 40 ms of training: ceil(60 / 40) = 2.
  EXPECT_EQ(
      input_remedy(Seconds(0.1), Seconds(0.06), {.loader_workers = 0, .cores = 8}),
      "loading does not overlap with training (num_workers is 0) and takes 60.0 ms per batch; "
      "num_workers=2 would hide it where as many cores are free: 40.0 ms per step at best, "
      "2.50x as fast");
}

TEST(Remedy, OfALoaderThatIsTooSlowGrowsItsProcesses) {
  // Two processes deliver a batch every 100 ms, so each takes 200 ms; 200 / 40 = 5.
  const std::string text =
      input_remedy(Seconds(0.1), Seconds(0.06), {.loader_workers = 2, .cores = 8});
  EXPECT_NE(text.find("a loader process takes about 200 ms per batch (num_workers is 2)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("num_workers=5"), std::string::npos) << text;
}

TEST(Remedy, DoesNotAskForMoreProcessesThanThereAreCores) {
  const std::string text =
      input_remedy(Seconds(0.1), Seconds(0.06), {.loader_workers = 0, .cores = 1});
  EXPECT_NE(text.find("a worker has only 1 core: make loading cheaper"), std::string::npos) << text;
}

TEST(Remedy, IsLeftOutWhereTheLoaderIsNotKnown) {
  EXPECT_EQ(input_remedy(Seconds(0.1), Seconds(0.06), {}), "");
}

TEST(Remedy, OfTransferIsALargerBatch) {
  // 40 of 100 ms; twice the compute of 60 ms makes a step of 160 ms.
  EXPECT_EQ(transfer_remedy(Seconds(0.1), Seconds(0.04), Seconds(0.06)),
            "with twice the batch per worker it would be about 25 %, as gradients have the same "
            "size");
}

}  // namespace
}  // namespace lockstep::analyze
