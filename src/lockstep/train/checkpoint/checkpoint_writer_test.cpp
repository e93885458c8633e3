#include "lockstep/train/checkpoint/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <latch>

#include "lockstep/base/error.h"

namespace lockstep::train {
namespace {

Checkpoint at(int epoch, std::int64_t step, std::int64_t total) {
  Checkpoint checkpoint;
  checkpoint.position.epoch = epoch;
  checkpoint.position.step = step;
  checkpoint.position.total = total;
  checkpoint.model = {{"weight", torch::full({2}, static_cast<float>(total))}};
  return checkpoint;
}

TEST(CheckpointWriter, DropsWhatWaitsForASlowDiskButNotTheEndOfAnEpoch) {
  std::latch begun(1);
  std::latch disk_is_free(1);
  std::vector<std::int64_t> on_disk;
  CheckpointWriter writer([&](const Checkpoint& one) {
    if (on_disk.empty()) begun.count_down();
    disk_is_free.wait();
    on_disk.push_back(one.position.total);
    return std::string("path");
  });
  writer.write(at(1, 10, 10));
  begun.wait();
  // None of these waits for the first, or the test would not end.
  writer.write(at(1, 20, 20));
  writer.write(at(2, 0, 30));
  writer.write(at(2, 10, 40));
  writer.write(at(2, 20, 50));
  disk_is_free.count_down();
  writer.finish();
  EXPECT_EQ(on_disk, (std::vector<std::int64_t>{10, 30, 50}));
  EXPECT_EQ(writer.take_written().size(), 3u);
}

TEST(CheckpointWriter, CopiesWhatIsHandedOver) {
  float seen = 0;
  std::latch changed(1);
  CheckpointWriter writer([&](const Checkpoint& one) {
    changed.wait();
    seen = one.model[0].tensor[0].item<float>();
    return std::string("path");
  });
  Checkpoint checkpoint = at(1, 1, 7);
  const torch::Tensor live = checkpoint.model[0].tensor;
  writer.write(std::move(checkpoint));
  live.fill_(9);
  changed.count_down();
  writer.finish();
  EXPECT_EQ(seen, 7);
}

TEST(CheckpointWriter, ReportsAFailureAtTheNextCheckpoint) {
  CheckpointWriter writer(
      [](const Checkpoint&) -> std::string { throw Error(ErrorKind::kData, "the disk is full"); });
  writer.write(at(1, 1, 1));
  EXPECT_THROW(writer.finish(), Error);
  EXPECT_THROW(writer.write(at(1, 2, 2)), Error);
}

}  // namespace
}  // namespace lockstep::train
